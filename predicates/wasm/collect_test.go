package wasm

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// TestGarbageCollectionGoesOn holds that a guest that burns all its fuel of an
// evaluation stops nobody else for long: a collection waits for it.
func TestGarbageCollectionGoesOn(t *testing.T) {
	const most = 250 * time.Millisecond
	rt := newRuntime(t)
	// longest is how long the longest of the collections took that began while the
	// guest was running; less, if the machine did something else meanwhile.
	longest := func(name string, binary []byte) time.Duration {
		running, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			close(running)
			_, err := judgeOnce(rt, binary, hostileDocument(name))
			ended <- err
		}()
		<-running
		longest := time.Duration(0)
		for {
			start, cpu := time.Now(), cpuTime()
			runtime.GC()
			longest = max(longest, min(time.Since(start), cpuTime()-cpu))
			select {
			case err := <-ended:
				if ReasonOf(err) != hostile[name].reason {
					t.Errorf("%s: %v", name, err)
				}
				return longest
			default:
			}
		}
	}
	for name, want := range hostile {
		switch want.reason {
		case ModuleInvalid, ImportDenied, AbiMismatch, BadPointer, BadResult:
			continue // it doesn't run, or not for long
		}
		if strings.HasPrefix(want.message, "start the module: the fuel") {
			continue // it runs for longer: a start has fifty times the fuel
		}
		binary := fixture.Read(t, "testdata/hostile/"+name+".wasm")
		best := longest(name, binary)
		// On a machine that others use a collection may take long for other reasons.
		for attempt := 1; attempt < 5 && best > most; attempt++ {
			best = min(best, longest(name, binary))
		}
		if want.reason == FuelExhausted {
			t.Logf("%s: the longest collection took %v", name, best.Round(time.Millisecond))
		}
		if best > most && !racedetector.Enabled {
			t.Errorf("%s: a collection took %v, at most %v are allowed", name, best, most)
		}
	}
}

// TestFuelBoundsTime holds that a unit of fuel is about as long whatever it is spent
// on: what takes longest, a load from memory that no cache has, takes about twenty
// times as long as arithmetic, and nothing takes more than twice that.
func TestFuelBoundsTime(t *testing.T) {
	const most = 2 * 20
	rt := newRuntime(t)
	ctx := context.Background()
	// took is the least of a few evaluations: the machine may be busy with others.
	took := func(name string) time.Duration {
		least := time.Hour
		g := guest(t, rt, "hostile/"+name, Use{})
		d := hostileDocument(name)
		times := 4 // one fewer than what parks it
		if racedetector.Enabled {
			times = 1
		}
		for range times {
			start := cpuTime()
			_, err := g.Evaluate(ctx, d, false)
			least = min(least, cpuTime()-start)
			if ReasonOf(err) != FuelExhausted {
				t.Fatalf("%s: %v", name, err)
			}
		}
		return least
	}
	arithmetic := took("spin")
	for name, want := range hostile {
		if want.reason != FuelExhausted || want.message == "start the module: the fuel is used up" {
			continue
		}
		least := took(name)
		times := float64(least) / float64(arithmetic)
		t.Logf("%-14s %6.0f units of fuel a millisecond, %v for the default", name, DefaultFuel/(float64(least)/1e6), least.Round(time.Millisecond))
		if times > most && !racedetector.Enabled {
			t.Errorf("%s: a unit takes %.1f times as long as one of arithmetic", name, times)
		}
	}
}
