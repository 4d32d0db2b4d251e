//lint:file-ignore SA5008 the types here have every kind of tag, also what encoding/json ignores

package jsonform

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Types with every kind of tag and embedding.

type base struct {
	Shared string `json:"shared,omitempty"`
	Hidden string
	Twice  string
}

type other struct {
	Twice  string
	Tagged string `json:"Hidden"`
}

type Exported struct {
	Inner int64 `json:"inner"`
}

type Named string

type upper string

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }

type pointerJSON struct{ A int }

func (p *pointerJSON) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `{"p":%d}`, p.A), nil }

type zeroer struct{ A int }

func (z zeroer) IsZero() bool { return z.A == 7 }

type pointerZeroer struct{ A int }

func (z *pointerZeroer) IsZero() bool { return z == nil || z.A == 7 }

type recursive struct {
	Name     string       `json:"name,omitempty"`
	Children []*recursive `json:"children,omitempty"`
	ByName   map[string]recursive
}

type everything struct {
	metav1.TypeMeta `json:",inline"`
	base
	*other
	Exported          `json:"named"`
	*recursive        `json:"rec,omitempty"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Plain     string
	Dash      string                     `json:"-"`
	DashName  string                     `json:"-,"`
	BadName   string                     `json:"a\"b"`
	Omit      string                     `json:"omit,omitempty"`
	OmitInt   int32                      `json:"omitInt,omitempty"`
	OmitStr   Exported                   `json:"omitStruct,omitempty"`
	Zero      Exported                   `json:"zero,omitzero"`
	ZeroM     zeroer                     `json:"zeroMethod,omitzero"`
	ZeroP     pointerZeroer              `json:"zeroPointer,omitzero"`
	ZeroPP    *pointerZeroer             `json:"zeroPointerPointer,omitzero"`
	ZeroTime  metav1.Time                `json:"zeroTime,omitempty,omitzero"`
	ZeroIface interface{ IsZero() bool } `json:"zeroInterface,omitzero"`
	Both      *int64                     `json:"both,omitempty,omitzero"`
	unseen    string

	Int       int
	I8        int8
	I64       int64
	U8        uint8
	U64       uint64
	F32       float32
	F64       float64
	Bool      bool
	Number    json.Number `json:"number,omitempty"`
	QuotedI   int64       `json:"quotedInt,string"`
	QuotedF   *float64    `json:"quotedFloat,string"`
	QuotedS   string      `json:"quotedString,string,omitempty"`
	QuotedB   *bool       `json:"quotedBool,string,omitempty"`
	QuotedX   []int       `json:"quotedNothing,string"`
	Inlined   Exported    `json:",inline"`
	Bytes     []byte
	NamedB    json.RawMessage `json:"raw,omitempty"`
	Array     [3]byte
	Strings   []string
	Pointers  []*string
	Structs   []Exported `json:"structs,omitempty"`
	Labels    map[string]string
	NamedMap  map[Named]Named
	IntKeys   map[int8]string
	TextKeys  map[upper]bool
	Text      upper
	TextP     *upper
	Any       any
	AnyMap    map[string]any `json:"anyMap,omitempty"`
	AnyList   []any
	PJ        pointerJSON
	PJP       *pointerJSON
	PJM       map[string]pointerJSON
	PJS       []pointerJSON
	Time      metav1.Time
	TimeP     *metav1.Time
	Micro     metav1.MicroTime
	Duration  metav1.Duration
	DurationP *metav1.Duration `json:"durationP,omitempty"`
	GoTime    time.Time
	GoDur     time.Duration
	IOS       intstr.IntOrString
	IOSP      *intstr.IntOrString
	Raw       runtime.RawExtension
	Resources corev1.ResourceList
	Fields    *metav1.FieldsV1
	PP        **string
}

// jsonOf is the form that counts.
func jsonOf(t testing.TB, v any) (any, error) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

// check compares the view with the JSON form: as a whole, field by field, and as text.
func check(t testing.TB, plans *Plans, v any) {
	t.Helper()
	want, err := jsonOf(t, v)
	view := plans.Of(v)
	got, gotErr := view.Any()
	if (err != nil) != (gotErr != nil) {
		t.Fatalf("json says %v, the view %v", err, gotErr)
	}
	if err != nil {
		return
	}
	compare(t, "", view, want)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the view differs:\n got %#v\nwant %#v", got, want)
	}
	text, err := view.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	// Once more through text: 1.0, which a raw field may say, is written as 1.
	want, _ = jsonOf(t, want)
	var back any
	if err := utiljson.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, want) {
		t.Fatalf("the text %s, %v\nis of %#v\nwant %#v", text, err, back, want)
	}
}

func compare(t testing.TB, at string, v Value, want any) {
	t.Helper()
	ok := false
	switch w := want.(type) {
	case nil:
		ok = v.Kind() == Null
	case bool:
		ok = v.Kind() == Bool && v.Bool() == w
	case int64:
		ok = v.Kind() == Int && v.Int() == w
	case float64:
		ok = v.Kind() == Double && v.Double() == w
	case string:
		ok = v.Kind() == String && v.Text() == w
	case []any:
		ok = v.Kind() == List && v.Len() == len(w) && v.Index(len(w)).Kind() == Absent && v.Index(-1).Kind() == Absent
		for i := range w {
			compare(t, fmt.Sprintf("%s[%d]", at, i), v.Index(i), w[i])
		}
	case map[string]any:
		ok = v.Kind() == Map && v.Len() == len(w) && v.Field("no such field").Kind() == Absent
		var names []string
		for name, entry := range v.Entries() {
			names = append(names, name)
			compare(t, at+"."+name, entry, w[name])
			found, missing := NewPath(name).Find(v)
			if field := v.Field(name); missing != -1 || !same(field, entry) || !same(found, entry) {
				t.Fatalf("%s.%s isn't found by its name or path", at, name)
			}
		}
		ok = ok && slices.IsSorted(names) && len(names) == len(w)
	}
	if !ok {
		x, err := v.Any()
		t.Fatalf("%s: got kind %d, %#v, %v, want %#v", at, v.Kind(), x, err, want)
	}
}

// same compares values, but not what they contain.
func same(a, b Value) bool {
	return a.Kind() == b.Kind() && a.Bool() == b.Bool() && a.Int() == b.Int() && a.Double() == b.Double() && a.Text() == b.Text() && a.Len() == b.Len()
}

func TestEverything(t *testing.T) {
	plans := NewPlans()
	check(t, plans, &everything{})
	check(t, plans, everything{})
	f, s, n, b, u, i := 1.5, "s", int64(0), true, upper("u"), intstr.FromString("25%")
	ps := &s
	now := metav1.NewTime(time.Date(2026, 3, 2, 9, 22, 48, 5, time.FixedZone("x", 3600)))
	full := everything{
		TypeMeta: metav1.TypeMeta{Kind: "K", APIVersion: "v"}, base: base{"a", "b", "c"}, other: &other{"d", "e"},
		recursive:  &recursive{Name: "r", Children: []*recursive{nil, {Name: "c"}}, ByName: map[string]recursive{"x": {}}},
		ObjectMeta: metav1.ObjectMeta{Name: "n", Generation: 1<<62 + 1, Labels: map[string]string{"a/b": "c"}, DeletionTimestamp: &now, ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}}},
		DashName:   "dash", Dash: "hidden", BadName: "bad", ZeroM: zeroer{7}, ZeroP: pointerZeroer{7}, ZeroPP: &pointerZeroer{7}, ZeroIface: zeroer{8}, Both: &n,
		Int: -1, I8: -128, I64: math.MinInt64, U8: 255, U64: math.MaxUint64, F32: 0.1, F64: 3, Bool: true, Number: "1e3", QuotedI: 5, QuotedF: &f, QuotedS: "a\"\xff<", QuotedB: &b, QuotedX: []int{1},
		Bytes: []byte{1, 255}, NamedB: json.RawMessage(` {"a": [1, 2.0]} `), Array: [3]byte{1}, Strings: []string{"a", "\xff\xfe", "<&>\u2028"}, Pointers: []*string{nil, &s}, Structs: []Exported{{1}, {2}},
		Labels: map[string]string{"a": "b\xffc", "\xff": "d"}, NamedMap: map[Named]Named{"a": "b"}, IntKeys: map[int8]string{-5: "x", 10: "y"}, TextKeys: map[upper]bool{"k": true}, Text: "t", TextP: &u,
		Any: map[string]any{"f": 3.0, "i": 5, "n": nil, "s": []string{"x"}, "m": map[string]any(nil), "t": now, "p": pointerJSON{1}}, AnyMap: map[string]any{"x": float32(0.1), "y": uint8(3)}, AnyList: []any{1, 2.5, "x", nil, []any(nil), &now, true},
		PJ: pointerJSON{1}, PJP: &pointerJSON{2}, PJM: map[string]pointerJSON{"a": {3}}, PJS: []pointerJSON{{4}},
		Time: now, TimeP: &now, Micro: metav1.NewMicroTime(now.Time), Duration: metav1.Duration{Duration: time.Minute}, GoTime: now.Time, GoDur: 5, IOS: intstr.FromInt32(80), IOSP: &i,
		Raw: runtime.RawExtension{Raw: []byte(`{"a":1.0,"b":12345678901234567890}`)}, Resources: corev1.ResourceList{"cpu": quantity("100m"), "memory": quantity("1.5Gi")}, PP: &ps,
	}
	check(t, plans, &full)
	check(t, plans, full)
	full.unseen = "x"
	check(t, plans, &full)
	for _, f := range []float64{0, math.Copysign(0, -1), 1e20, 1e21, 1e300, 1 << 53, 1<<62 + 1e10, -1 << 63, 1 << 63, 0.1, 1e-7, 123456789.5} {
		check(t, plans, f)
		check(t, plans, float32(f))
	}
	for _, bad := range []any{math.NaN(), math.Inf(1), make(chan int), map[string]any{"a": func() {}}, json.Number("x"), json.Number("-"), []any{complex(1, 1)}, map[bool]string{true: "x"}} {
		check(t, plans, bad)
		if v := plans.Of(bad); v.Kind() == Invalid && v.Err() == nil {
			t.Errorf("%#v: no error", bad)
		}
	}
}

func TestObject(t *testing.T) {
	plans := NewPlans()
	meta := &metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	v := plans.Object(d, meta)
	same := *d
	same.TypeMeta = *meta
	want, _ := jsonOf(t, &same)
	compare(t, "", v, want)
	if got, err := v.Any(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	d.APIVersion = "own/v1"
	if got := plans.Object(d, meta).Field("apiVersion").Text(); got != "own/v1" {
		t.Errorf("the object's own apiVersion is overwritten: %s", got)
	}
	if found, missing := NewPath("kind", "x").Find(v); missing != 1 || found.Kind() != String {
		t.Errorf("kind.x: %v, %d", found, missing)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"a": int64(1), "b": 5}}
	v = plans.Object(u, meta)
	if got, _ := v.Any(); reflect.ValueOf(got).Pointer() != reflect.ValueOf(u.Object).Pointer() {
		t.Error("an unstructured object is copied")
	}
	if v.Get("a").Int() != 1 || v.Get("b").Int() != 5 || v.Get("kind").Kind() != Absent {
		t.Error("wrong view of an unstructured object")
	}
	if k := plans.Object((*unstructured.Unstructured)(nil), meta).Kind(); k != Null {
		t.Errorf("a nil unstructured is of kind %d", k)
	}
	if k := plans.Object((*appsv1.Deployment)(nil), meta).Kind(); k != Null {
		t.Errorf("a nil Deployment is of kind %d", k)
	}
	if k := plans.Object(nil, meta).Kind(); k != Null {
		t.Errorf("nothing is of kind %d", k)
	}
}

func TestPath(t *testing.T) {
	plans := NewPlans()
	replicas := int32(3)
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: "A"}}}}
	d.Labels = map[string]string{"a": "b"}
	for _, c := range []struct {
		path    string
		missing int
	}{
		{"spec.replicas", -1},
		{"spec.selector", -1},
		{"spec.selector.matchLabels", 2},
		{"spec.selector.x.y", 2},
		{"nope", 0},
		{"spec.nope.x", 1},
		{"status.replicas", 1},
		{"status.replicas.x", 1},
		{"metadata.labels.a", -1},
		{"metadata.labels.b", 2},
		{"metadata.labels.a.b.c", 3},
		{"metadata.annotations.a", 1},
		{"spec.template.spec.securityContext", 3},
		{"spec.replicas.x", 2},
		{"spec.strategy.rollingUpdate.maxSurge", 2},
		{"status.conditions.x", 2},
	} {
		path := NewPath(strings.Split(c.path, ".")...)
		for range 2 { // made and remembered
			for _, v := range []Value{plans.Of(d), plans.Of(&corev1.Pod{}), plans.Of(d), plans.Of(map[string]any{"spec": 1})} {
				path.Find(v)
			}
			v := plans.Of(d)
			if _, missing := path.Find(v); missing != c.missing {
				t.Errorf("%s: missing %d, want %d", c.path, missing, c.missing)
			}
			if missing, _ := path.Has(&v); missing != c.missing {
				t.Errorf("%s: Has says missing %d, want %d", c.path, missing, c.missing)
			}
			slow := plans.Of(d).Get(strings.Split(c.path, ".")...)
			if (slow.Kind() == Absent) != (c.missing >= 0) {
				t.Errorf("%s: Get gives kind %d", c.path, slow.Kind())
			}
		}
	}
	v := plans.Of(d)
	if v.Get("status", "conditions", "0", "type").Text() != "A" || v.Get("status", "conditions", "x").Kind() != Absent || v.Get("status", "conditions", "1").Kind() != Absent {
		t.Error("wrong elements by Get")
	}
}

// TestAllocations: what ordinary conditions read costs no memory.
func TestAllocations(t *testing.T) {
	plans := NewPlans()
	replicas := int32(3)
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}, Status: appsv1.DeploymentStatus{ObservedGeneration: 3, Conditions: []appsv1.DeploymentCondition{{Type: "A"}}}}
	d.Labels = map[string]string{"a": "b"}
	meta := &metav1.TypeMeta{Kind: "Deployment"}
	d.CreationTimestamp = metav1.Now()
	created := NewPath("metadata", "creationTimestamp")
	paths := []*Path{NewPath("spec", "replicas"), NewPath("status", "observedGeneration"), NewPath("metadata", "labels", "a"), NewPath("nope")}
	sum := 0
	if n := testing.AllocsPerRun(100, func() {
		v := plans.Object(d, meta)
		for _, p := range paths {
			found, _ := p.Find(v)
			sum += int(found.Int()) + len(found.Text())
		}
		if missing, _ := created.Has(&v); missing == -1 {
			sum++
		}
		for i := range v.Field("status").Field("conditions").Len() {
			sum += len(v.Field("status").Field("conditions").Index(i).Field("type").Text())
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPath(b *testing.B) {
	plans := NewPlans()
	replicas := int32(3)
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	p := NewPath("spec", "replicas")
	v := plans.Object(d, &metav1.TypeMeta{})
	b.ReportAllocs()
	for b.Loop() {
		found, _ := p.Find(v)
		_ = found.Int()
	}
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }
