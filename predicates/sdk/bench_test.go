package sdk_test

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has computed so far. On a machine that others use too,
// wall time says little.
func cpuTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bare are guests that do less than the example: their costs are the host's.
var bare = map[string]string{"nothing": "testdata/nothing.wat", "one field": "testdata/state.wat"}

// BenchmarkEvaluate is what one evaluation of the example costs, the reset of the
// guest's memory included, beside what the host alone costs.
func BenchmarkEvaluate(b *testing.B) {
	for name, source := range bare {
		b.Run(name, func(b *testing.B) { evaluations(b, build(b, "wat", source)) })
	}
	for language := range examples {
		b.Run(language, func(b *testing.B) { evaluations(b, example(b, language)) })
	}
}

func evaluations(b *testing.B, binary []byte) {
	guest := use(b, load(b, binary), nil)
	ctx := context.Background()
	d := attached()
	var fuel int64
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		result, err := guest.Evaluate(ctx, d, false)
		if err != nil {
			b.Fatal(err)
		}
		fuel = result.Fuel
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(fuel), "fuel/op")
}

// BenchmarkCompile is what it costs to load the example, up to its first instance.
func BenchmarkCompile(b *testing.B) {
	for language := range examples {
		b.Run(language, func(b *testing.B) {
			binary := example(b, language)
			start := cpuTime(b)
			for b.Loop() {
				use(b, load(b, binary), nil)
			}
			b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(len(binary)), "bytes")
		})
	}
}
