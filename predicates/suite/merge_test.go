package suite

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of RFC 7396, appendix A, and what matters beyond it: an array's nulls
// stay, and neither argument changes.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{}`, `{"a":[null,1]}`, `{"a":[null,1]}`},
		{`{"a":{"b":1},"c":2}`, `{}`, `{"a":{"b":1},"c":2}`},
	} {
		target, patch := fromJSON(t, c.target), fromJSON(t, c.patch)
		got := merge(target, patch)
		if diff := cmp.Diff(fromJSON(t, c.want), got); diff != "" {
			t.Errorf("merge(%s, %s) (- want, + got):\n%s", c.target, c.patch, diff)
		}
		if diff := cmp.Diff(fromJSON(t, c.target), target); diff != "" {
			t.Errorf("merge(%s, %s) changed its target:\n%s", c.target, c.patch, diff)
		}
	}
}

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
