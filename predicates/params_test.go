package predicates

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
)

func TestConvert(t *testing.T) {
	type word string
	gi := resource.MustParse("1Gi")
	for _, c := range []struct {
		typ     string
		in      any
		want    any // in plain form; nil if the error is expected
		wantErr string
	}{
		{"string", "a", "a", ""},
		{"string", word("a"), "a", ""},
		{"string", 3, nil, "must be string, it is an int"},
		{"string", nil, nil, "must be string, it is null"},
		{"string", time.Second, nil, "must be string, it is a duration"},
		{"string", struct{}{}, nil, "must be string, it is a struct {}"},
		{"bool", true, true, ""},
		{"bool", "true", nil, "must be bool, it is a string"},
		{"int", 3, int64(3), ""},
		{"int", uint8(3), int64(3), ""},
		{"int", 3.0, int64(3), ""}, // JSON has no integers
		{"int", 3.5, nil, "must be int, it has a fraction or is out of range"},
		{"int", 1e300, nil, "must be int, it has a fraction or is out of range"},
		{"int", uint64(1 << 63), nil, "must be int, it has a fraction or is out of range"},
		{"int", json.Number("9007199254740993"), int64(9007199254740993), ""},
		{"int", json.Number("1e400"), nil, "must be int, it is a number out of range"},
		{"int", "3", nil, "must be int, it is a string"},
		{"int", time.Second, nil, "must be int, it is a duration"},
		{"double", 3, 3.0, ""},
		{"double", float32(0.5), 0.5, ""},
		{"double", json.Number("2.5"), 2.5, ""},
		{"duration", "1m", "1m0s", ""},
		{"duration", time.Minute, "1m0s", ""},
		{"duration", metav1.Duration{Duration: time.Minute}, "1m0s", ""},
		{"duration", 60, nil, "must be duration, it is an int"},
		{"duration", "1 minute", nil, "must be duration, it is a string that can't be read as one; write it like 30s or 10m"},
		{"quantity", "1Gi", "1073741824", ""},
		{"quantity", gi, "1073741824", ""},
		{"quantity", &gi, "1073741824", ""},
		{"quantity", 1 << 30, "1073741824", ""},
		{"quantity", "1.50", "1.5", ""},
		{"quantity", "1e999999999", nil, "must be quantity, it is a string that can't be read as one; write it like 10Gi"},
		{"quantity", (*resource.Quantity)(nil), nil, "must be quantity, it is nil"},
		{"list(string)", []string{"a"}, []any{"a"}, ""},
		{"list(string)", []any{}, []any{}, ""},
		{"list(string)", []any{"a", 3}, nil, "element 1 must be string, it is an int"},
		{"list(string)", "a", nil, "must be list(string), it is a string"},
		{" map( string ,list( int ) ) ", map[string][]int{"a": {1}}, map[string]any{"a": []any{int64(1)}}, ""},
		{"map(string, int)", map[int]int{1: 1}, nil, "must be map(string, int), it is a map"},
		{"map(string, int)", map[string]any{"a": "b"}, nil, `value of "a" must be int, it is a string`},
	} {
		typ, err := parseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		got, err := typ.convert(c.in)
		if c.wantErr != "" || err != nil {
			if err == nil || err.Error() != c.wantErr {
				t.Errorf("%s of %v: error %v, want %q", c.typ, c.in, err, c.wantErr)
			}
			continue
		}
		if got := plain(got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s of %v: %#v, want %#v", c.typ, c.in, got, c.want)
		}
	}
}

func TestParseType(t *testing.T) {
	for in, want := range map[string]string{
		"string": "string", " list( map(string,int) ) ": "list(map(string, int))",
	} {
		if got, err := parseType(in); err != nil || got.String() != want {
			t.Errorf("parseType(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "String", "int()", "list", "list(int", "list(int))", "map(int)", "map(int, int)", "map(string)", "map", strings.Repeat("list(", 9) + "int" + strings.Repeat(")", 9)} {
		if got, err := parseType(in); err == nil {
			t.Errorf("parseType(%q) = %v", in, got)
		}
	}
}

// withParams loads a predicate with the params and some use of them.
func withParams(t *testing.T, params string) *Predicate {
	t.Helper()
	set := mustSet(t, source("s", predicate("p", "  params: "+params+"\n  done: object.status.state == params.state")))
	return set.Predicates()[0]
}

func TestBind(t *testing.T) {
	p := withParams(t, "{state: {type: string, enum: [Created, Updated]}, size: {type: quantity, default: 1Gi}, token: {type: string, default: '', sensitive: true, enum: ['', x]}}")
	for _, c := range []struct {
		params engine.Params
		want   string
	}{
		{engine.Params{"state": "Created"}, ""},
		{engine.Params{"state": "Created", "undeclared": struct{}{}}, ""},
		{nil, "param state (string) is missing, and has no default"},
		{engine.Params{"sttae": "Created"}, `param state (string) is missing, and has no default; "sttae" was given: did you mean "state"?`},
		{engine.Params{"state": 3}, "param state must be string, it is an int"},
		{engine.Params{"state": "Deleted"}, "param state is Deleted, allowed: Created, Updated"},
		{engine.Params{"state": "Created", "token": "hunter2"}, "param token isn't one of the allowed values"},
	} {
		judge, err := p.Bind(c.params)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("Bind(%v): %v, want %q", c.params, err, c.want)
		case err == nil && judge.Judge(t.Context(), observe("Created")).Verdict.Decision != engine.Done:
			t.Errorf("Bind(%v): not Done", c.params)
		}
	}
}

// TestKey: equal values give equal keys, other values other keys, and no value
// can be read in one.
func TestKey(t *testing.T) {
	p := withParams(t, "{state: string, size: {type: quantity, default: 1Gi}, until: {type: duration, default: 1m}}")
	key := func(params engine.Params) string { return mustBind(t, p, params).Key() }
	base := key(engine.Params{"state": "s3cret"})
	for _, same := range []engine.Params{
		{"state": "s3cret", "size": "1073741824"}, {"state": "s3cret", "size": 1 << 30, "until": "60s"}, {"state": "s3cret", "other": 1},
	} {
		if key(same) != base {
			t.Errorf("%v has another key", same)
		}
	}
	if key(engine.Params{"state": "s3cret", "size": "2Gi"}) == base || key(engine.Params{"state": "other"}) == base {
		t.Error("other values have the same key")
	}
	if !strings.HasPrefix(base, p.ID().Digest) || strings.Contains(base, "s3cret") {
		t.Errorf("key %s", base)
	}
}

func TestParamsDescribed(t *testing.T) {
	p := withParams(t, "{state: {type: string, enum: [a]}, size: {type: int, default: 3}, secret: {type: string, sensitive: true}}")
	want := []Param{
		{Name: "secret", Type: "string", Sensitive: true},
		{Name: "size", Type: "int", Default: int64(3)},
		{Name: "state", Type: "string", Enum: []any{"a"}},
	}
	if got := p.Params(); !reflect.DeepEqual(got, want) {
		t.Errorf("params %+v", got)
	}
}
