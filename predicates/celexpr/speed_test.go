package celexpr

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// cpuTime is what the process has computed so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// conditionCase is a condition with what it is in Go.
type conditionCase struct {
	name, expression string
	want             bool
	unstructured     func(map[string]any) bool
	typed            func(*v1beta2.AzVolumeAttachment) bool
}

// nested returns the value at a path.
func nested(v any, path ...string) (any, bool) {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

func conditionCases() []conditionCase {
	const four = "has(object.status) && has(object.status.detail) && has(object.status.detail.publish_context) && object.status.state == "
	fourIn := func(want string) func(map[string]any) bool {
		return func(object map[string]any) bool {
			status, ok := object["status"].(map[string]any)
			if !ok {
				return false
			}
			detail, ok := status["detail"].(map[string]any)
			if !ok {
				return false
			}
			if _, ok := detail["publish_context"]; !ok {
				return false
			}
			state, _ := status["state"].(string)
			return state == want
		}
	}
	fourTyped := func(want v1beta2.AttachmentState) func(*v1beta2.AzVolumeAttachment) bool {
		return func(a *v1beta2.AzVolumeAttachment) bool {
			return a.Status.Detail != nil && a.Status.Detail.PublishContext != nil && a.Status.State == want
		}
	}
	exists := func(status string) func(map[string]any) bool {
		return func(object map[string]any) bool {
			l, _ := nested(object, "status", "conditions")
			list, _ := l.([]any)
			return slices.ContainsFunc(list, func(v any) bool {
				c, _ := v.(map[string]any)
				return c["type"] == "Synced" && c["status"] == status
			})
		}
	}
	params := func(least int64) func(map[string]any) bool {
		return func(object map[string]any) bool {
			v, _ := nested(object, "metadata", "generation")
			generation, ok := v.(int64)
			return ok && generation >= least
		}
	}
	return []conditionCase{
		{"Has", "has(object.status.detail)", true, func(o map[string]any) bool { _, ok := nested(o, "status", "detail"); return ok }, func(a *v1beta2.AzVolumeAttachment) bool { return a.Status.Detail != nil }},
		{"HasPending", "has(object.status.error)", false, func(o map[string]any) bool { _, ok := nested(o, "status", "error"); return ok }, func(a *v1beta2.AzVolumeAttachment) bool { return a.Status.Error != nil }},
		{"Four", four + "'Attached'", true, fourIn("Attached"), fourTyped("Attached")},
		{"FourPending", four + "'Detached'", false, fourIn("Detached"), fourTyped("Detached")},
		{"Params", "object.metadata.generation >= params.least", true, params(3), func(a *v1beta2.AzVolumeAttachment) bool { return a.Generation >= 3 }},
		{"ParamsPending", "object.metadata.generation >= params.most", false, params(5), func(a *v1beta2.AzVolumeAttachment) bool { return a.Generation >= 5 }},
		{"Exists", "object.status.conditions.exists(c, c.type == 'Synced' && c.status == 'True')", true, exists("True"), nil},
		{"ExistsPending", "object.status.conditions.exists(c, c.type == 'Synced' && c.status == 'False')", false, exists("False"), nil},
		{"Condition", "condition(object, 'Synced').status == 'True'", true, exists("True"), nil},
		{"Optional", "object.?status.?state.orValue('') == 'Attached'", true, nil, nil},
		{"Variable", "variables.state == 'Attached'", true, nil, nil},
		{"VariableTwice", "variables.state == 'Attached' && variables.state != 'Detached'", true, nil, nil},
		{"NoVariableTwice", "object.status.state == 'Attached' && object.status.state != 'Detached'", true, nil, nil},
		{"Missing", "object.status.nope.deeper == 'x'", false, nil, nil},
	}
}

// speedObject is an attachment as the API server has it, and as a typed informer.
func speedObject(t testing.TB) (map[string]any, *v1beta2.AzVolumeAttachment) {
	t.Helper()
	object := parse(t, `
apiVersion: disk.csi.azure.com/v1beta2
kind: AzVolumeAttachment
metadata: {name: x, namespace: azure-disk-csi, generation: 3, resourceVersion: "5", uid: u, labels: {a: b, c: d}, annotations: {e: f}, finalizers: [f]}
spec: {volumeName: v, nodeName: node-1, role: Primary, volume_id: i}
status:
  state: Attached
  detail: {role: Primary, previous_role: "", publish_context: {LUN: "3"}}
  conditions:
  - {type: Ready, status: "True", reason: Good, message: all well}
  - {type: Synced, status: "True"}
`)
	typed := &v1beta2.AzVolumeAttachment{}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, typed); err != nil {
		t.Fatal(err)
	}
	typed.TypeMeta = metav1.TypeMeta{}
	if typed.Status.Detail == nil || typed.Status.Detail.PublishContext == nil {
		t.Fatalf("the typed object lacks what the conditions read: %+v", typed.Status)
	}
	return object, typed
}

