package wasm

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/internal/racedetector"
)

// outcome is all that comes of an evaluation.
type outcome struct {
	result Result
	fuel   int64
	err    string
}

// judged evaluates on any instance, whether the guest is parked or not.
func judged(t testing.TB, g *Guest, d *Document) outcome {
	t.Helper()
	ctx := klog.NewContext(context.Background(), logr.Discard())
	i, err := g.module.pool.acquire(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, e := g.evaluate(ctx, i, d, true)
	o := outcome{result: r, fuel: i.fuelUsed(g.limits.Fuel)}
	if e != nil {
		o.err = string(e.Reason) + ": " + e.Message
	}
	g.module.pool.release(i, e == nil || e.Reason == GuestError)
	return o
}

// TestStatelessWhenHostile asks the hostile guests in random order across instances:
// each always gives the same, for the same fuel, whatever it and others did before.
func TestStatelessWhenHostile(t *testing.T) {
	const workers = 4
	rounds := 1_000 // of each guest
	if racedetector.Enabled {
		rounds = 40
	}
	rt := newRuntime(t, WithInstances(workers))
	type asked struct {
		name string
		*Guest
	}
	document := &Document{Object: object(map[string]any{"state": "Attaching"})}
	var guests []asked
	for name, want := range hostile {
		switch want.reason {
		case ModuleInvalid, ImportDenied, AbiMismatch:
			continue
		}
		if name == "one_gigabyte" || name == "nine_megabytes" || len(want.message) > 5 && want.message[:5] == "start" {
			continue // they don't start
		}
		if name == "chase" || name == "grow" || name == "grow_content" {
			continue // their megabytes take too long
		}
		limits := Limits{}
		if want.reason == FuelExhausted {
			limits.Fuel = 20_000 // where it stops is the same with little
		}
		guests = append(guests, asked{name, guest(t, rt, "hostile/"+name, Use{Limits: limits})})
	}
	var mu sync.Mutex
	first := map[string]outcome{}
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(worker)))
			order := slices.Clone(guests)
			for range rounds / workers {
				random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				for _, g := range order {
					got := judged(t, g.Guest, document)
					mu.Lock()
					if want, ok := first[g.name]; ok && got != want {
						t.Errorf("%s gives %+v, at first it gave %+v", g.name, got, want)
					}
					first[g.name] = got
					mu.Unlock()
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	wg.Wait()
	if len(first) < 50 {
		t.Errorf("only %d guests were asked", len(first))
	}
	for _, g := range guests {
		if first[g.name].fuel == 0 {
			t.Errorf("%s used no fuel", g.name)
		}
	}
}
