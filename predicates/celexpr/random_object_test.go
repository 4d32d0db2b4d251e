package celexpr

import (
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// claim is what a custom resource's Go type may look like.
type claim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              claimSpec    `json:"spec"`
	Status            *claimStatus `json:"status,omitempty"`
}

type claimSpec struct {
	Replicas *int32                 `json:"replicas,omitempty"`
	Ratio    float64                `json:"ratio"`
	Small    float32                `json:"small,omitempty"`
	Big      uint64                 `json:"big,omitempty"`
	Exact    int64                  `json:"exact,string,omitempty"`
	Suspend  *bool                  `json:"suspend"`
	Port     intstr.IntOrString     `json:"port"`
	Size     resource.Quantity      `json:"size"`
	Wait     *metav1.Duration       `json:"wait,omitempty"`
	Raw      *runtime.RawExtension  `json:"raw,omitempty"`
	Any      any                    `json:"any,omitempty"`
	Data     []byte                 `json:"data,omitempty"`
	Limits   corev1.ResourceList    `json:"limits,omitempty"`
	Names    []string               `json:"names"`
	ByNumber map[int32]string       `json:"byNumber,omitempty"`
	BySize   map[uint64]*claimError `json:"bySize,omitempty"`
	Inner    struct {
		Deep *claimSpec `json:"deep,omitempty"`
	} `json:"inner,omitempty"`
}

type claimStatus struct {
	State              string             `json:"state"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Labels             map[string]string  `json:"labels,omitempty"`
	Free               map[string]any     `json:"free,omitempty"`
	At                 metav1.Time        `json:"at,omitempty,omitzero"`
	Error              *claimError        `json:"error"`
}

type claimError struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// words are the texts of random objects and expressions.
var words1 = []string{"", "a", "b", "Ready", "True", "False", "Unknown", "Synced", "Attached", "x/y", "12", "ä€", "😀", "\xff", "a\xed\xa0\x80b", "9223372036854775807"}

// extremes are numbers that a float64 or an int64 only just holds, or doesn't.
var extremes = []int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 1 << 53, 1<<53 + 1, -(1<<53 + 1), 1<<62 + 1}

// random makes objects and expressions.
type random struct {
	*rand.Rand
	left   int
	object map[string]any
	// locals are loop variables with the element that paths are made for.
	locals []local
}

type local struct {
	name  string
	value any
}

func (r *random) word() string { return words1[r.IntN(len(words1))] }

func (r *random) newObject() metav1.Object {
	objects := []metav1.Object{&claim{}, &claim{}, &appsv1.Deployment{}, &corev1.Pod{}, &v1beta2.AzVolume{}, &v1beta2.AzVolumeAttachment{}, &corev1.PersistentVolumeClaim{}}
	object := objects[r.IntN(len(objects))]
	r.left = 250
	r.fill(reflect.ValueOf(object).Elem(), 0)
	return object
}

func (r *random) fill(v reflect.Value, depth int) {
	r.left--
	at := time.Unix(r.Int64N(1<<32), r.Int64N(1e9))
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = at
		return
	case *resource.Quantity:
		*p = resource.MustParse([]string{"0", "1", "100m", "1536Mi", "10Gi"}[r.IntN(5)])
		return
	case *intstr.IntOrString:
		*p = intstr.Parse([]string{"25%", "80", "x"}[r.IntN(3)])
		return
	case *runtime.RawExtension:
		p.Raw = [][]byte{nil, []byte(`{"a":[1,2.0,{"b":null}],"Ready":"True"}`), []byte(`"a"`), []byte(`[1,"a"]`), []byte(`{"a":9223372036854775808,"b":-0.0,"Ready":1e300,"0":{"a":-9223372036854775808}}`), []byte(`[9007199254740993,9007199254740992.0,"\\ud83d\\ude00","\\ud800"]`)}[r.IntN(6)]
		return
	case *metav1.FieldsV1, *metav1.TypeMeta:
		return
	case *metav1.Condition:
		*p = metav1.Condition{Type: r.word(), Status: metav1.ConditionStatus(r.word()), Reason: r.word(), Message: r.word(), ObservedGeneration: r.Int64N(3)}
		return
	}
	if r.left < 0 || depth > 9 || r.IntN(5) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(4))
		switch r.IntN(12) {
		case 0:
			v.SetInt(r.Int64())
		case 1:
			v.SetInt(extremes[r.IntN(len(extremes))])
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, 2, 0.5, 1e30, r.NormFloat64(), math.Copysign(0, -1), 1 << 53, 1<<53 + 2, -(1 << 63), 1 << 63, 1e21, 5e-324}[r.IntN(13)])
	case reflect.String:
		v.SetString(r.word())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem(), depth+1)
	case reflect.Interface:
		v.Set(reflect.ValueOf(r.any(depth)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			r.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			r.fill(key, depth+1)
			r.fill(elem, depth+1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				r.fill(v.Field(i), depth+1)
			}
		}
	}
}

func (r *random) any(depth int) any {
	if depth < 7 && r.IntN(2) == 0 {
		return []any{map[string]any{r.word(): r.any(depth + 1), "n": nil}, []any{r.any(depth + 1), r.any(depth + 1)}}[r.IntN(2)]
	}
	return []any{r.word(), r.Int64N(4), 1.0, 0.5, true, []string{r.word()}, map[string]int{"a": 1}, map[int]any{1: r.word()}, uint8(3), float32(0.1), extremes[r.IntN(len(extremes))], &claimError{Code: r.word()}}[r.IntN(12)]
}
