package wasm

import (
	"bytes"
	"context"
	"errors"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// resident returns how much memory the process has, in bytes; 0 if nobody says.
func resident(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\nVmRSS:"))
	n, err := strconv.Atoi(strings.Fields(string(rest))[0])
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// TestK59_ManyModules: fifty modules of a mebibyte, each in use by sixteen at once,
// want 800 MiB. They get what all together may have, and the process stays below
// that, with what each module has besides.
func TestK59_ManyModules(t *testing.T) {
	const modules, workers, limit = 50, 16, 64 << 20
	rt := newRuntime(t, WithTotalMemory(limit), WithInstances(workers))
	module := fixture.Read(t, "testdata/mebibyte.wasm")
	goruntime.GC()
	before := resident(t)
	var guests []*Guest
	for i := range modules {
		m, err := rt.Load(context.Background(), variant(module, i), "")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		g, err := m.Guest(context.Background(), Use{Limits: Limits{Timeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, g)
	}
	var most atomic.Uint64
	var wg sync.WaitGroup
	var together sync.WaitGroup
	together.Add(modules * workers)
	for n := range modules * workers {
		wg.Go(func() {
			together.Done()
			together.Wait()
			for i := range 3 {
				if r, err := evaluate(t, guests[(n+7*i)%modules], map[string]any{"state": "Attached"}); err != nil || r.Decision != Done {
					t.Errorf("%+v, %v", r, err)
					return
				}
				for used := rt.Memory(); ; {
					if old := most.Load(); used <= old || most.CompareAndSwap(old, used) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	after := resident(t)
	t.Logf("%d modules: %d MiB of linear memory at most, %d MiB resident before, %d MiB after", modules, most.Load()>>20, before>>20, after>>20)
	if most.Load() > limit || most.Load() < limit/2 {
		t.Errorf("%d MiB of linear memory were in use at once, %d MiB are allowed", most.Load()>>20, limit>>20)
	}
	// What each module starts with is kept once more. The heap grows to twice what is
	// in use, and beyond that by what is allocated while the collector works.
	if bound := 5 * (limit + modules<<20); !racedetector.Enabled && before > 0 && after-before > bound {
		t.Errorf("%d MiB more are resident, at most %d MiB are expected", (after-before)>>20, bound>>20)
	}
}

// TestAtTheLimitOfAll: what doesn't fit beside what is in use is an error that says
// what is full and what to do, and is over once there is room.
func TestAtTheLimitOfAll(t *testing.T) {
	rt := newRuntime(t, WithTotalMemory(2<<20))
	module := fixture.Read(t, "testdata/mebibyte.wasm")
	ctx := context.Background()
	var guests []*Guest
	for i := range 3 {
		m, err := rt.Load(ctx, variant(module, i), "")
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		g, err := m.Guest(ctx, Use{Limits: Limits{Timeout: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, g)
	}
	var busy []*instance
	for _, g := range guests[:2] {
		i, err := g.module.pool.acquire(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		busy = append(busy, i)
	}
	_, err := evaluate(t, guests[2], nil)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != MemoryLimit {
		t.Fatalf("with all memory in use: %v", err)
	}
	for _, word := range []string{"1024 KiB", "2048 KiB", "are in use", "a timeout, within which it waits", "--wasm-memory"} {
		if !strings.Contains(e.Message, word) {
			t.Errorf("%q doesn't say %q", e.Message, word)
		}
	}
	guests[0].module.pool.release(busy[0], true)
	if _, err := evaluate(t, guests[2], nil); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	guests[1].module.pool.release(busy[1], true)
}
