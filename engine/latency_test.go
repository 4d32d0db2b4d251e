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
// second: from the delivery to the handler until Wait returns. Beside it is the
// floor, in the same run and at the same pace: a goroutine is started that closes
// the channel of one of 10,000 that wait, and no engine.
func BenchmarkLatency(b *testing.B) {
	for range b.N {
		c := newCrowd(b, pendingWaits, false, func() {})
		engine := newLatencies()
		for n, w := range c.waiters {
			engine.all.Go(func() {
				_, err := w.Wait(b.Context())
				engine.returned(n)
				if err != nil {
					b.Error(err)
				}
			})
		}
		must(b, c.engine.Settle(b.Context()))
		engine.run(func(n int, delivered func()) {
			object := pod(c.names[n], "u1", strconv.Itoa(100+n), "Done")
			delivered()
			c.handler.OnUpdate(object, object)
		})
		engine.report(b, "")
		handOver().report(b, "floor-")
	}
}

const pendingWaits = 10_000

// latencies are how long after their deliveries waits have returned.
type latencies struct {
	delivered [pendingWaits]time.Time
	took      [pendingWaits]time.Duration
	all       sync.WaitGroup
}

func newLatencies() *latencies { return &latencies{} }

func (l *latencies) returned(n int) { l.took[n] = time.Since(l.delivered[n]) }

// run has one delivered after the other, and waits for all to return.
func (l *latencies) run(deliver func(n int, delivered func())) {
	tick := time.NewTicker(time.Second / 2000)
	defer tick.Stop()
	for n := range pendingWaits {
		<-tick.C
		deliver(n, func() { l.delivered[n] = time.Now() })
	}
	l.all.Wait()
}

func (l *latencies) report(b *testing.B, of string) {
	slices.Sort(l.took[:])
	for _, p := range []float64{50, 90, 99, 99.9} {
		b.ReportMetric(float64(l.took[int(pendingWaits*p/100)].Microseconds()), fmt.Sprintf("%sp%v-µs", of, p))
	}
	b.ReportMetric(float64(l.took[pendingWaits-1].Microseconds()), of+"max-µs")
}

// handOver measures the floor.
func handOver() *latencies {
	l, done := newLatencies(), make([]chan struct{}, pendingWaits)
	for n := range done {
		done[n] = make(chan struct{})
		l.all.Go(func() {
			<-done[n]
			l.returned(n)
		})
	}
	l.run(func(n int, delivered func()) {
		object := pod("x", "u1", strconv.Itoa(100+n), "Done")
		delivered()
		go func() {
			if object.Annotations["state"] == "Done" {
				close(done[n])
			}
		}()
	})
	return l
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
