package celexpr

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"

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
	Replicas *int32                `json:"replicas,omitempty"`
	Ratio    float64               `json:"ratio"`
	Small    float32               `json:"small,omitempty"`
	Big      uint64                `json:"big,omitempty"`
	Exact    int64                 `json:"exact,string,omitempty"`
	Suspend  *bool                 `json:"suspend"`
	Port     intstr.IntOrString    `json:"port"`
	Size     resource.Quantity     `json:"size"`
	Wait     *metav1.Duration      `json:"wait,omitempty"`
	Raw      *runtime.RawExtension `json:"raw,omitempty"`
	Any      any                   `json:"any,omitempty"`
	Data     []byte                `json:"data,omitempty"`
	Limits   corev1.ResourceList   `json:"limits,omitempty"`
	Names    []string              `json:"names"`
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
var words1 = []string{"", "a", "b", "Ready", "True", "False", "Unknown", "Synced", "Attached", "x/y", "12", "ä€"}

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
		p.Raw = [][]byte{nil, []byte(`{"a":[1,2.0,{"b":null}],"Ready":"True"}`), []byte(`"a"`), []byte(`[1,"a"]`)}[r.IntN(4)]
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
		if r.IntN(8) == 0 {
			v.SetInt(r.Int64())
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, 2, 0.5, 1e30, r.NormFloat64()}[r.IntN(6)])
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
	return []any{r.word(), r.Int64N(4), 1.0, 0.5, true, []string{r.word()}, map[string]int{"a": 1}}[r.IntN(7)]
}

// path returns an expression of a value, mostly one that is there, and the value.
// It ends in an optional if it has an optional part.
func (r *random) path() (expression string, value any, optional bool) {
	expression, value = "object", r.object
	switch r.IntN(12) {
	case 0:
		roots := []string{"params.role", "params.count", "params.ratio", "params.force", "params.names", "params.limits", "variables.state", "variables.detail", "variables.list", "variables.ready", "variables.broken", "variables.absent", "variables.meta"}
		expression = roots[r.IntN(len(roots))]
		value = map[string]any{"state": "x", "conditions": []any{}, "status": "x", "name": "x"}
		if r.IntN(2) == 0 {
			return expression, nil, false
		}
	case 1, 2, 3, 4:
		if len(r.locals) > 0 {
			l := r.locals[r.IntN(len(r.locals))]
			expression, value = l.name, l.value
		}
	}
	for steps := r.IntN(5); steps > 0; steps-- {
		question := ""
		if r.IntN(8) == 0 {
			question, optional = "?", true
		}
		switch v := value.(type) {
		case []any:
			i := r.IntN(len(v) + 1)
			if r.IntN(15) == 0 {
				expression, value = expression+".a", nil // no such thing in a list
				continue
			}
			expression += fmt.Sprintf("[%s%d]", question, i)
			value = nil
			if i < len(v) {
				value = v[i]
			}
		default:
			m, _ := value.(map[string]any)
			if m == nil && r.IntN(4) == 0 || r.IntN(20) == 0 {
				expression, value = fmt.Sprintf("%s[%s%d]", expression, question, r.IntN(2)), nil // of no list
				continue
			}
			name := r.key(m)
			value = m[name]
			if checkIdentifier(name) == nil && r.IntN(6) > 0 {
				expression += "." + question + name
			} else {
				expression += fmt.Sprintf("[%s'%s']", question, name)
			}
		}
	}
	return expression, value, optional
}

// key returns a key of the map, or sometimes not.
func (r *random) key(m map[string]any) string {
	if len(m) == 0 || r.IntN(6) == 0 {
		return append(words1, "status", "spec", "state", "metadata", "nope", "type", "kind")[r.IntN(len(words1)+7)]
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	// Sorted, so that a seed gives the same expression again.
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			if names[j] < names[i] {
				names[i], names[j] = names[j], names[i]
			}
		}
	}
	return names[r.IntN(len(names))]
}

func (r *random) literal() string {
	literals := []string{"1.0", "0.5", "true", "false", "null", "-1", "2u", "[]", "['a', 'b']", "{'a': 1}", "''", "''"}
	switch i := r.IntN(20); {
	case i < len(literals):
		return literals[i]
	case i < 16:
		return strconv.Itoa(r.IntN(4))
	}
	return "'" + r.word() + "'"
}

// like returns a literal that the value may well be equal to.
func (r *random) like(value any) string {
	if r.IntN(3) > 0 {
		switch v := value.(type) {
		case string:
			return strconv.Quote(v)
		case int64:
			return strconv.FormatInt(v, 10)
		case bool:
			return strconv.FormatBool(v)
		case nil:
			return "null"
		}
	}
	return r.literal()
}

