package rewrite

import (
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// TestReserve holds that fuel is fuel, wherever it was when the call began: the same is
// used, one unit too little is too little, and no more than a slice is ever at hand.
func TestReserve(t *testing.T) {
	r, err := Module(fixture.Read(t, "testdata/arithmetic.wasm"), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	m, _, err := start(engine(t), r.Binary)
	if err != nil {
		t.Fatal(err)
	}
	fuel := m.ExportedGlobal(FuelExport).(api.MutableGlobal)
	reserve := m.ExportedGlobal(ReserveExport).(api.MutableGlobal)
	left := func() int64 { return int64(fuel.Get()) + int64(reserve.Get()) }
	f := m.ExportedFunction("loops")
	run := func(slice, rest int64) error {
		fuel.Set(uint64(slice))
		reserve.Set(uint64(rest))
		_, err := f.Call(ctx, 12)
		return err
	}
	const plenty = 10 * SliceFuel
	if err := run(plenty, 0); err != nil {
		t.Fatal(err)
	}
	used := plenty - left()
	for _, c := range []struct{ slice, rest int64 }{{0, used}, {1, used - 1}, {used / 2, used - used/2}, {used, 0}, {0, plenty}, {-5, used + 5}} {
		if err := run(c.slice, c.rest); err != nil || c.slice+c.rest-left() != used {
			t.Errorf("%d and %d in reserve: %v, %d used; want %d", c.slice, c.rest, err, c.slice+c.rest-left(), used)
		}
		if int64(fuel.Get()) > max(c.slice, SliceFuel) {
			t.Errorf("%d and %d in reserve: %d are at hand", c.slice, c.rest, int64(fuel.Get()))
		}
		if c.slice+c.rest != used {
			continue
		}
		if err := run(c.slice-1, c.rest); err == nil || !strings.Contains(cause(err), "unreachable") || fuel.Get() != ^uint64(0) || reserve.Get() != 0 {
			t.Errorf("a unit too little, %d and %d: %v, %d and %d are left", c.slice-1, c.rest, err, int64(fuel.Get()), int64(reserve.Get()))
		}
	}
}
