package simulator

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestLatencyDraw(t *testing.T) {
	latency := Latency{Median: time.Second, Sigma: 0.5, Min: 400 * time.Millisecond, Max: 3 * time.Second}
	for normal, want := range map[float64]time.Duration{
		0:   time.Second,
		1:   time.Duration(float64(time.Second) * math.Exp(0.5)),
		-10: latency.Min,
		10:  latency.Max,
	} {
		if got := latency.Draw(normal); got != want {
			t.Errorf("at %v standard deviations: %v, want %v", normal, got, want)
		}
	}
}

// Draws follow the distribution, agree between runs of one seed in whatever
// order they are made, and differ between seeds.
func TestNormalDraw(t *testing.T) {
	const n = 2000
	draw := func(seed uint64, i int) float64 {
		return normalDraw(seed, OperationAttach, "pvc-"+strconv.Itoa(i/2), i%2)
	}
	var under, differing int
	values := make([]float64, 0, n)
	for i := range n {
		value := draw(7, i)
		values = append(values, value)
		if value < 0 {
			under++
		}
		if draw(8, i) != value {
			differing++
		}
	}
	for i := n - 1; i >= 0; i-- {
		if draw(7, i) != values[i] {
			t.Fatalf("draw %d differs the second time", i)
		}
	}
	if under < n*45/100 || under > n*55/100 {
		t.Errorf("%d of %d draws are under the median", under, n)
	}
	if differing < n-1 {
		t.Errorf("%d of %d draws are the same under another seed", n-differing, n)
	}
	slices.Sort(values)
	if p84 := values[n*84/100]; p84 < 0.8 || p84 > 1.2 {
		t.Errorf("the 84th percentile is %v standard deviations, want about 1", p84)
	}
}

// An operation takes the drawn time, scaled; a fault's delay isn't scaled; the
// timeout of an operation is a failure without a code of its own.
func TestPerformTakesItsTime(t *testing.T) {
	exactly := func(d time.Duration) Latency { return Latency{Median: d, Max: d, Min: d} }
	for name, test := range map[string]struct {
		latency Latency
		scale   float64
		faults  []Fault
		want    time.Duration
		code    v1beta2.ErrorCode
	}{
		"as drawn":  {latency: exactly(10 * time.Second), scale: 1, want: 10 * time.Second},
		"scaled":    {latency: exactly(10 * time.Second), scale: 0.25, want: 2500 * time.Millisecond},
		"no time":   {latency: exactly(10 * time.Second), want: 0},
		"delayed":   {latency: exactly(10 * time.Second), faults: []Fault{{Operation: OperationCreate, Delay: "3s"}}, want: 3 * time.Second},
		"failed":    {latency: exactly(10 * time.Second), scale: 1, faults: []Fault{{Operation: OperationCreate, Code: "UNAVAILABLE"}}, want: 10 * time.Second, code: "UNAVAILABLE"},
		"elsewhere": {latency: exactly(10 * time.Second), scale: 1, faults: []Fault{{Operation: OperationDelete, Code: "UNAVAILABLE"}}, want: 10 * time.Second},
		"too long":  {latency: exactly(time.Hour), scale: 1, want: DefaultOperationTimeout, code: v1beta2.ErrorUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newCloud(t, CloudOptions{
					LatencyScale: test.scale, Latencies: map[Operation]Latency{OperationCreate: test.latency}, Faults: test.faults,
				})
				begin := time.Now()
				err := cloud.perform(t.Context(), OperationCreate, "v", "")
				if got := time.Since(begin); got != test.want {
					t.Errorf("took %v, want %v", got, test.want)
				}
				if code := codeOf(err); code != test.code {
					t.Errorf("error %v, want code %q", err, test.code)
				}
			})
		})
	}
}