// runner returns a function that evaluates the condition once, nil if it can't be
// evaluated that way.
func (c conditionCase) runner(t testing.TB, way string) func() {
	t.Helper()
	native, typed := speedObject(t)
	switch {
	case way == "HandUnstructured" && c.unstructured != nil:
		return func() { sink = c.unstructured(native) }
	case way == "HandTyped" && c.typed != nil:
		return func() { sink = c.typed(typed) }
	case way != "Unstructured" && way != "Typed" && way != "CelGo":
		return nil
	}
	compiler, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	compiler.unfused = way == "CelGo"
	env, err := NewEnvironment([]Param{{"least", "int"}, {"most", "int"}}, WithCompiler(compiler))
	if err != nil {
		t.Fatal(err)
	}
	if issues := env.AddVariable("state", "object.?status.?state.orValue('')"); issues != nil {
		t.Fatal(issues)
	}
	params, err := env.BindParams(map[string]any{"least": 3, "most": 5})
	if err != nil {
		t.Fatal(err)
	}
	var object metav1.Object = &unstructured.Unstructured{Object: native}
	if way == "Typed" {
		if object = typed; c.unstructured != nil && c.typed == nil { // attachments have no conditions
			object = &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
				{Type: "Ready", Status: "True", Reason: "Good", Message: "all well"}, {Type: "Synced", Status: "True"},
			}}}
		}
	}
	p := compile(t, env, c.expression, OutputBool)
	ctx, limits := context.Background(), Limits{Cost: 1e6, Timeout: time.Second}
	meta := &metav1.TypeMeta{APIVersion: "disk.csi.azure.com/v1beta2", Kind: "AzVolumeAttachment"}
	run := func() (bool, *Error) {
		ev, err := env.EvaluationOf(ctx, object, meta, params, limits)
		if err != nil {
			return false, &Error{Message: err.Error()}
		}
		defer ev.Close()
		return p.Bool(ev)
	}
	if got, err := run(); got != c.want || err != nil && err.Kind != MissingData {
		t.Fatalf("%s, %s: got %v, %v", c.expression, way, got, err)
	}
	return func() { sink, _ = run() }
}

var sink bool

// windows measures functions in turn, each in many short windows of CPU time, so that
// what else the machine does falls on all of them; it returns nanoseconds per call:
// the quartiles of each.
func windows(functions []func(), calls int) [][3]float64 {
	const rounds = 40
	times := make([][]float64, len(functions))
	for round := range rounds + 2 {
		for i, f := range functions {
			start := cpuTime()
			for range calls {
				f()
			}
			if round >= 2 { // the first ones warm up
				times[i] = append(times[i], float64(cpuTime()-start)/float64(calls))
			}
		}
	}
	out := make([][3]float64, len(functions))
	for i, t := range times {
		slices.Sort(t)
		out[i] = [3]float64{t[rounds/4], t[rounds/2], t[rounds*3/4]}
	}
	return out
}

// TestSpeed: ordinary conditions allocate nothing, pending or true, on unstructured
// and on typed objects, and take at most so many times what hand-written Go takes. The
// bar is 6 for four conjuncts; a busy machine is given twice that.
func TestSpeed(t *testing.T) {
	for _, c := range conditionCases() {
		ways := []string{"Unstructured", "HandUnstructured", "Typed", "HandTyped", "CelGo"}
		var functions []func()
		var measured []string
		for _, way := range ways {
			if f := c.runner(t, way); f != nil {
				functions, measured = append(functions, f), append(measured, way)
				if allocs := testing.AllocsPerRun(100, f); allocs > 0 && way != "CelGo" && !racedetector.Enabled {
					t.Errorf("%s, %s: %v allocations", c.name, way, allocs)
				}
			}
		}
		if testing.Short() || racedetector.Enabled {
			continue
		}
		figures := windows(functions, 500)
		text, at := "", map[string]float64{}
		for i, way := range measured {
			at[way] = figures[i][0]
			text += fmt.Sprintf("  %s %.0f (%.0f–%.0f)", way, figures[i][1], figures[i][0], figures[i][2])
		}
		t.Logf("%-16s%s", c.name, text)
		if hand := at["HandUnstructured"]; hand > 0 && at["Unstructured"] > 12*hand {
			t.Errorf("%s takes %.0f ns, more than 12 times the %.0f ns of hand-written Go", c.name, at["Unstructured"], hand)
		}
	}
}
