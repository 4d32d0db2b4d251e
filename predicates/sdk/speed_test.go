package sdk_test

import (
	"context"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/donewhen/donewhen/internal/racedetector"
)

// mostTimes is how many times as long as a call of a function that does nothing, through
// the engine alone, an evaluation of the example may take: twice what it took on a quiet
// machine. What it took, see docs/performance.md.
var mostTimes = map[string]float64{"wat": 110, "c": 140, "rust": 130, "assemblyscript": 240, "go": 850}

// bareCall returns a call of a guest that does nothing, without a meter and a reset.
func bareCall(t *testing.T) func() {
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = runtime.Close(ctx) })
	module, err := runtime.Instantiate(ctx, build(t, "wat", "testdata/nothing.wat"))
	if err != nil {
		t.Fatal(err)
	}
	var stack [1]uint64
	var f api.Function = module.ExportedFunction("dw_evaluate")
	return func() {
		if err := f.CallWithStack(ctx, stack[:]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSpeed holds what an evaluation of the example costs, the reset included, in
// calls of a guest that does nothing, measured in turn: the least of many windows.
func TestSpeed(t *testing.T) {
	call := bareCall(t)
	for language := range examples {
		guest := use(t, load(t, example(t, language)), nil)
		ctx, d := context.Background(), attached()
		bare, whole := math.Inf(1), math.Inf(1)
		for range 40 {
			bare = min(bare, window(t, 5_000, call))
			whole = min(whole, window(t, 500, func() {
				if _, err := guest.Evaluate(ctx, d, false); err != nil {
					t.Fatal(err)
				}
			}))
		}
		t.Logf("%-15s %6.0f ns, a bare call %3.0f ns: %.0f times", language, whole, bare, whole/bare)
		if whole/bare > mostTimes[language] && !racedetector.Enabled {
			t.Errorf("%s: an evaluation takes as long as %.0f bare calls, at most %.0f are expected", language, whole/bare, mostTimes[language])
		}
	}
}

// window returns what one of n calls costs, in nanoseconds of CPU time.
func window(t *testing.T, n int, call func()) float64 {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	for range n {
		call()
	}
	return float64(used()-start) / float64(n)
}
