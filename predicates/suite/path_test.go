package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string]fieldPath{
		"status":                            {"status"},
		"status.state":                      {"status", "state"},
		"metadata.annotations['a.b/c']":     {"metadata", "annotations", "a.b/c"},
		"metadata.annotations['a.b/c'].d":   {"metadata", "annotations", "a.b/c", "d"},
		"":                                  nil,
		".":                                 nil,
		"a.":                                nil,
		".a":                                nil,
		"a..b":                              nil,
		"['a']":                             nil,
		"a['b'":                             nil,
		"a[0]":                              nil,
		"a['']":                             nil,
		"a]":                                nil,
		"a'b":                               nil,
		"metadata.annotations['a.b/c']more": nil,
	} {
		got, err := parsePath(text)
		if (err == nil) != (want != nil) {
			t.Errorf("parsePath(%q): error %v", text, err)
		}
		if err == nil && !cmp.Equal(want, got) {
			t.Errorf("parsePath(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSetPath(t *testing.T) {
	path := fieldPath{"status", "state"}
	for _, c := range []struct {
		name, object string
		value        any
		want         string // empty: an error
	}{
		{"replaced", `{"status":{"state":"A","x":1}}`, "B", `{"status":{"state":"B","x":1}}`},
		{"added", `{"status":{"x":1}}`, "B", `{"status":{"state":"B","x":1}}`},
		{"added on the way", `{}`, "B", `{"status":{"state":"B"}}`},
		{"removed", `{"status":{"state":"A","x":1}}`, nil, `{"status":{"x":1}}`},
		{"removed where it isn't", `{"spec":1}`, nil, `{"spec":1}`},
		{"null on the way", `{"status":null}`, "B", `{"status":{"state":"B"}}`},
		{"no map on the way", `{"status":"A"}`, "B", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := fromJSON(t, c.object).(map[string]any)
			got, err := path.set(object, c.value)
			if (err == nil) != (c.want != "") {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(fromJSON(t, c.want), any(got)); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
			if diff := cmp.Diff(fromJSON(t, c.object), any(object)); diff != "" {
				t.Errorf("the object itself changed:\n%s", diff)
			}
		})
	}
}
