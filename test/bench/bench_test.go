package bench

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has computed so far. On a machine that others use too,
// wall time says little.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// window is how long each way is measured at a time.
const window = 20 * time.Millisecond

// BenchmarkAttachment has every way judge an attached disk, in turns of one window of
// CPU time each, and prints the medians and what they are beside ours.
func BenchmarkAttachment(b *testing.B) {
	object := attachment("Attached", "/dev/disk/azure/scsi1/lun3")
	judges, took := make([]judge, len(ways)), make([][]float64, len(ways))
	for i, w := range ways {
		judges[i] = w.make(b)
	}
	for b.Loop() {
		for i, judge := range judges {
			n, start, spent := 0, cpuTime(b), time.Duration(0)
			for round := 1; spent < window; round *= 2 {
				for range round {
					if done, err := judge(object); err != nil || !done {
						b.Fatalf("%s: %v, %v", ways[i].name, done, err)
					}
				}
				n += round
				spent = cpuTime(b) - start
			}
			took[i] = append(took[i], float64(spent)/float64(n))
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return took[i][len(took[i])/2]
	}
	base := median(slices.IndexFunc(ways, func(w way) bool { return w.name == ours }))
	b.ReportMetric(0, "ns/op")
	for i, w := range ways {
		b.Logf("%-45s %10.0f ns of CPU time, %7.2f times ours in C", w.name, median(i), median(i)/base)
	}
}
