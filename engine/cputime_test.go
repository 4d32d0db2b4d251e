package engine_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has computed so far. On a machine that others use
// too, it says more of the cost than the time that has passed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU adds the metric "cpu-ns/op" for what runs from now on.
func reportCPU(b *testing.B) (end func()) {
	start := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op") }
}
