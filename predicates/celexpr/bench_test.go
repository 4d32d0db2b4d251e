package celexpr

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func BenchmarkBool(b *testing.B) {
	for _, c := range []struct{ name, expression string }{
		{"has", "has(object.status)"},
		{"FourConjuncts", "has(object.status) && has(object.status.detail) && has(object.status.detail.publish_context) && object.status.state == 'Attached'"},
		{"FourConjunctsPending", "has(object.status) && has(object.status.detail) && has(object.status.detail.publish_context) && object.status.state == 'Detached'"},
		{"Missing", "object.status.nope.deeper == 'x'"},
		{"Param", "object.status.detail.capacity_bytes >= params.bytes"},
		{"Variable", "variables.state == 'Attached'"},
		{"Exists", "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"},
		{"Condition", "condition(object, 'Ready').status == 'True'"},
	} {
		b.Run(c.name, func(b *testing.B) {
			env := environment(b)
			params := testParams(b, env)
			object := parse(b, attached)
			p := compile(b, env, c.expression, OutputBool)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				ev := env.Evaluation(ctx, object, params, Limits{Cost: 1e6, Timeout: time.Second})
				_, _ = p.Bool(ev)
				ev.Close()
			}
		})
	}
}

// BenchmarkLoad is one predicate of one done and one failed rule, with and without
// params and variables.
func BenchmarkLoad(b *testing.B) {
	compiler, err := NewCompiler()
	if err != nil {
		b.Fatal(err)
	}
	for _, variables := range []int{0, 3} {
		b.Run(fmt.Sprintf("Variables%d", variables), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var params []Param
				if variables > 0 {
					params = []Param{{"role", "string"}}
				}
				env, err := NewEnvironment(params, WithCompiler(compiler))
				if err != nil {
					b.Fatal(err)
				}
				for i := range variables {
					env.AddVariable(fmt.Sprintf("v%d", i), "object.?status.?state.orValue('')")
				}
				compile(b, env, "has(object.status) && object.status.state == 'Created' && object.status.detail.volume_id != ''", OutputBool)
				compile(b, env, "object.status.state == 'CreationFailed'", OutputBool)
			}
		})
	}
	b.Run("Compiler", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewCompiler(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