// value returns an expression of any type.
func (r *random) value(depth int) (expression string, value any) {
	switch r.IntN(14) {
	case 0:
		return r.literal(), nil
	case 1:
		return fmt.Sprintf("condition(object, '%s').%s", r.word(), []string{"present", "status", "reason", "message", "observedGeneration", "current"}[r.IntN(6)]), nil
	case 2:
		e, _, _ := r.path()
		return fmt.Sprintf([]string{"size(%s)", "%s.size()", "string(%s)", "int(%s)", "double(%s)", "type(%s)", "dyn(%s)"}[r.IntN(7)], e), nil
	case 3:
		if depth > 0 {
			a, _ := r.value(depth - 1)
			b, _ := r.value(depth - 1)
			return fmt.Sprintf("(%s %s %s)", a, []string{"+", "-", "*", "/", "%"}[r.IntN(5)], b), nil
		}
	case 4:
		if depth > 0 {
			a, _ := r.value(depth - 1)
			b, _ := r.value(depth - 1)
			return fmt.Sprintf("(%s ? %s : %s)", r.condition(depth-1), a, b), nil
		}
	}
	e, v, optional := r.path()
	if optional {
		return fmt.Sprintf("%s.orValue(%s)", e, r.like(v)), v
	}
	return e, v
}

// condition returns an expression of type bool, or what may be one.
func (r *random) condition(depth int) string {
	if depth <= 0 {
		e, v := r.value(0)
		return fmt.Sprintf("%s == %s", e, r.like(v))
	}
	switch r.IntN(19) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s && %s)", r.condition(depth-1), r.condition(depth-1))
	case 3, 4:
		return fmt.Sprintf("(%s || %s)", r.condition(depth-1), r.condition(depth-1))
	case 5:
		return "!(" + r.condition(depth-1) + ")"
	case 6:
		return fmt.Sprintf("(%s ? %s : %s)", r.condition(depth-1), r.condition(depth-1), r.condition(depth-1))
	case 7, 8, 9:
		e, v, optional := r.path()
		if optional {
			return e + ".hasValue()"
		}
		m, _ := v.(map[string]any)
		name := r.key(m)
		if checkIdentifier(name) != nil {
			name = "`" + name + "`"
			if name == "``" || name == "`ä€`" {
				name = "b"
			}
		}
		return fmt.Sprintf("has(%s.%s)", e, name)
	case 10:
		e, v := r.value(depth - 1)
		return fmt.Sprintf("%s in [%s, %s]", e, r.like(v), r.like(v))
	case 11:
		e, v := r.value(depth - 1)
		in, c, _ := r.path()
		if l, ok := c.([]any); ok && len(l) > 0 && r.IntN(2) == 0 {
			e, v = r.like(l[0]), nil
		}
		_ = v
		return fmt.Sprintf("%s in %s", e, in)
	case 12:
		e, _ := r.value(0)
		return e
	case 13:
		return fmt.Sprintf("isTrue(object, '%s')", r.word())
	case 14:
		a, _ := r.value(0)
		return fmt.Sprintf([]string{"%s.startsWith('%s')", "%s.endsWith('%s')", "%s.contains('%s')", "%s.matches('%s')", "string(%s).matches('^%s')"}[r.IntN(5)], a, r.word())
	case 15, 16:
		if len(r.locals) < 2 {
			return r.loop(depth)
		}
	}
	e, v := r.value(depth - 1)
	other := r.like(v)
	if r.IntN(3) == 0 {
		other, _ = r.value(depth - 1)
	}
	return fmt.Sprintf("%s %s %s", e, []string{"==", "==", "!=", "<", "<=", ">", ">="}[r.IntN(7)], other)
}

func (r *random) loop(depth int) string {
	e, v, _ := r.path()
	for range 5 {
		if _, ok := v.([]any); ok {
			break
		}
		e, v, _ = r.path()
	}
	l := local{name: []string{"c", "d", "object", "x"}[r.IntN(4)]}
	if list, ok := v.([]any); ok && len(list) > 0 {
		l.value = list[r.IntN(len(list))]
	}
	if _, ok := v.(map[string]any); ok {
		// In which order a map is gone through must not matter.
		return fmt.Sprintf("%s.exists(%s, %s == '%s')", e, l.name, l.name, r.word())
	}
	r.locals = append(r.locals, l)
	body := r.condition(depth - 1)
	r.locals = r.locals[:len(r.locals)-1]
	return fmt.Sprintf([]string{"%s.exists(%s, %s)", "%s.exists(%s, %s)", "%s.all(%s, %s)", "%s.all(%s, %s)", "%s.filter(%s, %s).size() > 0", "%s.exists_one(%s, %s)", "%s.map(%s, %s)[0]"}[r.IntN(7)], e, l.name, body)
}

// bothWays is two environments alike, of which one doesn't fuse.
type bothWays struct {
	fused, plain             *Environment
	fusedParams, plainParams *Params
}

