package celexpr

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/donewhen/donewhen/predicates/explain"
	"github.com/donewhen/donewhen/predicates/internal/redact"
)

// planted is in the random object where it must not be shown, and nowhere else.
const planted = "hunter2"

// explainOne judges and explains a random expression on a random Secret, and returns
// the explanation's outcome, "" if the expression doesn't compile.
func explainOne(t *testing.T, b *bothWays, seed uint64) explain.Outcome {
	t.Helper()
	r := &random{Rand: rand.New(rand.NewPCG(seed, 2))}
	r.object = jsonObject(t, r.newObject())
	r.object["apiVersion"], r.object["kind"] = "v1", "Secret"
	r.object["data"] = map[string]any{
		"a": planted + "-a", "token": planted + "-token", "list": []any{planted + "-0", int64(1)}, "b": map[string]any{"b": planted + "-b"},
	}
	expression := r.condition(4)
	p, issues := b.fused.Compile(expression, OutputBool)
	if issues != nil {
		return ""
	}
	ctx, limits := context.Background(), Limits{Cost: 1e9}
	ev := b.fused.Evaluation(ctx, r.object, b.fusedParams, limits)
	got, failure := p.Bool(ev)
	ev.Close()

	ev = b.fused.Evaluation(ctx, r.object, b.fusedParams, limits)
	defer ev.Close()
	x := ev.Explainer()
	n := x.Explain(p)
	said := fmt.Sprintf("%s, %s %s", n.Outcome, n.Value, n.Note)
	fail := func(format string, args ...any) {
		t.Helper()
		object, _ := json.Marshal(r.object)
		t.Errorf("DONEWHEN_SEED=%d DONEWHEN_RUNS=1: %s\n%s\nobject %s", seed, expression, fmt.Sprintf(format, args...), object)
	}
	switch hidden := n.Outcome == explain.Value && n.Value == redact.Mark; {
	case hidden && (failure == nil || failure.Kind == EvaluationError): // a value that is hidden may be of any type
	case failure == nil && n.Outcome != map[bool]explain.Outcome{true: explain.True, false: explain.False}[got]:
		fail("judged %v, explained %s", got, said)
	case failure != nil && failure.Kind == MissingData && n.Outcome != explain.Missing,
		// What is no bool is an error for a condition, and explained as what it is.
		failure != nil && failure.Kind == EvaluationError && n.Outcome != explain.Error && n.Outcome != explain.Value:
		fail("judged %v, explained %s", failure, said)
	}
	if !strings.Contains(expression, planted) {
		shown, err := json.Marshal([]any{n, x.Variables(), x.Params()})
		if err != nil || strings.Contains(string(shown), planted) {
			fail("shown (%v): %s", err, shown)
		}
		if failure != nil && !failure.Discloses(ev) && strings.Contains(failure.Error(), planted) {
			fail("the error shows it: %v", failure)
		}
	}
	return n.Outcome
}

// TestDifferential_Explain: what is explained is what was judged, a value or the kind
// of error; nothing panics, and what must not be shown isn't.
func TestDifferential_Explain(t *testing.T) {
	seed, runs := uint64(time.Now().UnixNano()), 1500
	if s, err := strconv.ParseUint(os.Getenv("DONEWHEN_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("DONEWHEN_RUNS")); err == nil {
		runs = n
	}
	t.Logf("DONEWHEN_SEED=%d", seed)
	policy, err := redact.New()
	if err != nil {
		t.Fatal(err)
	}
	compilers := twoCompilers(t)
	var b *bothWays
	outcomes := map[explain.Outcome]int{}
	for i := range runs {
		if i == 0 || (seed+uint64(i))%sharing == 0 {
			b = newBothWays(t, compilers, seed+uint64(i))
			b.fused.redaction = redaction{policy: policy}
		}
		outcomes[explainOne(t, b, seed+uint64(i))]++
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("outcomes %v", outcomes)
	if runs < 1000 {
		return
	}
	for _, o := range []explain.Outcome{explain.True, explain.False, explain.Missing, explain.Error} {
		if outcomes[o] < runs/50 {
			t.Errorf("only %d of %d are %q", outcomes[o], runs, o)
		}
	}
}
