package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/donewhen/donewhen/engine"
)

// BenchmarkLatency has 10,000 waits pending and ends one after the other, 2,000 a
// second: from the delivery to the handler until Wait returns.
func BenchmarkLatency(b *testing.B) {
	const pending = 10_000
	for range b.N {
		c := newCrowd(b, pending, false, func() {})
		delivered, took := make([]time.Time, pending), make([]time.Duration, pending)
		var all sync.WaitGroup
		for n, w := range c.waiters {
			all.Go(func() {
				_, err := w.Wait(b.Context())
				took[n] = time.Since(delivered[n])
				if err != nil {
					b.Error(err)
				}
			})
		}
		must(b, c.engine.Settle(b.Context()))
		tick := time.NewTicker(time.Second / 2000)
		for n, name := range c.names {
			<-tick.C
			object := pod(name, "u1", strconv.Itoa(100+n), "Done")
			delivered[n] = time.Now()
			c.handler.OnUpdate(object, object)
		}
		tick.Stop()
		all.Wait()
		slices.Sort(took)
		for _, p := range []int{50, 90, 99} {
			b.ReportMetric(float64(took[len(took)*p/100].Microseconds()), fmt.Sprintf("p%d-µs", p))
		}
		b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-µs")
	}
}

// sharers are 1,000 waits on one object with one predicate.
func sharers(tb testing.TB) (*predicate, *informer, []*engine.Waiter) {
	p := &predicate{name: "counted"}
	e, i := startedWith(tb, newSet(p))
	i.put(pod("x", "u1", "10", "Other"))
	waiters := make([]*engine.Waiter, 1000)
	for n := range waiters {
		w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "counted"})
		must(tb, err)
		w.Done()
		waiters[n] = w
	}
	must(tb, e.Settle(tb.Context()))
	p.calls.Store(0)
	return p, i, waiters
}

func TestG9_AThousandWaitersShareOneEvaluation(t *testing.T) {
	p, i, waiters := sharers(t)
	i.put(pod("x", "u1", "11", "Done"))
	for _, w := range waiters {
		<-w.Done()
	}
	if n := p.calls.Load(); n != 1 {
		t.Errorf("%d evaluations for one event, want 1", n)
	}
}

func TestG9_WaitersOfEqualParamsShareWhateverTheirOrder(t *testing.T) {
	const different = 50
	p := &predicate{name: "counted"}
	e, i := startedWith(t, newSet(p))
	i.put(pod("x", "u1", "10", "Other"))
	var waiters []*engine.Waiter
	for n := range 20 * different {
		w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "counted", Params: engine.Params{"n": n % different}})
		must(t, err)
		waiters = append(waiters, w)
		w.Done()
	}
	must(t, e.Settle(t.Context()))
	p.calls.Store(0)
	for n, state := range []string{"Other", "Done"} {
		i.put(pod("x", "u1", fmt.Sprint(11+n), state))
		must(t, e.Settle(t.Context()))
		if got := p.calls.Swap(0); got != different {
			t.Errorf("%d evaluations of %d different params", got, different)
		}
	}
	for _, w := range waiters {
		if _, err := w.Result(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkWakeAll is from one delivery until all of 1,000 waits on the object
// have ended.
func BenchmarkWakeAll(b *testing.B) {
	var cpu time.Duration
	for range b.N {
		b.StopTimer()
		_, i, waiters := sharers(b)
		runtime.GC() // the registrations' garbage isn't part of it
		b.StartTimer()
		start := cpuTime()
		i.put(pod("x", "u1", "11", "Done"))
		for _, w := range waiters {
			<-w.Done()
		}
		cpu += cpuTime() - start
	}
	b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
}
