package wasm

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// TestK55_EndlessLoop: a guest that spins is stopped by its fuel, and meanwhile the
// guests of others are asked.
func TestK55_EndlessLoop(t *testing.T) {
	rt := newRuntime(t)
	spin, well := guest(t, rt, "hostile/spin", Use{}), guest(t, rt, "attached", Use{})
	var spinning atomic.Bool
	meanwhile := 0
	// With one processor for all of it the other may be late, but not each time.
	for attempt := 0; attempt < 50 && meanwhile == 0; attempt++ {
		stopped := make(chan error)
		spinning.Store(true)
		go func() {
			_, err := spin.Evaluate(context.Background(), &Document{}, true)
			spinning.Store(false)
			stopped <- err
		}()
		for spinning.Load() {
			if got, err := evaluate(t, well, map[string]any{"state": "Attached"}); err != nil || got.Decision != Done {
				t.Fatalf("while another spins: %+v, %v", got, err)
			}
			if spinning.Load() {
				meanwhile++
			}
		}
		if err := <-stopped; ReasonOf(err) != FuelExhausted {
			t.Fatalf("the guest that spins: %v", err)
		}
	}
	if meanwhile == 0 {
		t.Error("nobody was asked while a guest was spinning")
	}
}

// TestK56_BudgetPerPhase: what starts for long can be judged by with little fuel,
// and each phase has what it has from the beginning.
func TestK56_BudgetPerPhase(t *testing.T) {
	rt := newRuntime(t)
	g := guest(t, rt, "hostile/slow_start", Use{Limits: Limits{Fuel: 100}})
	for range 3 {
		if got, err := evaluate(t, g, nil); err != nil || got.Decision != Done || got.Fuel > 100 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestK60_BigObject: a field of an object of a mebibyte costs what it costs of a
// small one: nothing crosses the boundary that isn't asked for.
func TestK60_BigObject(t *testing.T) {
	g := guest(t, newRuntime(t), "attached", Use{})
	ctx := context.Background()
	small, err := evaluate(t, g, map[string]any{"state": "Attached"})
	if err != nil {
		t.Fatal(err)
	}
	d := &Document{Object: object(bigObject())}
	if big, err := g.Evaluate(ctx, d, true); err != nil || big != small {
		t.Errorf("a big object gives %+v, %v, a small one %+v", big, err, small)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := g.Evaluate(ctx, d, false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a big object", n)
	}
}

// TestK65_GrownMemoryIsGivenBack: an instance whose memory grew isn't kept.
func TestK65_GrownMemoryIsGivenBack(t *testing.T) {
	rt := newRuntime(t)
	g := guest(t, rt, "hostile/grow_content", Use{})
	before := rt.Memory()
	for range 10 {
		if _, err := evaluate(t, g, nil); err != nil {
			t.Fatal(err)
		}
		if after := rt.Memory(); after > before {
			t.Fatalf("%d bytes are kept, before it grew there were %d", after, before)
		}
	}
}

// TestK68_SizeIsConfigurable: another limit of the size, in both directions.
func TestK68_SizeIsConfigurable(t *testing.T) {
	binary := fixture.Read(t, "testdata/attached.wasm")
	// A custom section of five mebibytes.
	big := append(binary[:len(binary):len(binary)], 0, 0x80, 0x80, 0xc0, 2, 1, 'x')
	big = append(big, make([]byte, 5<<20-2)...)
	for _, c := range []struct {
		binary []byte
		limit  int64
		want   string
	}{
		{binary, int64(len(binary)), ""},
		{binary, int64(len(binary)) - 1, "more than 438 bytes; strip it (-s, --strip-all), or allow more"},
		{big, DefaultModuleSize, "more than 4194304 bytes"},
		{big, 6 << 20, ""},
	} {
		m, err := newRuntime(t, WithModuleSize(c.limit)).Load(context.Background(), c.binary, "")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes where %d are allowed: %v, want %q", len(c.binary), c.limit, err, c.want)
		}
		if m != nil {
			m.Close()
		}
	}
	if _, err := New(WithModuleSize(MaxModuleSize + 1)); err == nil {
		t.Error("a limit beyond the greatest is taken")
	}
}
