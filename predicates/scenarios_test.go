package predicates

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/donewhen/donewhen/engine"
)

// oneRule loads a predicate with these lines of spec.
func oneRule(t *testing.T, spec string) (engine.Judge, *Set) {
	t.Helper()
	set, err := NewSet(nil, Source{Files: []File{{Name: "p.yaml", Data: []byte(`
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: example.com/v1, kind: Widget}
` + spec)}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Predicate("p")
	if err != nil {
		t.Fatal(err)
	}
	judge, err := p.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	return judge, set
}

// described is the verdict on an object with that status and generation 2.
func described(judge engine.Judge, status any) engine.Verdict {
	object := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "x", "uid": "u", "generation": int64(2)},
	}
	if status != nil {
		object["status"] = status
	}
	return judge.Describe(context.Background(), engine.Observation{
		Presence: engine.Present, Object: &unstructured.Unstructured{Object: object},
	}).Verdict
}

func TestK38_NoStatusYetIsPendingAndNamesThePath(t *testing.T) {
	judge, _ := oneRule(t, "  done: |-\n    object.status.conditions.exists(c, c.type == 'Ready')\n")
	v := described(judge, nil)
	if v.Decision != engine.Pending || v.Reason != engine.ReasonMissingData || len(v.Missing) != 1 || !strings.HasPrefix(v.Missing[0], "object.status") {
		t.Errorf("%+v", v)
	}
}

func TestK40_ParseErrorEvaluationErrorAndFalseAreThreeThings(t *testing.T) {
	_, err := NewSet(nil, Source{Files: []File{{Name: "p.yaml", Data: []byte(
		"apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: p}\nspec:\n  match: {apiVersion: v1, kind: Pod}\n  done: |-\n    object.a = 1\n")}}})
	if err == nil || !strings.Contains(err.Error(), "p.yaml:7:14") {
		t.Errorf("a parse error: %v", err)
	}
	judge, _ := oneRule(t, "  done: |-\n    object.status.count > 1\n")
	if v := described(judge, map[string]any{"count": "many"}); v.Decision != engine.Failed || v.Cause != engine.CauseJudge || v.Reason != engine.ReasonEvaluationError || !strings.Contains(v.Message, "no such overload") {
		t.Errorf("an evaluation error: %+v", v)
	}
	if v := described(judge, map[string]any{"count": int64(1)}); v.Decision != engine.Pending || v.Cause != engine.CauseOperation || len(v.Missing) > 0 {
		t.Errorf("false: %+v", v)
	}
	if v := described(judge, map[string]any{}); v.Decision != engine.Pending || len(v.Missing) == 0 {
		t.Errorf("missing: %+v", v)
	}
}

func TestK47_WholeNumbersAreIntegers(t *testing.T) {
	judge, _ := oneRule(t, "  done: |-\n    object.status.n + 1 == 4 && object.status.big == 9007199254740993\n")
	var fromFile map[string]any
	if err := json.Unmarshal([]byte(`{"n": 3, "big": 9007199254740993}`), &fromFile); err != nil {
		t.Fatal(err)
	}
	for name, status := range map[string]any{
		"from an informer": map[string]any{"n": int64(3), "big": int64(9007199254740993)},
		"from a file":      fromFile,
	} {
		if v := described(judge, status); v.Decision != engine.Done {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestK53_TheConditionOfAType(t *testing.T) {
	judge, _ := oneRule(t, "  done: |-\n    isTrue(object, 'Ready')\n  pending:\n  - messageExpression: |-\n      condition(object, 'Ready').status + ': ' + condition(object, 'Ready').message\n")
	ready := func(status string, generation int64) map[string]any {
		return map[string]any{"conditions": []any{
			map[string]any{"type": "Other", "status": "True"},
			map[string]any{"type": "Ready", "status": status, "message": "m", "observedGeneration": generation},
		}}
	}
	for _, c := range []struct {
		status any
		want   engine.Decision
		text   string
	}{
		{ready("True", 2), engine.Done, ""},
		{ready("True", 1), engine.Pending, "True: m"},
		{ready("False", 2), engine.Pending, "False: m"},
		{map[string]any{}, engine.Pending, "Unknown: "},
		{nil, engine.Pending, "Unknown: "},
	} {
		if v := described(judge, c.status); v.Decision != c.want || v.Message != c.text {
			t.Errorf("%v: %+v", c.status, v)
		}
	}
}

func TestK54_AllOfAnEmptyListIsTrueAndWarnedOf(t *testing.T) {
	for _, expression := range []string{
		"object.status.conditions.all(c, c.status == 'True')",
		"object.status.conditions.filter(c, c.type == 'Ready').all(c, c.status == 'True')",
	} {
		judge, set := oneRule(t, "  done: |-\n    "+expression+"\n")
		if v := described(judge, map[string]any{"conditions": []any{}}); v.Decision != engine.Done {
			t.Errorf("%s on []: %+v", expression, v)
		}
		found := false
		for _, w := range set.Warnings() {
			found = found || strings.Contains(w.Message, "all() is true")
		}
		if !found {
			t.Errorf("%s: no warning", expression)
		}
	}
}
