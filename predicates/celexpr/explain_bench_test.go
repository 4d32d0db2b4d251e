package celexpr

import (
	"context"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/predicates/internal/redact"
)

// BenchmarkExplain is what an explanation takes: of a second look at a predicate,
// and of the first, when its second form is made.
func BenchmarkExplain(b *testing.B) {
	policy, err := redact.New()
	if err != nil {
		b.Fatal(err)
	}
	const chain = "has(object.status) && has(object.status.detail) && has(object.status.detail.publish_context) && object.status.state == 'Detached'"
	for _, c := range []struct{ name, expression string }{
		{"FourConjuncts", chain},
		{"Exists", "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')"},
	} {
		b.Run(c.name, func(b *testing.B) {
			env := environment(b)
			WithRedaction(policy)(&options{})
			env.redaction = redaction{policy: policy}
			params := testParams(b, env)
			object := parse(b, attached)
			p := compile(b, env, c.expression, OutputBool)
			b.ReportAllocs()
			for b.Loop() {
				ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1e6, Timeout: time.Second})
				ev.Explainer().Explain(p).Reasons(3)
				ev.Close()
			}
		})
	}
	b.Run("First", func(b *testing.B) {
		env := environment(b)
		env.redaction = redaction{policy: policy}
		params := testParams(b, env)
		object := parse(b, attached)
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			p := compile(b, env, chain, OutputBool)
			b.StartTimer()
			ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1e6, Timeout: time.Second})
			ev.Explainer().Explain(p).Reasons(3)
			ev.Close()
		}
	})
	b.Run("Compiler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			c, err := NewCompiler()
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, _, err := c.forExplaining(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestExplainSpeed: a second look at four conjuncts takes a bounded number of
// allocations, and of times what evaluating them by cel-go takes: about twice what
// was measured, so that a busy machine passes.
func TestExplainSpeed(t *testing.T) {
	if racedetector.Enabled {
		t.Log("the race detector allocates and takes its time: make gates runs this without it")
		return
	}
	const maxAllocs, maxRatio = 100, 60
	policy, err := redact.New()
	if err != nil {
		t.Fatal(err)
	}
	env := environment(t)
	env.redaction = redaction{policy: policy}
	params, object := testParams(t, env), parse(t, attached)
	p := compile(t, env, "has(object.status) && has(object.status.detail) && has(object.status.detail.publish_context) && object.status.state == 'Detached'", OutputBool)
	explain := func() {
		ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1e6, Timeout: time.Second})
		defer ev.Close()
		ev.Explainer().Explain(p).Reasons(3)
	}
	if allocs := testing.AllocsPerRun(100, explain); allocs > maxAllocs {
		t.Errorf("an explanation takes %v allocations, more than %d", allocs, maxAllocs)
	}
	var celGo func()
	for _, c := range conditionCases() {
		if celGo == nil {
			celGo = c.runner(t, "CelGo")
		}
	}
	figures := windows([]func(){explain, celGo}, 100)
	t.Logf("explain %.0f ns (quartiles %.0f and %.0f), cel-go's evaluation %.0f ns", figures[0][1], figures[0][0], figures[0][2], figures[1][1])
	if explained, evaluated := figures[0][0], figures[1][0]; explained > maxRatio*evaluated {
		t.Errorf("an explanation takes %.0f ns, more than %d times the %.0f ns of an evaluation", explained, maxRatio, evaluated)
	}
}
