package wasm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// variant returns the module with another text in its data, which makes it another
// one, for the engine too.
func variant(module []byte, n int) []byte {
	return bytes.ReplaceAll(module, []byte("the disk"), fmt.Appendf(nil, "%08d", n))
}

// held is what the process has of all that a leak would add to.
type held struct {
	heap, code, files, goroutines int
}

// holds returns what the process has once everything that can go is gone.
func holds(t testing.TB) held {
	t.Helper()
	for range 3 { // finalizers and cleanups need another one
		goruntime.GC()
	}
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return held{int(m.HeapAlloc), codeBytes(t), files(t), goruntime.NumGoroutine()}
}

// codeBytes returns how many bytes of the process are code that no file has: compiled
// modules. There are none to be counted but on Linux.
func codeBytes(t testing.TB) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil && goruntime.GOOS == "linux" {
		t.Fatal(err)
	}
	bytes := 0
	for line := range strings.Lines(string(maps)) {
		var from, to int
		fields := strings.Fields(line) // place, access, offset, device, inode, name
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &from, &to); err != nil {
			continue // higher than an int reaches: the kernel's
		}
		if strings.Contains(fields[1], "x") && fields[4] == "0" && len(fields) == 5 {
			bytes += to - from
		}
	}
	return bytes
}

func files(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && goruntime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(list)
}

// TestK62_Reloads: loading and closing again and again leaves nothing behind.
func TestK62_Reloads(t *testing.T) {
	n := 500
	if racedetector.Enabled {
		n = 100
	}
	reloads(t, n)
}

// reloads loads, uses and closes n modules, all of them different, and then as many
// again: what the process holds is the same.
func reloads(t *testing.T, n int) {
	rt := newRuntime(t)
	module := fixture.Read(t, "testdata/attached.wasm")
	ctx := context.Background()
	next := 0
	round := func() held {
		t.Helper()
		var before *Module // is closed after the next one is there, as in a reload
		for range n {
			next++
			m, err := rt.Load(ctx, variant(module, next), "")
			if err != nil {
				t.Fatal(err)
			}
			g, err := m.Guest(ctx, Use{})
			if err != nil {
				t.Fatal(err)
			}
			if r, err := evaluate(t, g, map[string]any{"state": "Attached"}); err != nil || r.Decision != Done {
				t.Fatalf("module %d: %+v, %v", next, r, err)
			}
			if before != nil {
				before.Close()
			}
			before = m
		}
		before.Close()
		if got := rt.loaded(); got != 0 || rt.Memory() != 0 {
			t.Fatalf("%d modules and %d bytes are left", got, rt.Memory())
		}
		return holds(t)
	}
	first := round()
	second := round()
	t.Logf("%d reloads: %+v, as many again: %+v", n, first, second)
	// Half the smallest thing that is kept of a module would be more than this.
	if second.heap > first.heap+n*100 || second.goroutines > first.goroutines || second.files > first.files || second.code > first.code+1<<20 {
		t.Errorf("after %d reloads there are %+v, after as many again %+v", n, first, second)
	}
}
