package suite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/donewhen/donewhen/predicates"
)

const header = "apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {name: s}\nspec:\n"

// pod is an object that has nothing wrong with it.
const pod = "{apiVersion: v1, kind: Pod, metadata: {name: x}}"

func noFiles(name string) ([]byte, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
}

// problemsOf returns what Parse finds wrong, a line each.
func problemsOf(t *testing.T, data string, read ReadFile) string {
	t.Helper()
	suites, err := Parse(predicates.File{Name: "s.yaml", Data: []byte(data)}, read)
	var load *predicates.LoadError
	if err != nil && !errors.As(err, &load) {
		t.Fatalf("error %v isn't a LoadError", err)
	}
	if err == nil {
		return ""
	}
	if len(suites) > 0 && strings.Count(data, "kind: Suite") == 1 {
		t.Error("a suite with problems was returned")
	}
	var b strings.Builder
	for _, p := range load.Problems {
		if p.File != "s.yaml" || p.Excerpt == "" {
			t.Errorf("problem without its file or excerpt: %+v", p)
		}
		fmt.Fprintf(&b, "%d:%d: %s", p.Line, p.Column, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, " (%s)", p.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Lines count from the header's first; what is tested stands on line 5 and after.
func TestParseProblems(t *testing.T) {
	oneCase := func(text string) string { return header + "  cases:\n  - " + text + "\n" }
	for _, c := range []struct{ name, in, want string }{
		{"good", oneCase("{name: c, predicate: p, object: " + pod + ", expect: Done}"), ""},
		{"absent", oneCase("{name: c, predicate: p, absent: never, expect: Done}"), ""},
		{"no cases is for the runner to count", header + "  predicates: [x.yaml]\n", ""},
		{"documents of others are left alone", "apiVersion: v1\nkind: Suit\n---\napiVersion: v1\nkind: Suite\n---\n" + oneCase("{name: c, predicate: p, absent: never, expect: Done}"), ""},

		{"unknown field", oneCase("{name: c, predicate: p, objekt: $x, expect: Done}"), "6:29: unknown field \"objekt\" in spec.cases[0] (did you mean \"object\"?)\n"},
		{"case counts", oneCase("{name: c, Predicate: p, absent: never, expect: Done}"), "6:15: unknown field \"Predicate\" in spec.cases[0] (did you mean \"predicate\"?)\n"},
		{"unknown kind", "apiVersion: donewhen.dev/v1alpha1\nkind: Suit\n", "2:7: unknown kind \"Suit\" (did you mean \"Suite\"?)\n"},
		{"unknown version", strings.Replace(header, "v1alpha1", "v9", 1) + "  cases: []\n", "1:13: apiVersion \"donewhen.dev/v9\" isn't known (write apiVersion: donewhen.dev/v1alpha1)\n"},
		{"no name", "apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {}\nspec: {}\n", "3:11: the suite has no metadata.name\n"},
		{"two suites of one name", header + "  cases: []\n---\n" + header + "  cases: []\n", "9:18: there are two suites \"s\" in this file\n"},
		{"not YAML", header + "  cases: [\n", "5:10: not valid YAML: did not find expected node content\n"},

		{"a case without a name", oneCase("{predicate: p, absent: never, expect: Done}"), "6:5: the case has no name\n"},
		{"no predicate", oneCase("{name: c, absent: never, expect: Done}"), "6:5: the case names no predicate and no operation (name one, or spec.defaults.predicate)\n"},
		{"predicate and operation", oneCase("{name: c, predicate: p, operation: o, absent: never, expect: Done}"), "6:5: the case names both a predicate and an operation (remove one of them)\n"},
		{"nothing to judge", oneCase("{name: c, predicate: p, expect: Done}"), "6:5: the case has nothing to judge (give it object or absent)\n"},
		{"object and absent", oneCase("{name: c, predicate: p, object: " + pod + ", absent: never, expect: Done}"), "6:95: the case has both an object and an absence (remove one of them)\n"},
		{"unknown absence", oneCase("{name: c, predicate: p, absent: delete, expect: Done}"), "6:37: absent: delete isn't known (did you mean \"deleted\"?)\n"},
		{"nothing expected", oneCase("{name: c, predicate: p, absent: never}"), "6:5: nothing is expected (say at least expect: Pending, Done or Failed)\n"},
		{"events beside an object", oneCase("{name: c, predicate: p, object: o.yaml, events: [{register: {}}]}"), "6:53: a case with events has no object, absent, table, sweep or expect of its own (make two cases of it)\n"},
		{"sets", oneCase("{name: c, predicate: p, objects: [" + pod + "], expect: Done}"), "6:38: sets of objects aren't supported yet (give one object)\n"},
		{"two cases of one name", header + "  cases:\n  - {name: c, predicate: p, absent: never, expect: Done}\n  - {name: c, predicate: p, absent: deleted, expect: Done}\n", "7:12: there are two cases \"c\" (names say which one has failed)\n"},

		{"unknown verdict", oneCase("{name: c, predicate: p, absent: never, expect: Dnoe}"), "6:52: verdict \"Dnoe\" isn't known (did you mean \"Done\"?)\n"},
		{"no verdict", oneCase("{name: c, predicate: p, absent: never, expect: {code: Internal}}"), "6:52: no verdict is expected (verdict: Pending, Done or Failed)\n"},
		{"unknown code", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, code: NotFund}}"), "6:76: code \"NotFund\" isn't a gRPC code of a failure (did you mean \"NotFound\"?)\n"},
		{"codes as Azure writes them", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, code: NOT_FOUND}}"), ""},
		{"code of a success", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Done, code: NotFound}}"), "6:74: only a Failed verdict has a code (remove it)\n"},
		{"unknown cause", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, cause: judge}}"), "6:77: cause \"judge\" isn't known (did you mean \"Judge\"?)\n"},
		{"time without a unit", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, for: '30'}}"), "6:75: for: \"30\" is no time that a rule could have to hold (write it like 30s; '' means none)\n"},
		{"bad regular expression", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, message: {matches: '('}}}"), "6:89: missing closing ): `(`\n"},
		{"two texts", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, message: {matches: a, equals: b}}}"), "6:79: message says 2 things (give one of contains, equals, matches)\n"},
		{"ended", oneCase("{name: c, predicate: p, absent: never, expect: {verdict: Failed, ended: true}}"), "6:52: ended and disagreements are about waits; this case only judges (remove it)\n"},
		{"an empty expectation", oneCase("{name: c, predicate: p, absent: never, expect: }"), "6:52: spec.cases[0].expect is empty (give it a value or remove it)\n"},

		{"a table's expect", oneCase("{name: c, predicate: p, object: " + pod + ", table: [{name: r, expect: Done}], expect: Done}"), "6:129: a case with a table or a sweep has no expect of its own (say it in each row)\n"},
		{"an empty table", oneCase("{name: c, predicate: p, object: " + pod + ", table: []}"), "6:94: the table has no rows\n"},
		{"rows without name or expect", oneCase("{name: c, predicate: p, object: " + pod + ", table: [{expect: Done}, {name: r}]}"), "6:95: the row has no name\n6:111: nothing is expected (say at least expect: Pending, Done or Failed)\n"},
		{"a table of an absence", oneCase("{name: c, predicate: p, absent: never, table: [{name: r, expect: Done}]}"), "6:37: tables and sweeps change an object; an absence has none\n"},
		{"table and sweep", oneCase("{name: c, predicate: p, object: " + pod + ", table: [{name: r, expect: Done}], sweep: {path: a, expect: {a: Done}}}"), "6:128: the case has both a table and a sweep (make two cases of it)\n"},

		{"a sweep's path", oneCase("{name: c, predicate: p, object: " + pod + ", sweep: {path: 'a[0]', expect: {a: Done}}}"), "6:101: path \"a[0]\": a name in brackets is written ['name'], behind another name\n"},
		{"a sweep through a text", oneCase("{name: c, predicate: p, object: " + pod + ", sweep: {path: kind.a, expect: {a: Done}}}"), "6:101: path kind.a can't be set: kind holds no fields\n"},
		{"a sweep without values", oneCase("{name: c, predicate: p, object: " + pod + ", sweep: {path: a, expect: {}}}"), "6:94: the sweep has no values\n"},
		{"a sweep of unquoted values", oneCase("{name: c, predicate: p, object: " + pod + ", sweep: {path: a, expect: {on: Done}}}"), "6:113: key on is a boolean in YAML 1.1 (quote it: 'on')\n"},
		{"a sweep that leaves out states", header + "  states: [A, B, C]\n  cases:\n  - {name: c, predicate: p, object: " + pod + ", sweep: {path: status.state, expect: {'': Done, B: Done, zz: Done}}}\n", "7:123: the sweep leaves out A, C (say what is expected of each, or take it out of spec.states)\n"},
		{"a sweep with a state that is none", header + "  states: {status.state: [Created]}\n  cases:\n  - {name: c, predicate: p, object: " + pod + ", sweep: {path: status.state, expect: {Created: Done, Craeted: Done}}}\n", "7:148: \"Craeted\" isn't in spec.states (did you mean \"Created\"?)\n"},
		{"states are about their path only", header + "  states: [A, B]\n  cases:\n  - {name: c, predicate: p, object: " + pod + ", sweep: {path: status.phase, expect: {X: Done}}}\n", ""},
		{"states of the wrong type", header + "  states: Created\n", "5:11: states are a list of the values of status.state, or lists by path\n"},
		{"a state of the wrong type", header + "  states: [A, 3]\n", "5:15: a state is a string that isn't empty\n"},

		{"an unknown object", header + "  objects: {lun: " + pod + "}\n  cases:\n  - {name: c, predicate: p, object: $lnu, expect: Done}\n", "7:37: there is no object $lnu (did you mean \"$lun\"?)\n"},
		{"a name without its $", header + "  objects: {ready: " + pod + "}\n  cases:\n  - {name: c, predicate: p, object: ready, expect: Done}\n", "7:37: read the object: open ready: file does not exist (did you mean \"$ready\"?)\n"},
		{"a broken default is reported once", header + "  defaults: {object: $zzz}\n  cases:\n  - {name: c, predicate: p, expect: Done}\n  - {name: d, predicate: p, expect: Done}\n", "5:22: there is no object $zzz (there are no objects)\n"},
		{"a sweep over numbers", header + "  cases:\n  - {name: c, predicate: p, object: " + pod + ", sweep: {path: status.n, expect: {3: Done}}}\n", "6:120: key 3 is no string but a number (a sweep sets texts; for numbers write a table)\n"},
		{"a missing file", header + "  objects:\n    a: testdata/a.yaml\n", "6:8: read the object: open testdata/a.yaml: file does not exist\n"},
		{"an object made from itself", header + "  objects:\n    a: {from: $b}\n    b: {from: $a}\n", "7:8: object $a is made from itself: $a from $b from $a\n"},
		{"a broken object is reported once", header + "  objects:\n    a: {from: $zzz}\n    b: {from: $a}\n  cases:\n  - {name: c, predicate: p, object: $a, expect: Done}\n", "6:8: there is no object $zzz (objects: $a, $b)\n"},
		{"merge without from", header + "  objects:\n    a: {merge: {x: 1}}\n", "6:8: merge changes an object, but there is no from that says which\n"},
		{"fields beside from", header + "  objects:\n    o: " + pod + "\n    a: {from: $o, status: {}}\n", "7:8: beside from there is only merge, not \"status\"; put the fields of the object under merge\n"},
		{"merge of a wrong type", header + "  objects:\n    o: " + pod + "\n    a: {from: $o, merge: 3}\n", "7:8: merge is a mapping of what to change, not 3\n"},
		{"an object of a wrong type", header + "  objects:\n    a: 3\n", "6:8: an object is a file, $name, {from, merge} or a mapping, not 3\n"},
		{"an object without a kind", oneCase("{name: c, predicate: p, object: {apiVersion: v1, metadata: {}}, expect: Done}"), "6:37: the object has no kind\n"},
		{"a row that takes the metadata away", oneCase("{name: c, predicate: p, object: " + pod + ", table: [{name: r, merge: {metadata: null}, expect: Done}]}"), "6:112: the object has no metadata\n"},
		{"metadata of a wrong type", oneCase("{name: c, predicate: p, object: {apiVersion: v1, kind: Pod, metadata: {generation: '3'}}, expect: Done}"), "6:37: the object's metadata can't be read: json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64\n"},
		{"a deletionTimestamp that isn't one", oneCase("{name: c, predicate: p, object: {apiVersion: v1, kind: Pod, metadata: {deletionTimestamp: now}}, expect: Done}"), "6:37: the object's metadata can't be read: parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" as \"2006\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, c.in, noFiles)); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

// Objects come as Kubernetes decodes them: an int that became a float would make
// CEL compare doubles, and 2^53+1 would equal 2^53.
func TestObjectNumbers(t *testing.T) {
	files := map[string]string{"dir/testdata/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, creationTimestamp: 2026-03-02T09:22:48Z}\nspec: {int: 9007199254740993, float: 1.5, whole: 2.0, list: [1, null]}\n"}
	read := func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return []byte(data), nil
		}
		return noFiles(name)
	}
	data := header + `  predicates: [p.yaml, ../q.yaml]
  objects:
    a: testdata/a.yaml
    b: {from: $a, merge: {spec: {int: 3, list: null}}}
  cases:
  - {name: plain, predicate: p, object: $a, expect: Done}
  - {name: merged, predicate: p, object: {from: $b, merge: {spec: {more: 4}}}, expect: Done}
`
	suites, err := Parse(predicates.File{Name: "dir/s_test.yaml", Data: []byte(data)}, read)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"dir/p.yaml", "q.yaml"}, suites[0].Predicates); diff != "" {
		t.Errorf("predicates (- want, + got):\n%s", diff)
	}
	want := []map[string]any{
		{"int": int64(9007199254740993), "float": 1.5, "whole": int64(2), "list": []any{int64(1), nil}},
		{"int": int64(3), "float": 1.5, "whole": int64(2), "more": int64(4)},
	}
	for i, c := range suites[0].checks {
		if diff := cmp.Diff(any(want[i]), c.object["spec"]); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", c.name, diff)
		}
	}
	if got := suites[0].checks[0].object["metadata"].(map[string]any)["creationTimestamp"]; got != "2026-03-02T09:22:48Z" {
		t.Errorf("creationTimestamp = %v, want the text", got)
	}
}

