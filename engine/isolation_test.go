package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// isolation measures what a bad predicate on 1,000 objects does to waits that
// another predicate judges: in windows with and without, one after the other.
type isolation struct {
	tb       testing.TB
	engine   *engine.Engine
	informer *informer
	bad      atomic.Bool // whether it is bad now
	version  int
}

const (
	badObjects   = 1000
	badFor       = 100 * time.Millisecond // that long an evaluation takes
	otherObjects = 1000                   // per window, that end 2,000 a second
)

// sleeping takes its time and nothing else, burning takes a processor.
func sleeping() { time.Sleep(badFor) }

func burning() {
	for end := time.Now().Add(badFor); time.Now().Before(end); {
	}
}

func newIsolation(tb testing.TB, takes func()) *isolation {
	x := &isolation{tb: tb, version: 100}
	bad := &predicate{name: "bad", judge: func(engine.Observation, engine.Params) engine.Judgement {
		if x.bad.Load() {
			takes()
		}
		return engine.Judgement{}
	}}
	x.engine, x.informer = startedWith(tb, newSet(bad))
	for n := range badObjects {
		w, err := x.engine.Register(engine.Request{Ref: refTo(fmt.Sprint("bad", n)), Predicate: "bad"})
		must(tb, err)
		tb.Cleanup(w.Close)
		w.Done()
	}
	must(tb, x.engine.Settle(tb.Context()))
	return x
}

func (x *isolation) next() string {
	x.version++
	return strconv.Itoa(x.version)
}

// awaitLane returns once the bad predicate has a lane of its own, or has none.
func (x *isolation) awaitLane(own bool) {
	x.tb.Helper()
	for deadline := time.Now().Add(time.Minute); (len(x.engine.Lanes()) > 0) != own; runtime.Gosched() {
		if time.Now().After(deadline) {
			x.tb.Fatalf("has the bad predicate a lane of its own? want %t", own)
		}
	}
}

// window returns how long after their deliveries 1,000 waits returned. The bad
// predicate's objects change too, all of them at the beginning and then one with
// every other event; in a bad window it turns bad then, and known says that the
// waits end once the engine has noticed.
func (x *isolation) window(bad, known bool) []time.Duration {
	delivered, took := make([]time.Time, otherObjects), make([]time.Duration, otherObjects)
	var all sync.WaitGroup
	for n := range otherObjects {
		w, err := x.engine.Register(engine.Request{Ref: refTo(fmt.Sprint("x", n)), Predicate: "ready"})
		must(x.tb, err)
		all.Go(func() {
			defer w.Close()
			_, err := w.Wait(x.tb.Context())
			took[n] = time.Since(delivered[n])
			if err != nil {
				x.tb.Error(err)
			}
		})
	}
	must(x.tb, x.engine.Settle(x.tb.Context()))
	x.bad.Store(bad)
	for n := range badObjects {
		x.informer.handler.OnAdd(pod(fmt.Sprint("bad", n), "u", x.next(), "Other"), false)
	}
	if known {
		x.awaitLane(bad)
	}
	tick := time.NewTicker(time.Second / 2000)
	for n := range otherObjects {
		<-tick.C
		object := pod(fmt.Sprint("x", n), "u", x.next(), "Done")
		delivered[n] = time.Now()
		x.informer.handler.OnAdd(object, false)
		x.informer.handler.OnAdd(pod(fmt.Sprint("bad", n%badObjects), "u", x.next(), "Other"), false)
	}
	tick.Stop()
	all.Wait()
	x.bad.Store(false)
	must(x.tb, x.engine.Settle(x.tb.Context()))
	return took
}

func BenchmarkIsolation(b *testing.B) {
	for _, known := range []bool{true, false} {
		for name, takes := range map[string]func(){"sleeping": sleeping, "burning": burning} {
			b.Run(fmt.Sprintf("%s/known=%t", name, known), func(b *testing.B) {
				x := newIsolation(b, takes)
				x.window(false, known)
				x.window(true, known)
				var without, with []time.Duration
				for range b.N {
					without = append(without, x.window(false, known)...)
					with = append(with, x.window(true, known)...)
				}
				slices.Sort(without)
				slices.Sort(with)
				for _, p := range []int{50, 99} {
					a, z := without[len(without)*p/100], with[len(with)*p/100]
					b.ReportMetric(float64(a.Microseconds()), fmt.Sprintf("without-p%d-µs", p))
					b.ReportMetric(float64(z.Microseconds()), fmt.Sprintf("with-p%d-µs", p))
					b.ReportMetric(float64(z)/float64(a), fmt.Sprintf("p%d-ratio", p))
				}
			})
		}
	}
}

// Others are judged while a predicate burns processors, from its first evaluation
// on, which catches every worker unawares: each of its evaluations goes on until a
// few dozen of the others have come after it has begun.
func TestG8_OthersAreJudgedWhileAPredicateBurnsProcessors(t *testing.T) {
	const workers, meanwhile, patience = 2, 30, 20 * time.Second
	var others, starved, evaluations atomic.Int64
	bad := &predicate{name: "bad", judge: func(engine.Observation, engine.Params) engine.Judgement {
		evaluations.Add(1)
		until, deadline := others.Load()+meanwhile, time.Now().Add(patience)
		for others.Load() < until {
			if time.Now().After(deadline) {
				starved.Add(1)
				break
			}
		}
		return engine.Judgement{}
	}}
	counted := &predicate{name: "counted", judge: func(engine.Observation, engine.Params) engine.Judgement {
		others.Add(1)
		return engine.Judgement{}
	}}
	i := newInformer()
	i.sync("1")
	e := engine.New(newSet(bad, counted), engine.WithWorkers(workers), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	must(t, e.Start(t.Context()))
	register := func(predicate, name string) {
		w, err := e.Register(engine.Request{Ref: refTo(name), Predicate: predicate})
		must(t, err)
		t.Cleanup(w.Close)
	}
	const badOnes = 10
	for n := range badOnes {
		register("bad", fmt.Sprint("bad", n))
	}
	for n := range meanwhile {
		register("counted", fmt.Sprint("x", n))
	}
	for version := 10; evaluations.Load() < badOnes && starved.Load() == 0; version++ {
		for n := range meanwhile {
			i.handler.OnAdd(pod(fmt.Sprint("x", n), "u", strconv.Itoa(version), "Other"), false)
		}
		for n := range badOnes {
			i.handler.OnAdd(pod(fmt.Sprint("bad", n), "u", strconv.Itoa(version), "Other"), false)
		}
	}
	if n := starved.Load(); n > 0 {
		t.Errorf("nobody else was judged for %s during %d of %d evaluations", patience, n, evaluations.Load())
	}
	others.Add(1 << 40) // lets those go that still burn
}
