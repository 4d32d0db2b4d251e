package wasm

import (
	"bytes"
	"context"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// ways is how many ways of writing to memory the fixture scribble has.
const ways = 22

// withMemory returns the module with another number of pages of memory to start with,
// fewer than 64.
func withMemory(t *testing.T, binary []byte, pages byte) []byte {
	t.Helper()
	section := []byte{5, 3, 1, 0, 1} // of one page
	if bytes.Count(binary, section) != 1 {
		t.Fatal("the module has no memory of one page")
	}
	return bytes.Replace(binary, section, append(section[:4:4], pages), 1)
}

// TestResetPutsEverythingBack writes at random, in all ways there are, and holds that
// the memory is what it was, though only what was written to is copied: at the edges of
// its units, in many of them, and where units share a bit because the guest grew before
// its first call.
func TestResetPutsEverythingBack(t *testing.T) {
	rt := newRuntime(t)
	ctx := context.Background()
	for _, pages := range []byte{1, 2, 33} {
		m, err := rt.Load(ctx, withMemory(t, fixture.Read(t, "testdata/scribble.wasm"), pages), "")
		if err != nil {
			t.Fatal(err)
		}
		pool := &m.pool
		random := rand.New(rand.NewPCG(uint64(pages), 3))
		params := map[string]any{"text": strings.Repeat("from the host ", 700)}
		changed := map[int]int{}
		var i *instance
		rounds := 1_500
		if pages > 2 {
			rounds = 300 // each compares six mebibytes
		}
		for range rounds {
			if i == nil {
				if i, err = pool.acquire(ctx, 0); err != nil {
					t.Fatal(err)
				}
			}
			before, size := pool.first.memory, len(i.memory.buf)
			if want := (3*int(pages) + 1) * 65536; size != want || len(before) != want {
				t.Fatalf("%d pages: %d bytes of memory, %d in the snapshot; want %d", pages, size, len(before), want)
			}
			i.call.begin(ctx, 0)
			i.call.params = params
			i.call.setFuel(DefaultFuel)
			way := 0
			for range 1 + random.IntN(4) {
				way = random.IntN(ways)
				n := random.IntN(40)
				if random.IntN(4) == 0 {
					n = random.IntN(9_000)
				}
				at := random.IntN(size)
				if random.IntN(2) == 0 { // near the edge of a unit
					at = at>>10<<10 + random.IntN(40) - 20
				}
				at = max(12, min(at, size-80_000-n))
				results, err := i.module.ExportedFunction("scribble").Call(&i.call, uint64(way), uint64(at), uint64(n))
				if err != nil {
					t.Fatalf("%d pages: way %d at %#x, %d: %v", pages, way, at, n, err)
				}
				if results[0] != ways {
					t.Fatalf("the fixture has %d ways, not %d", results[0], ways)
				}
			}
			if !bytes.Equal(i.memory.buf, before) {
				changed[way]++
			}
			i.call.end()
			if !i.reset() {
				t.Fatal("the instance can't be reset")
			}
			if !bytes.Equal(i.memory.buf, before) {
				at := 0
				for i.memory.buf[at] == before[at] {
					at++
				}
				t.Fatalf("%d pages: byte %#x isn't as it was, way %d was the last", pages, at, way)
			}
			if random.IntN(50) == 0 { // and instances that others are made of
				pool.release(i, random.IntN(2) == 0)
				i = nil
			}
		}
		if len(changed) < ways {
			t.Errorf("%d pages: only the ways %v have changed anything", pages, changed)
		}
		if i != nil {
			pool.release(i, true)
		}
		m.Close()
	}
}

// TestResetCopiesWhatWasWritten holds that it isn't the whole memory that is put back.
func TestResetCopiesWhatWasWritten(t *testing.T) {
	rt := newRuntime(t)
	g := guest(t, rt, "attached", Use{})
	i, err := g.module.pool.acquire(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.module.pool.release(i, true)
	if _, err := g.evaluate(context.Background(), i, &Document{Object: object(map[string]any{"state": "Attached"})}, true); err != nil {
		t.Fatal(err)
	}
	if n := bits.OnesCount64(i.written.Get() | i.call.written); n < 1 || n > 3 {
		t.Errorf("%d units of a kibibyte were written to, but the guest has little to write", n)
	}
}
