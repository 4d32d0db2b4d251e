package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type rule struct {
	Expression string            `json:"expression" form:"short,nonempty"`
	For        *metav1.Duration  `json:"for"`
	CodeMap    map[string]string `json:"codeMap"`
	Cost       *int64            `json:"cost"`
	Quiet      bool              `json:"quiet"`
}

type thing struct {
	Kind  string         `json:"kind"`
	Done  []rule         `json:"done" form:"many"`
	List  []string       `json:"list"`
	Value any            `json:"value"`
	Map   map[string]any `json:"map"`
	Inner struct {
		Name string `json:"name"`
	} `json:"inner"`
}

// report reads and decodes everything and prints what is wrong.
func report(s string) string {
	documents, findings := Read(NewText([]byte(s)))
	for _, d := range documents {
		var v thing
		findings = append(findings, d.Decode(&v)...)
	}
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%d:%d: %s", f.Line, f.Column, f.Message)
		if f.Hint != "" {
			b.WriteString(" (" + f.Hint + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestFindings(t *testing.T) {
	const block = " (put the expression in a block scalar (|-))\n"
	for _, c := range []struct{ name, in, want string }{
		{"good", "kind: X\ndone: a\nlist: [a, b]\n---\n# nothing\n---\nkind: Y\ndone:\n- a\n- expression: b\n  for: 3s\n...\n", ""},
		{"empty file", "", ""},
		{"only comments", "# a\n\n---\n# b\n", ""},
		{"byte order mark and CRLF", "\uFEFFkind: X\r\ndone: |-\r\n  a\r\n", ""},

		{"tag in place of a negation", "done: !has(x)\n", "1:7: !has(x) is a YAML tag, not a value" + block},
		{"tag and value", "done:\n- !has(x) == true\n", "2:3: !has(x) is a YAML tag, not a value" + block},
		{"lone tag, the negation would be lost", "done: ! has(x)\n", "1:7: ! is a YAML tag here, it is no part of the value" + block},
		{"standard tags are no surprise", "kind: !!str 3\n", ""},
		{"anchor and alias", "kind: &k X\nlist: [*k]\n", "1:7: anchors (&k) aren't supported (write the value out where it is used)\n2:8: aliases (*k) aren't supported (write the value out)\n"},
		{"merge key", "inner:\n  <<: {name: x}\n", "2:3: merge keys (<<) aren't supported (write the fields out)\n"},
		{"keys that aren't strings", "map: {y: 1, on: 2, 3: 4, ~: 5, 1.5: 6, true: 7, 2026-01-01: 8, 'n': 9}\n", strings.Join([]string{
			"1:7: key y is a boolean in YAML 1.1 (quote it: 'y')",
			"1:13: key on is a boolean in YAML 1.1 (quote it: 'on')",
			"1:20: key 3 is no string but a number (quote it: '3')",
			"1:26: key ~ is no string but empty (quote it: '~')",
			"1:32: key 1.5 is no string but a number (quote it: '1.5')",
			"1:40: key true is no string but a boolean (quote it: 'true')",
			"1:49: key 2026-01-01 is no string but a date (quote it: '2026-01-01')\n",
		}, "\n")},
		{"mapping as a key", "map: {{a: b}: c}\n", "1:7: a key must be a string\n"},
		{"duplicate key", "kind: X\nlist: []\nkind: Y\n", "3:1: duplicate key \"kind\", first on line 1 (remove one of them)\n"},
		{"unknown field, case counts", "Done: a\nkinds: X\ninner: {zzz: 1}\n", strings.Join([]string{
			"1:1: unknown field \"Done\" (did you mean \"done\"?)",
			"2:1: unknown field \"kinds\" (did you mean \"kind\"?)",
			"3:9: unknown field \"zzz\" in inner (fields: name)\n",
		}, "\n")},
		{"empty values", "kind:\ndone: ''\nlist: [~]\ninner: null\n", "1:6: kind is empty (give it a value or remove it)\n2:7: done[0] is empty (give it a value or remove it)\n3:8: list[0] must be a string, it is empty (quote it: '~')\n4:8: inner is empty (give it a value or remove it)\n"},
		{"wrong types", "kind: 2\nlist: a\ninner: x\nmap: []\ndone: {quiet: 3, cost: 1.5, for: 30, codeMap: {a: true}}\n", strings.Join([]string{
			"1:7: kind must be a string, it is a number (quote it: '2')",
			"2:7: list must be a list, it is a string",
			"3:8: inner must be a mapping, it is a string",
			"4:6: map must be a mapping, it is a list",
			"5:15: done[0].quiet must be true or false, it is a number",
			"5:24: done[0].cost must be a whole number, it is a number",
			"5:34: done[0].for must be a string, it is a number (write it with its unit: 30s)",
			"5:51: done[0].codeMap.a must be a string, it is a boolean (quote it: 'true')\n",
		}, "\n")},
		{"expressions that YAML takes for something else", "done:\n- {a: 1}.a == 1\n---\ndone:\n- expression: {'a': 1}\n---\ndone: [x]\n---\ndone:\n  expression: [a]\n", strings.Join([]string{
			"2:9: not valid YAML: did not find expected key" + block[:len(block)-1],
			"5:15: done[0].expression must be a string, it is a mapping (put the expression in a block scalar (|-))",
			"10:15: done[0].expression must be a string, it is a list (put the expression in a block scalar (|-))\n",
		}, "\n")},
		{"not YAML, at an expression", "kind: X\ndone:\n- expression: 'x' in object.y\n  for: 3s\n", "3:19: not valid YAML: did not find expected key" + block},
		{"not YAML: a colon", "kind: X\ndone: object.a == 'b: c' ? d : e\n", "2:21: not valid YAML: mapping values are not allowed in this context" + block},
		{"not YAML: a ternary", "kind: X\ndone: a ? b : c\n", "2:13: not valid YAML: mapping values are not allowed in this context" + block},
		{"not YAML: a quoted start", "kind: X\ndone: \"a\" == b\n", "2:11: not valid YAML: did not find expected key" + block},
		{"not YAML: back-quotes", "kind: X\ndone: `a`\n", "2:7: not valid YAML: found character that cannot start any token" + block},
		{"not YAML: a call on a list", "kind: X\ndone: [1, 2].exists(x, x > 1)\n", "2:13: not valid YAML: did not find expected key" + block},
		{"not YAML: a line of a block scalar too far left", "kind: X\ndone: |-\n    a &&\n  b\n", "4:3: not valid YAML: did not find expected key (indent the expression deeper than its key, all its lines alike)\n"},
		{"not YAML: a block scalar no deeper than its key", "inner:\n  done: |-\n  object.a == b\n  name: x\n", "3:3: not valid YAML: could not find expected ':' (indent the expression deeper than its key, all its lines alike)\n"},
		{"not YAML: a list item too far left", "done:\n  - expression: a\n - expression: b\n", "3:2: not valid YAML: did not find expected key (indent it like its neighbours)\n"},
		{"not YAML: a list item too far right", "inner:\n  name: x\ndone:\n  - expression: a\n   - expression: b\n", "5:4: not valid YAML: did not find expected '-' indicator (indent it like its neighbours)\n"},
		{"not YAML: a key too far left", "done:\n- expression: a\n for: 3s\n", "3:2: not valid YAML: did not find expected key (indent it like its neighbours)\n"},
		{"not YAML: a key too far right", "done:\n- expression: a\n    for: 3s\n", "3:8: not valid YAML: mapping values are not allowed in this context (indent it like its neighbours)\n"},
		{"not YAML: a quote never closed", "kind: X\nvalue: 'a\nlist: []\n", "2:8: not valid YAML: found unexpected end of stream\n"},
		{"not YAML: tabs", "inner:\n\tname: x\n", "2:1: not valid YAML: found character that cannot start any token (indent with spaces, YAML allows no tabs there)\n"},
		{"the other documents are read all the same", "kind: [\n---\nkinds: X\n---\nkind: ]\n---\nKind: X\n", strings.Join([]string{
			"1:7: not valid YAML: did not find expected node content",
			"5:7: not valid YAML: did not find expected node content",
			"3:1: unknown field \"kinds\" (did you mean \"kind\"?)",
			"7:1: unknown field \"Kind\" (did you mean \"kind\"?)\n",
		}, "\n")},
		{"directive", "%YAML 1.1\n---\nkind: X\n", "1:1: YAML directives aren't supported (remove the line)\n"},
		{"two documents without a separator", "{kind: X}\n{kind: Y}\n", "2:1: not valid YAML: did not find expected <document start>\n"},
		{"NUL", "kind: X\nlist: [a\x00]\n", "2:9: not valid YAML: control characters are not allowed\n"},
		{"not UTF-8", "kind: X\nlist: [a\xff]\n", "2:9: the file isn't valid UTF-8 here (save it as UTF-8)\n"},
		{"too deep", "value: " + strings.Repeat("[", 70) + strings.Repeat("]", 70), "1:71: nested deeper than 64 levels\n"},
		{"too big", "# " + strings.Repeat("x", MaxBytes), "1:1: the file has 1048578 bytes, 1048576 are allowed (split it into several files)\n"},
		{"a scalar document", "hello\n", "1:1: the document must be a mapping, it is a string\n"},
		{"numbers", "value: [1, 99999999999999999999, .inf, 0x10]\ndone: {cost: 99999999999999999999}\n", "1:12: value[1]: 99999999999999999999 is out of range\n1:34: value[2]: .inf isn't a finite number\n2:14: done[0].cost must be a whole number, it is a number\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, report(c.in)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
