package wasm

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestPathSteps(t *testing.T) {
	field := func(name string) step { return step{name: name, index: -1} }
	for raw, want := range map[string]path{
		"":                      {root: rootAll},
		"/":                     {root: rootNone},
		"/objects/0":            {root: rootNone, steps: []step{{name: "0"}}},
		"/object":               {root: rootObject},
		"/object/":              {root: rootObject, steps: []step{field("")}},
		"/params/a~1b/m~0n/~01": {root: rootParams, steps: []step{field("a/b"), field("m~n"), field("~1")}},
		"/settings/~/~2/x~":     {root: rootSettings, steps: []step{field("~"), field("~2"), field("x~")}},
		"/object/12/012/-1/+1/1234567890": {root: rootObject, steps: []step{
			{name: "12", index: 12}, field("012"), field("-1"), field("+1"), field("1234567890"),
		}},
		"/object/[type=a/b]/x": {root: rootObject, steps: []step{
			{name: "[type=a/b]", index: -1, search: true, key: "type", value: "a/b"}, field("x"),
		}},
		"/object/[a]/[=]/[a=b=c": {root: rootObject, steps: []step{
			field("[a]"), {name: "[=]", index: -1, search: true}, field("[a=b=c"),
		}},
	} {
		var kept paths
		got := kept.find([]byte(raw))
		if got.root != want.root || !slices.Equal(got.steps, want.steps) {
			t.Errorf("%q is %d, %+v; want %d, %+v", raw, got.root, got.steps, want.root, want.steps)
		}
	}
}

// TestPathsAreFoundByWhatTheySay asks for paths that take each other's place, in a
// buffer that says something else each time, and compares with what a path is that
// nobody has asked for before.
func TestPathsAreFoundByWhatTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	parts := []string{"object", "params", "settings", "status", "a~1b", "~0", "[type=Ready]", "[k=v/w]", "0", "31", "", "ä", strings.Repeat("long", 40)}
	var asked []string
	for range 300 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString("/" + parts[random.IntN(len(parts))])
		}
		asked = append(asked, b.String())
	}
	asked = append(asked, strings.Repeat("/a", mostKept+2), "/object/"+strings.Repeat("x", longestKept), "/object"+strings.Repeat("/[a=b]", 100))
	var kept paths
	buf := make([]byte, 0, maxPath)
	for range 20_000 {
		raw := asked[random.IntN(len(asked))]
		got := kept.find(append(buf[:0], raw...))
		var want path
		want.parse([]byte(raw))
		if got.root != want.root || !bytes.Equal(got.raw, want.raw) || len(got.steps) != len(want.steps) || len(want.steps) > 0 && !reflect.DeepEqual(got.steps, want.steps) {
			t.Fatalf("%q is %+v, want %+v", raw, got, want)
		}
	}
	size := 0
	for _, p := range kept.kept {
		if p != nil {
			size += cap(p.raw) + cap(p.text) + cap(p.steps)*int(reflect.TypeFor[step]().Size())
		}
	}
	if size > 128<<10 {
		t.Errorf("%d bytes are kept", size)
	}
	one := []byte(asked[0])
	if n := testing.AllocsPerRun(100, func() { kept.find(one) }); n != 0 {
		t.Errorf("%v allocations for a path that is known", n)
	}
}
