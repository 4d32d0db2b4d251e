package jsonform

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// filler fills Go values with random data, at most so deep.
type filler struct {
	*rand.Rand
	left int // values that may still be made, so that objects stay small
}

func (f *filler) fill(v reflect.Value, depth int) {
	f.left--
	if special := f.special(v); special || f.left < 0 || depth > 12 || f.IntN(6) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.Int64() >> f.IntN(64) * int64(f.IntN(3)-1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(f.Uint64() >> f.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{f.Float64(), float64(f.Int64()), math.Trunc(f.NormFloat64() * 100), f.NormFloat64() * 1e25}[f.IntN(4)])
	case reflect.String:
		v.SetString(f.text())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(f.any(depth)))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.IntN(4), 4))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(elem, depth+1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i), depth+1)
			}
		}
	}
}

// special fills types whose fields can't hold just anything.
func (f *filler) special(v reflect.Value) bool {
	at := time.Unix(f.Int64N(1<<33), f.Int64N(1e9)).In(time.FixedZone("x", f.IntN(7200)))
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = at
	case *resource.Quantity:
		*p = resource.MustParse(fmt.Sprintf("%d%s", f.IntN(5000), []string{"", "m", "Gi", "k"}[f.IntN(4)]))
	case *intstr.IntOrString:
		*p = intstr.Parse([]string{"25%", "80", "x"}[f.IntN(3)])
	case *runtime.RawExtension:
		*p = runtime.RawExtension{Raw: [][]byte{nil, []byte("null"), []byte(`{"a":[1,2.0,{"b":null}]}`), []byte(`"x"`)}[f.IntN(4)]}
	case *json.Number:
		*p = []json.Number{"", "1", "-2.50", "1e3"}[f.IntN(4)]
	case *json.RawMessage:
		*p = []json.RawMessage{nil, json.RawMessage(`{"a":1}`), json.RawMessage(`[]`)}[f.IntN(3)]
	case *metav1.FieldsV1:
		p.SetRawString([]string{"", `{"f:a":{}}`}[f.IntN(2)])
	case *interface{ IsZero() bool }:
		*p = []interface{ IsZero() bool }{nil, zeroer{7}, zeroer{1}, (*pointerZeroer)(nil), &pointerZeroer{7}}[f.IntN(5)]
	default:
		return false
	}
	return true
}

func (f *filler) text() string {
	return []string{"", "a", "True", "x/y", "\"\\\n\x01", "<&>", "ä€😀\u2028", "\xff\xfe", "12", "null"}[f.IntN(10)]
}

func (f *filler) any(depth int) any {
	choices := []any{
		f.text(), f.Int64(), int32(f.IntN(100)), uint8(f.IntN(255)), f.Float64(), 3.0, float32(0.1), true,
		[]string{f.text()},
		&metav1.Time{},
		pointerJSON{1},
		&pointerJSON{2},
		map[string]any(nil), []any(nil),
		map[string]string{f.text(): f.text()},
		Named("x"),
	}
	if depth < 6 && f.IntN(2) == 0 {
		return map[string]any{f.text(): f.any(depth + 1), "l": []any{f.any(depth + 1), nil}}
	}
	return choices[f.IntN(len(choices))]
}

// randomTypes are what API objects look like, and what else Go can do.
func randomTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[everything](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[batchv1.Job](),
		reflect.TypeFor[corev1.PersistentVolumeClaim](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[storagev1.VolumeAttachment](), reflect.TypeFor[corev1.Node](),
		reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[corev1.ConfigMap](), reflect.TypeFor[appsv1.StatefulSet](),
		reflect.TypeFor[v1beta2.AzVolume](), reflect.TypeFor[v1beta2.AzVolumeAttachment](), reflect.TypeFor[v1beta2.AzDriverNode](),
	}
}

func checkRandom(t testing.TB, plans *Plans, seed uint64) {
	t.Helper()
	f := &filler{Rand: rand.New(rand.NewPCG(seed, 0)), left: 400}
	types := randomTypes()
	v := reflect.New(types[f.IntN(len(types))])
	f.fill(v.Elem(), 0)
	check(t, plans, v.Interface())
	check(t, plans, v.Elem().Interface())
}

// TestRandom compares views of random objects with encoding/json, field by field.
// DONEWHEN_SEED and DONEWHEN_RUNS choose others.
func TestRandom(t *testing.T) {
	seed, runs := uint64(time.Now().UnixNano()), 1000
	if s, err := strconv.ParseUint(os.Getenv("DONEWHEN_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("DONEWHEN_RUNS")); err == nil {
		runs = n
	}
	t.Logf("DONEWHEN_SEED=%d", seed)
	plans := NewPlans()
	for i := range runs {
		if checkRandom(t, plans, seed+uint64(i)); t.Failed() {
			t.Fatalf("with DONEWHEN_SEED=%d DONEWHEN_RUNS=1", seed+uint64(i))
		}
	}
}

func FuzzJSONForm(f *testing.F) {
	f.Add(uint64(1))
	plans := NewPlans()
	f.Fuzz(func(t *testing.T, seed uint64) { checkRandom(t, plans, seed) })
}

// TestConverter holds where the converter of unstructured objects differs from
// encoding/json, which counts.
func TestConverter(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		path string
		want any // what the converter makes of it
	}{
		{"a whole float stays one", &struct{ F float64 }{3}, "F", 3.0},
		{"no option string", &struct {
			I int64 `json:",string"`
		}{5}, "I", int64(5)},
		{"no text marshalers", &struct{ T upper }{"a"}, "T", "a"},
		{"a text that isn't UTF-8 stays so", &struct{ S string }{"\xff"}, "S", "\xff"},
	} {
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.v)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := m[c.path]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v", c.name, got)
		}
		if got, err := NewPlans().Of(c.v).Field(c.path).Any(); err != nil || reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: the view has it too: %#v, %v", c.name, got, err)
		}
		check(t, NewPlans(), c.v)
	}
}
