package celexpr

import (
	"fmt"
	"testing"
)

// BenchmarkBool evaluates ordinary conditions: pending and true, on an unstructured
// and on a typed object, beside what a Go programmer would write. cpu-ns/op is what
// the process itself has computed.
func BenchmarkBool(b *testing.B) {
	for _, c := range conditionCases() {
		for _, way := range []string{"Unstructured", "Typed", "HandUnstructured", "HandTyped", "CelGo"} {
			run := c.runner(b, way)
			if run == nil {
				continue
			}
			b.Run(c.name+"/"+way, func(b *testing.B) {
				b.ReportAllocs()
				start := cpuTime()
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
			})
		}
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
