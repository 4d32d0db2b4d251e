package celexpr

import "testing"

// TestKeysThatCanBeNone: cel-go makes no program of what chooses an element by null or
// a list, so it must be refused when it is loaded, not fail on every object.
func TestKeysThatCanBeNone(t *testing.T) {
	env := environment(t)
	for expression, want := range map[string]string{
		"object.a == 1 && object.b[null] == 2":  "1:27 null is neither a key nor a number of an element [write ['key'] or [0]]",
		"object[[]].metadata[1] < 3":            "1:8 a list is neither a key nor a number of an element [write ['key'] or [0]]",
		"object.?a[?{}].orValue(1) == 2":        "1:12 a map is neither a key nor a number of an element [write ['key'] or [0]]",
		"has(object[b'a'].c)":                   "1:12 bytes is neither a key nor a number of an element [write ['key'] or [0]]",
		"[object.a, object.b[null]].size() > 1": "1:21 null is neither a key nor a number of an element [write ['key'] or [0]]",
	} {
		_, issues := env.Compile(expression, OutputBool)
		if got := render(issues); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
	for _, expression := range []string{"object.a[0u] == 1", "object.a[1.0] == 1", "object.a[true] == 1", "object.a[object.b] == 1", "object.a[params.role] == 1"} {
		if _, issues := env.Compile(expression, OutputBool); issues != nil {
			t.Errorf("%s: %v", expression, issues)
		}
	}
}
