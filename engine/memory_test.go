package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

// crowd is a great many waits, one per object.
type crowd struct {
	engine   *engine.Engine
	informer *informer
	handler  cache.ResourceEventHandler
	names    []string // the callers'
	waiters  []*engine.Waiter
}

// newCrowd registers n waits on n objects that share one body, and has them
// judged. before is called when everything is there that callers and informer
// have anyway.
func newCrowd(tb testing.TB, n int, wait bool, before func()) *crowd {
	tb.Helper()
	c := &crowd{names: make([]string, n), waiters: make([]*engine.Waiter, n)}
	c.engine, c.informer, c.handler = started(tb, true)
	body := pod("body", "u1", "11", "Other")
	for i := range c.names {
		c.names[i] = "pvc-" + strconv.Itoa(i)
		c.informer.items["a/"+c.names[i]] = body
	}
	before()
	for i, name := range c.names {
		w, err := c.engine.Register(engine.Request{Ref: engine.Reference{Resource: pods, Namespace: "a", Name: name}, Predicate: "ready"})
		must(tb, err)
		if c.waiters[i] = w; wait {
			w.Done()
		}
	}
	must(tb, c.engine.Settle(tb.Context()))
	return c
}

func (c *crowd) close() {
	for _, w := range c.waiters {
		w.Close()
	}
	clear(c.waiters)
}

// heap returns the bytes of the live heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// perWaiter measures a crowd: the heap per pending wait, and what is left of it
// once all are closed.
func perWaiter(tb testing.TB, n int, wait bool) (pending, left float64) {
	var before uint64
	c := newCrowd(tb, n, wait, func() { before = heap() })
	pending = float64(int64(heap()-before)) / float64(n)
	c.close()
	must(tb, c.engine.Settle(tb.Context()))
	left = float64(int64(heap()-before)) / float64(n)
	runtime.KeepAlive(c)
	return pending, left
}

// The bars are twice what was measured when they were set.
func TestMemory_OfAPendingWait(t *testing.T) {
	const n = 20_000
	for _, bar := range []struct {
		name  string
		wait  bool
		bytes float64
	}{{"registered", false, 800}, {"waited for", true, 1000}} {
		t.Run(bar.name, func(t *testing.T) {
			pending, left := perWaiter(t, n, bar.wait)
			t.Logf("%d waits on %d objects: %.0f B each, %.1f B each after Close", n, n, pending, left)
			if pending > bar.bytes {
				t.Errorf("a pending wait takes %.0f B, want at most %.0f", pending, bar.bytes)
			}
			// A map keeps its buckets: G10 is about entries, and Kept counts those.
			if left > 100 {
				t.Errorf("a closed wait leaves %.0f B behind", left)
			}
		})
	}
}

// crowdSize is how many waits the big benchmarks have: a million, or what
// DONEWHEN_CROWD says.
func crowdSize(tb testing.TB) int {
	tb.Helper()
	s := os.Getenv("DONEWHEN_CROWD")
	if s == "" {
		return 1_000_000
	}
	n, err := strconv.Atoi(s)
	must(tb, err)
	return n
}

// BenchmarkCrowdMemory measures the heap of pending waits; ns/op means nothing.
func BenchmarkCrowdMemory(b *testing.B) {
	n := crowdSize(b)
	for _, wait := range []bool{false, true} {
		b.Run(fmt.Sprintf("waits=%d/begun=%t", n, wait), func(b *testing.B) {
			var pending, left float64
			for range b.N {
				pending, left = perWaiter(b, n, wait)
			}
			b.ReportMetric(pending, "B/wait")
			b.ReportMetric(left, "B/closed")
		})
	}
}
