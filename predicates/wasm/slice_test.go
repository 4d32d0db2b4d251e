package wasm

import (
	"context"
	"runtime"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// TestCollectionsDontWaitForTheFuel holds that garbage collections begin and end while
// a guest burns the fuel of a start, or the most that an evaluation can have.
func TestCollectionsDontWaitForTheFuel(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"start", "initialize", "spin"} {
		collections := 0
		// With one processor for all of it they may come late, but not each time.
		for attempt := 0; attempt < 5 && collections < 3; attempt++ {
			m, err := newRuntime(t).Load(ctx, fixture.Read(t, "testdata/hostile/"+name+".wasm"), "")
			if err != nil {
				t.Fatal(err)
			}
			running, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				close(running)
				g, err := m.Guest(ctx, Use{Limits: Limits{Fuel: MaxFuel}})
				if err == nil {
					_, err = g.Evaluate(ctx, &Document{}, false)
				}
				ended <- err
			}()
			<-running
			for collections = 0; ; collections++ {
				runtime.GC()
				if len(ended) > 0 {
					break
				}
			}
			if err := <-ended; ReasonOf(err) != FuelExhausted {
				t.Fatalf("%s: %v", name, err)
			}
			m.Close()
		}
		t.Logf("%s: %d collections while it ran", name, collections)
		if collections < 3 {
			t.Errorf("%s: %d collections while it ran", name, collections)
		}
	}
}
