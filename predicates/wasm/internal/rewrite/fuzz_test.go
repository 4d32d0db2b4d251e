package rewrite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// FuzzModule holds that any input is refused, or gives a module that the engine
// accepts if it accepts the original, and that behaves the same.
func FuzzModule(f *testing.F) {
	for _, path := range fixture.Names(f, "testdata") {
		f.Add(fixture.Read(f, path))
	}
	// Small modules of the core spec's tests: one of each file.
	names, err := filepath.Glob(filepath.Join(specDir(f), "v2", "testdata", "*.0.wasm"))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && len(data) < 2_000 {
			f.Add(data)
		}
	}
	plain, metered := engine(f), engine(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		const fuel = 200_000
		r, err := Module(data, fuel)
		if err != nil {
			return
		}
		if again, err := Module(r.Binary, fuel); err == nil || again != nil {
			t.Fatal("a rewritten module can be rewritten: its reserved exports are accepted")
		}
		ctx := context.Background()
		// The original is only run where the other came to an end by itself.
		b, compilesB, errB := start(metered, r.Binary)
		if b != nil {
			defer b.Close(ctx)
		}
		if compilesB && errB != nil && strings.Contains(cause(errB), "unreachable") {
			return // perhaps for want of fuel
		}
		a, compilesA, errA := start(plain, withoutCustom(data))
		if a != nil {
			defer a.Close(ctx)
		}
		if compilesA != compilesB {
			t.Fatalf("plain compiles: %v\nrewritten compiles: %v", errA, errB)
		}
		if errA != nil || errB != nil {
			if !compilesA {
				return
			}
			if errA == nil || errB == nil || cause(errA) != cause(errB) {
				t.Fatalf("plain starts: %v\nrewritten starts: %v", errA, errB)
			}
			return
		}
		if bytes.Contains(r.Binary, []byte{opMisc, miscTableGrow}) {
			return // the size of tables is cut, and the guest may see that
		}
		p := twin{a, b, r.WrittenShift}
		p.same(t, "start")
		room := b.ExportedGlobal(StackExport).(api.MutableGlobal)
		meter := b.ExportedGlobal(FuelExport).(api.MutableGlobal)
		for _, e := range r.Exports {
			g := b.ExportedFunction(e.Name)
			if g == nil || strings.HasSuffix(e.Type, "externref") || strings.HasSuffix(e.Type, "funcref") {
				continue
			}
			args := make([]uint64, 2*len(g.Definition().ParamTypes()))
			for i, param := range g.Definition().ParamTypes() {
				if param == api.ValueTypeI32 {
					args[i] = uint64(i + 3)
				}
			}
			args = args[:paramWords(g.Definition().ParamTypes())]
			meter.Set(fuel)
			room.Set(StackWords) // which a trap leaves where it is
			before := p.beforeCall()
			y, errY := g.Call(ctx, args...)
			if int64(meter.Get()) < 0 {
				return // the original may run for ever
			}
			if errY != nil && int64(room.Get()) < 0 {
				return // the original may nest calls as deeply as it likes
			}
			if errY != nil && strings.Contains(cause(errY), "stack overflow") {
				return // where that is depends on the size of the frames
			}
			if errY == nil {
				p.noted(t, e.Name, before)
			}
			types := g.Definition().ResultTypes()
			x, errX := a.ExportedFunction(e.Name).Call(ctx, args...)
			if one, other := outcome(x, types, errX), outcome(y, types, errY); one != other {
				t.Fatalf("%s%v gives %s plain, %s rewritten", e.Name, args, one, other)
			}
			if errY == nil && room.Get() != StackWords {
				t.Fatalf("%s%v returns with room for %d words on the stack", e.Name, args, int64(room.Get()))
			}
			p.same(t, e.Name)
		}
	})
}

// paramWords is how many words the params take: vectors take two.
func paramWords(types []api.ValueType) int {
	n := len(types)
	for _, t := range types {
		if t == typeV128 {
			n++
		}
	}
	return n
}
