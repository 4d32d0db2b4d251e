package celexpr

import (
	"context"
	"testing"
	"time"

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