func newBothWays(t testing.TB) *bothWays {
	t.Helper()
	out := &bothWays{}
	for _, unfused := range []bool{false, true} {
		compiler, err := NewCompiler()
		if err != nil {
			t.Fatal(err)
		}
		compiler.unfused = unfused
		env, err := NewEnvironment([]Param{
			{"role", "string"}, {"count", "int"}, {"ratio", "double"}, {"force", "bool"}, {"names", "list(string)"}, {"limits", "map(string, quantity)"},
		}, WithCompiler(compiler))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range [][2]string{
			{"state", "object.?status.?state.orValue('')"},
			{"detail", "object.status"},
			{"list", "object.?status.?conditions.orValue([])"},
			{"ready", "condition(object, 'Ready')"},
			{"broken", "object.metadata.?name.orValue('') > 1"},
			{"absent", "object.metadata.nope"},
			{"meta", "object.?metadata"},
		} {
			if issues := env.AddVariable(v[0], v[1]); issues != nil {
				t.Fatalf("variable %s: %v", v[0], issues)
			}
		}
		params, err := env.BindParams(map[string]any{"role": "a", "count": 2, "ratio": 0.5, "force": true, "names": []any{"a", "Ready"}, "limits": map[string]any{"a": "1"}})
		if err != nil {
			t.Fatal(err)
		}
		if unfused {
			out.plain, out.plainParams = env, params
		} else {
			out.fused, out.fusedParams = env, params
		}
	}
	return out
}

// result is all that evaluating an expression gives.
func result(p *Program, ev *Evaluation) string {
	defer ev.Close()
	got, err := p.Bool(ev)
	if err != nil {
		return fmt.Sprintf("error %d %q at %d, %s", err.Kind, err.Error(), err.node, err.Missing(ev))
	}
	if again, err := p.Bool(ev); err != nil || again != got {
		return fmt.Sprintf("first %v, then %v, %v", got, again, err)
	}
	return strconv.FormatBool(got)
}

// compare evaluates a random expression in four ways, and returns the kind of its
// outcome and whether it was fused.
func (b *bothWays) compare(t testing.TB, seed uint64) (string, bool) {
	t.Helper()
	r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
	object := r.newObject()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := utiljson.Unmarshal(data, &r.object); err != nil {
		t.Fatal(err)
	}
	meta := &metav1.TypeMeta{APIVersion: "v1", Kind: "Thing"}
	r.object["apiVersion"], r.object["kind"] = meta.APIVersion, meta.Kind
	expression := r.condition(4)
	fused, issues := b.fused.Compile(expression, OutputBool)
	if issues != nil {
		return "issues", false
	}
	plain, issues := b.plain.Compile(expression, OutputBool)
	if issues != nil {
		t.Fatalf("%s: %v", expression, issues)
	}
	ctx, limits := context.Background(), Limits{Cost: 1e9}
	typed := func(e *Environment, params *Params) *Evaluation {
		ev, err := e.EvaluationOf(ctx, object, meta, params, limits)
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	want := result(plain, b.plain.Evaluation(ctx, r.object, b.plainParams, limits))
	for name, got := range map[string]string{
		"typed":           result(plain, typed(b.plain, b.plainParams)),
		"fused":           result(fused, b.fused.Evaluation(ctx, r.object, b.fusedParams, limits)),
		"fused and typed": result(fused, typed(b.fused, b.fusedParams)),
	} {
		if got != want {
			t.Errorf("DONEWHEN_SEED=%d DONEWHEN_RUNS=1: %s\n%s: got  %s\nwant %s\nobject %s", seed, expression, name, got, want, data)
		}
	}
	kind := want
	if len(kind) > 7 {
		kind = kind[:7]
	}
	if fused.fused.Load().test != nil {
		ev := b.fused.Evaluation(ctx, r.object, b.fusedParams, limits)
		defer ev.Close()
		result, _ := fused.fused.Load().test.test(ev)
		return kind, result != unsure
	}
	return kind, false
}

// TestDifferential: random expressions on random objects mean what they mean in
// plain cel-go on the object's JSON form, typed or not, fused or not: the same value,
// or the same kind of error, text, node and missing path. DONEWHEN_SEED and
// DONEWHEN_RUNS choose others.
func TestDifferential(t *testing.T) {
	seed, runs := uint64(time.Now().UnixNano()), 2000
	if s, err := strconv.ParseUint(os.Getenv("DONEWHEN_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("DONEWHEN_RUNS")); err == nil {
		runs = n
	}
	t.Logf("DONEWHEN_SEED=%d", seed)
	b := newBothWays(t)
	kinds, fused := map[string]int{}, 0
	for i := range runs {
		kind, isFused := b.compare(t, seed+uint64(i))
		if t.Failed() {
			t.FailNow()
		}
		kinds[kind]++
		if isFused {
			fused++
		}
	}
	t.Logf("outcomes %v, %d fused", kinds, fused)
	if runs < 1000 {
		return
	}
	// A generator that only makes errors proves nothing.
	for _, kind := range []string{"true", "false", "error 0", "error 1"} {
		if kinds[kind] < runs/50 {
			t.Errorf("only %d of %d outcomes are %q", kinds[kind], runs, kind)
		}
	}
	if fused < runs/5 {
		t.Errorf("only %d of %d expressions are fused", fused, runs)
	}
}

func FuzzDifferential(f *testing.F) {
	f.Add(uint64(1))
	b := newBothWays(f)
	f.Fuzz(func(t *testing.T, seed uint64) { b.compare(t, seed) })
}
