package celexpr

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A message that costs more than there is doesn't keep later conditions from
// being judged, nor the variables that it used.
func TestTextsHaveABudgetOfTheirOwn(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, expression := range map[string]string{
		"sum": "object.l.map(a, a + 1).size()",
	} {
		if issues := env.AddVariable(name, expression); issues != nil {
			t.Fatal(issues)
		}
	}
	params, err := env.BindParams(nil)
	if err != nil {
		t.Fatal(err)
	}
	dear := compile(t, env, "object.l.map(a, object.l.map(b, string(a) + string(b)).join(',')).join(';')", OutputString)
	cheap := compile(t, env, "string(object.l.filter(a, a > 0).size())", OutputString)
	withVariable := compile(t, env, "string(object.l.filter(a, a > 0).map(a, a + 1).size() + variables.sum)", OutputString)
	condition := compile(t, env, "object.l.filter(a, a >= 0).size() == 100 && variables.sum == 100", OutputBool)

	ev := env.Evaluation(context.Background(), bigObject(100), params, Limits{Cost: 4_000, Timeout: time.Minute})
	defer ev.Close()
	if text, err := cheap.Text(ev); err != nil || text != "99" {
		t.Errorf("a cheap text: %q, %v", text, err)
	}
	if _, err := dear.Text(ev); err == nil || err.Kind != LimitExceeded {
		t.Errorf("a dear text: %v", err)
	}
	// The texts' budget is used up, and so the variable has no value for them.
	if _, err := withVariable.Text(ev); err == nil || err.Kind != LimitExceeded {
		t.Errorf("a text after the budget's end: %v", err)
	}
	if holds, err := condition.Bool(ev); err != nil || !holds {
		t.Errorf("a condition after dear texts: %v, %v", holds, err)
	}
	// Conditions have their limit all the same.
	for range 20 {
		if _, err := condition.Bool(ev); err != nil {
			if err.Kind != LimitExceeded || !strings.Contains(err.Error(), "4000") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("conditions have no limit")
}
