package document

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWithin looks for a mark in a scalar's value and expects to be sent to the
// same mark in the file.
func TestWithin(t *testing.T) {
	const mark = "¤"
	for name, in := range map[string]string{
		"plain":                 "a: 1\ndone: x && ¤ || y\n",
		"plain, second line":    "done: x &&\n   y &&\n\n   ¤ || y\nkind: X\n",
		"single-quoted":         "done: 'x == ''a'' && ¤'\n",
		"double-quoted":         "done: \"x == \\\"a\\\\\\\" && \\u00e9 \\x41 ¤\"\n",
		"double-quoted, folded": "done: \"x\n  y \\\n  z ¤\"\n",
		"double-quoted newline": "done: \"x\\ny\\t z ¤\"\n",
		"literal":               "done: |-\n    x &&\n\n      y && ¤\nkind: X\n",
		"literal, blank first":  "done: |-\n\n    x &&\n    é ¤\n",
		"literal, comment":      "done: |- # why\n  x && ¤\n",
		"literal, indicator":    "done: |2-\n    x &&\n  ¤\n",
		"folded":                "done: >-\n    x &&\n    y\n\n    && ¤\n",
		"folded, indented more": "done: >-\n    x &&\n      y\n      && ¤\n    z\n",
		"in a list":             "done:\n- a\n- expression: |-\n    x\n    ¤\n",
		"short form in a list":  "done:\n- a\n- b ¤\n",
		"CRLF":                  "done: |-\r\n  x &&\r\n  ¤\r\n",
		"later document":        "kind: X\n---\ndone: |-\n  x\n  ¤\n",
		"flow":                  "{kind: X, done: [a, {expression: x ¤}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			text := NewText([]byte(in))
			documents, findings := Read(text)
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			d := documents[len(documents)-1]
			path := []any{"done", strings.Count(name, "list"), "expression"}
			if name == "flow" {
				path[1] = 1
			} else if strings.Contains(name, "list") {
				path[1] = 1
			}
			value := d.find(path).Value
			before, _, ok := strings.Cut(value, mark)
			if !ok {
				t.Fatalf("no mark in %q", value)
			}
			line := strings.Count(before, "\n") + 1
			column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1

			gotLine, gotColumn := d.Within(line, column, path...)
			if rest := text.data[text.at(gotLine, gotColumn):]; !strings.HasPrefix(rest, mark) {
				t.Errorf("%d:%d of %q is at %d:%d, which is %.10q", line, column, value, gotLine, gotColumn, rest)
			}
		})
	}
}

// TestWithinBeyondTheText: a position that the text doesn't have is no panic.
func TestWithinBeyondTheText(t *testing.T) {
	for _, in := range []string{"done: a\n", "done: |-\n  a\n", "done: >-\n  a\n\n  b", "done: \"a\\", "done: ''", "done: [a]"} {
		documents, _ := Read(NewText([]byte(in)))
		for _, d := range documents {
			for line := -1; line < 5; line++ {
				for column := -1; column < 8; column++ {
					if l, c := d.Within(line, column, "done"); l < 1 || c < 1 {
						t.Errorf("%q %d:%d: at %d:%d", in, line, column, l, c)
					}
				}
			}
		}
	}
}

func TestPosition(t *testing.T) {
	documents, _ := Read(NewText([]byte("kind: X\ndone: a\ninner:\n  name: n\nlist:\n- a\n- {b: c}\n")))
	d := documents[0]
	for _, c := range []struct {
		path      []any
		at, keyAt string
	}{
		{[]any{"kind"}, "1:7", "1:1"},
		{[]any{"done", 0, "expression"}, "2:7", "2:7"},
		{[]any{"inner", "name"}, "4:9", "4:3"},
		{[]any{"inner", "other"}, "4:3", "4:3"},
		{[]any{"list", 1, "b"}, "7:7", "7:4"},
		{[]any{"list", 5}, "6:1", "6:1"},
		{[]any{"other", "more"}, "1:1", "1:1"},
	} {
		line, column := d.Position(c.path...)
		keyLine, keyColumn := d.KeyPosition(c.path...)
		if at, keyAt := fmt.Sprintf("%d:%d", line, column), fmt.Sprintf("%d:%d", keyLine, keyColumn); at != c.at || keyAt != c.keyAt {
			t.Errorf("%s is at %s, its key at %s, want %s and %s", Path(c.path...), at, keyAt, c.at, c.keyAt)
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		text         string
		line, column int
		want         string
	}{
		{"a: b\nc: d\n", 2, 4, "    c: d\n       ^"},
		{"\ta\tb\n", 1, 4, "    \ta\tb\n    \t \t^"},
		{"é: b\n", 1, 4, "    é: b\n       ^"},
		{"a\x01b\n", 1, 3, "    a\uFFFDb\n      ^"},
		{"abc\n", 1, 99, "    abc\n       ^"},
		{"abc\n", 7, 1, ""},
		{long, 1, 1, "    " + long[:120] + "…\n    ^"},
		{long, 1, 300, "    …" + long[:120] + "\n    " + strings.Repeat(" ", 120) + "^"},
	} {
		if got := NewText([]byte(c.text)).Excerpt(c.line, c.column); got != c.want {
			t.Errorf("excerpt of %d:%d:\n%s\nwant:\n%s", c.line, c.column, got, c.want)
		}
	}
}
