package rewrite

import (
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

func TestFixtures(t *testing.T) { fixture.Check(t, "testdata") }

// TestFixturesTheSame calls every function of every fixture with numbers that are
// small, at the edges and beyond them.
func TestFixturesTheSame(t *testing.T) {
	numbers := []uint64{0, 1, 5, 12, 300, 65536, 1<<31 - 1, 1<<32 - 1}
	for _, path := range fixture.Names(t, "testdata") {
		binary := fixture.Read(t, path)
		rewritten, err := Module(binary, ample)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		calls, plain, metered := 0, engine(t), engine(t)
		for _, e := range rewritten.Exports {
			for seed := range numbers {
				p := startTwin(t, path, plain, metered, binary, rewritten)
				f := p.plain.ExportedFunction(e.Name)
				if f == nil {
					p.close()
					break
				}
				if (e.Name == "tree" || e.Name == "loops" || e.Name == "loop_params") && numbers[seed] > 12 {
					p.close()
					continue // for ever
				}
				if e.Name == "down" && numbers[seed] > 10_000 {
					p.close()
					continue // deeper than calls can be nested
				}
				args := make([]uint64, len(f.Definition().ParamTypes()))
				for i := range args {
					args[i] = numbers[(seed+3*i)%len(numbers)]
				}
				if e.Name == "table_grow" && args[0] > MaxTable-16 {
					p.close()
					continue // what the rewriter cuts
				}
				p.call(t, path, e.Name, args)
				p.call(t, path, e.Name, args)
				calls++
				p.close()
			}
		}
		if calls == 0 {
			t.Errorf("%s: nothing was called", path)
		}
	}
}