// Params merge defaults, case, row, by name; null takes one back.
func TestParams(t *testing.T) {
	data := header + `  defaults: {predicate: p, params: {a: 1, b: 1, c: 1}, object: ` + pod + `}
  cases:
  - name: c
    params: {b: 2, c: 2, d: 2}
    table:
    - {name: r, params: {c: 3, a: null}, expect: Done}
    - {name: none, expect: Done}
  - {name: plain, expect: Done}
`
	suites, err := Parse(predicates.File{Name: "s.yaml", Data: []byte(data)}, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for _, c := range suites[0].checks {
		got[c.name] = c.params
	}
	want := map[string]map[string]any{
		"c/r":    {"b": int64(2), "c": int64(3), "d": int64(2)},
		"c/none": {"a": int64(1), "b": int64(2), "c": int64(2), "d": int64(2)},
		"plain":  {"a": int64(1), "b": int64(1), "c": int64(1)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

// A sweep's checks keep the order of the text, and set or remove the field.
func TestSweep(t *testing.T) {
	data := header + `  defaults: {predicate: p}
  cases:
  - name: c
    object: {apiVersion: v1, kind: Pod, metadata: {name: x}, status: {state: Old, other: 1}}
    sweep:
      path: status.state
      expect: {zz: Pending, "": Pending, B: Done, A: {verdict: Failed, code: Internal}}
`
	suites, err := Parse(predicates.File{Name: "s.yaml", Data: []byte(data)}, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range suites[0].checks {
		got = append(got, fmt.Sprintf("%s %v %v", c.name, c.object["status"], c.expect))
	}
	want := []string{
		"c/zz (unknown) map[other:1 state:zz] Pending",
		"c/(absent) map[other:1] Pending",
		"c/B map[other:1 state:B] Done",
		"c/A map[other:1 state:A] Failed, code Internal",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}
