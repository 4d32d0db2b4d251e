package celexpr

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

// TestFusedLoopsAreBounded: what a fused loop does is small beside the cost limit, also
// where each element costs more than a comparison; the rest is cel-go's, which counts.
func TestFusedLoopsAreBounded(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{{"text", "object.data.text"}, {"ready", "condition(object, 'Ready')"}} {
		if issues := env.AddVariable(v[0], v[1]); issues != nil {
			t.Fatal(issues)
		}
	}
	params, err := env.BindParams(nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	list, conditions := make([]any, n), make([]any, n)
	typed := &corev1.Pod{}
	text := strings.Repeat("a", 1<<20)
	for i := range n {
		list[i], conditions[i] = "b", map[string]any{"type": "x"}
		typed.Finalizers = append(typed.Finalizers, "b")
		typed.Status.Conditions = append(typed.Status.Conditions, corev1.PodCondition{Type: "x"})
	}
	typed.Annotations = map[string]string{"text": text}
	native := map[string]any{
		"metadata": map[string]any{"finalizers": list, "annotations": map[string]any{"text": text}},
		"status":   map[string]any{"conditions": conditions}, "data": map[string]any{"text": text},
	}
	limits := Limits{Cost: 1e6, Timeout: time.Minute}
	for _, expression := range []string{
		"object.metadata.finalizers.all(a, a in object.metadata.finalizers && a == 'b')",
		"object.metadata.finalizers.exists(a, object.metadata.annotations.text.contains(a))",
		"object.metadata.finalizers.exists(a, object.metadata.annotations.text == a)",
		"object.metadata.finalizers.exists(a, size(object.metadata.annotations.text) == 5)",
		"object.metadata.finalizers.exists(a, object.metadata.finalizers.exists(b, b != a))",
		"object.metadata.finalizers.exists(a, isTrue(object, 'Ready') && a == 'b')",
		"object.metadata.finalizers.exists(a, variables.text.contains(a))",
	} {
		for _, way := range []string{"native", "typed"} {
			ev := env.Evaluation(context.Background(), native, params, limits)
			if way == "typed" {
				if strings.Contains(expression, "variables.text") {
					continue
				}
				if ev, err = env.EvaluationOf(context.Background(), typed, &metav1.TypeMeta{}, params, limits); err != nil {
					t.Fatal(err)
				}
			}
			p := compile(t, env, expression, OutputBool)
			if f := p.fusedForm(); f.test != nil {
				start := cpuTime()
				result, _ := f.test.test(ev)
				if took := cpuTime() - start; took > 500*time.Millisecond {
					t.Errorf("%s, %s: outcome %v after %v", expression, way, result, took)
				}
				if ev.spent > limits.Cost {
					t.Errorf("%s, %s: a cost of %d", expression, way, ev.spent)
				}
			}
			ev.Close()
		}
	}
}
