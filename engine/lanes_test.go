package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// taking is a predicate like "ready" whose evaluations take so long.
func taking(name string, d *atomic.Int64) *predicate {
	ready := &predicate{name: name}
	return &predicate{name: name, judge: func(o engine.Observation, p engine.Params) engine.Judgement {
		time.Sleep(time.Duration(d.Load()))
		return (&judge{predicate: ready, params: p}).decide(o)
	}}
}

// playSlow is play for predicates that sleep: in a bubble no time passes once the
// test's own goroutine is through, so it lets them sleep it off.
func playSlow(t *testing.T, f func(s *scene), predicates ...*predicate) {
	t.Helper()
	play(t, func(s *scene) {
		f(s)
		s.stop()
		seconds(60)
		s.nothingKept()
	}, predicates...)
}

func duration(d time.Duration) *atomic.Int64 {
	n := &atomic.Int64{}
	n.Store(int64(d))
	return n
}

// waitMany registers a waiter for each of the objects 0 to n-1 and lets it wait.
func (s *scene) waitMany(predicate, prefix string, n int) []*engine.Waiter {
	s.Helper()
	waiters := make([]*engine.Waiter, n)
	for i := range waiters {
		w, err := s.engine.Register(engine.Request{Ref: refTo(fmt.Sprint(prefix, i)), Predicate: predicate})
		must(s.T, err)
		s.Cleanup(w.Close)
		w.Done()
		waiters[i] = w
	}
	return waiters
}

// lag lets the waiters' objects become done one by one, in the given steps, and
// returns the 99th percentile and the maximum of the time from delivery to end.
func (s *scene) lag(waiters []*engine.Waiter, prefix string, version int, step time.Duration) (p99, most time.Duration) {
	s.Helper()
	lags := make(chan time.Duration, len(waiters))
	for i, w := range waiters {
		time.Sleep(step)
		start := time.Now()
		go func() {
			<-w.Done()
			lags <- time.Since(start)
		}()
		s.informer.put(pod(fmt.Sprint(prefix, i), fmt.Sprint("u", prefix, i), fmt.Sprint(version+i), "Done"))
	}
	var all []time.Duration
	for range waiters {
		all = append(all, <-lags)
	}
	slices.Sort(all)
	return all[len(all)*99/100], all[len(all)-1]
}

func TestW12_ASlowConditionDelaysNobodyElse(t *testing.T) {
	playSlow(t, func(s *scene) {
		s.waitMany("slow", "slow", 10)
		others := s.waitMany("ready", "x", 100)
		start := time.Now()
		for n := range 10 {
			s.informer.put(pod(fmt.Sprint("slow", n), fmt.Sprint("s", n), fmt.Sprint(10+n), "Other"))
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("the handler waited for %s", d)
		}
		// Nothing is known of the predicate yet: both workers meet it unawares.
		if _, most := s.lag(others, "x", 100, 0); most > 5*time.Millisecond {
			t.Errorf("another object was judged after %s", most)
		}
	}, taking("slow", duration(time.Second)))
}

func TestW13_APanicIsReportedToThatWaiterAndOthersGoOn(t *testing.T) {
	panicking := &predicate{name: "panicking", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.Presence == engine.Present {
			panic("nil detail")
		}
		return engine.Judgement{}
	}}
	play(t, func(s *scene) {
		bad, good := s.wait(s.register("panicking", "x")), s.wait(s.register("ready", "x"))
		s.informer.put(pod("x", "u1", "10", "Other"))
		bad.failed(engine.ReasonEvaluationError, "10")
		s.informer.put(pod("x", "u1", "11", "Done"))
		good.done("11")
		s.nothingKept()
	}, panicking)
}

func TestW14_NoGoroutinePerEvent(t *testing.T) {
	var at, most atomic.Int64
	counting := &predicate{name: "counting", judge: func(engine.Observation, engine.Params) engine.Judgement {
		if n := at.Add(1); n > most.Load() {
			most.Store(n)
		}
		runtime.Gosched()
		at.Add(-1)
		return engine.Judgement{}
	}}
	play(t, func(s *scene) {
		s.waitMany("counting", "x", 500)
		for n := range 1000 {
			for i := range 5 {
				s.informer.put(pod(fmt.Sprint("x", (n*5+i)%500), "u", fmt.Sprint(10+n), "Other"))
			}
			if _, _, workers, _ := s.engine.Kept(); workers > runtime.GOMAXPROCS(0)+1 { // and a lane
				t.Fatalf("%d workers", workers)
			}
		}
		synctest.Wait()
		if n := most.Load(); n > int64(runtime.GOMAXPROCS(0))+1 {
			t.Errorf("%d evaluations at once", n)
		}
		s.nothingKeptBut(500)
	}, counting)
}

func TestK23_AThousandObjectsWithASlowPredicateDelayNobodyElse(t *testing.T) {
	playSlow(t, func(s *scene) {
		s.waitMany("slow", "slow", 1000)
		others := s.waitMany("ready", "x", 1000)
		time.Sleep(time.Minute)
		stop := make(chan struct{})
		go func() { // 500 events/s for the slow one's objects
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
				}
				s.informer.put(pod(fmt.Sprint("slow", n%1000), fmt.Sprint("s", n%1000), fmt.Sprint(5000+n), "Other"))
			}
		}()
		p99, most := s.lag(others, "x", 100_000, 2*time.Millisecond)
		close(stop)
		if p99 > time.Millisecond || most > 5*time.Millisecond {
			t.Errorf("objects judged by another predicate were judged after %s (p99), %s (most)", p99, most)
		}
		lanes := s.engine.Lanes()
		if len(lanes) != 1 || lanes[0].Predicates[0].Name != "slow" || lanes[0].Queued < 100 {
			t.Errorf("lanes: %+v", lanes)
		}
	}, taking("slow", duration(100*time.Millisecond)))
}

func TestK37_DoneIsReportedAtTheEventWhateverHangs(t *testing.T) {
	var hang chan struct{} // made in the bubble
	hanging := &predicate{name: "hanging", judge: func(engine.Observation, engine.Params) engine.Judgement {
		<-hang
		return engine.Judgement{}
	}}
	playSlow(t, func(s *scene) {
		hang = make(chan struct{})
		s.waitMany("hanging", "hanging", 50)
		w := s.register("ready", "x")
		g := s.wait(w)
		start := time.Now()
		s.informer.put(pod("x", "u1", "100", "Done"))
		<-g.end
		g.done("100")
		if d := time.Since(start); d > 5*time.Millisecond {
			t.Errorf("done after %s", d)
		}
		close(hang)
		synctest.Wait()
		s.nothingKeptBut(50)
	}, hanging)
}

func TestLanes_ASlowPredicateIsQuickAgain(t *testing.T) {
	d := duration(10 * time.Millisecond)
	playSlow(t, func(s *scene) {
		s.register("slow", "x")
		seconds(1)
		if lanes := s.engine.Lanes(); len(lanes) != 1 || lanes[0].Queued != 0 {
			t.Errorf("lanes: %+v", lanes)
		}
		d.Store(0)
		for n := range 16 {
			if len(s.engine.Lanes()) != 1 {
				t.Errorf("quick after %d quick evaluations", n)
			}
			s.informer.put(pod("x", "u1", fmt.Sprint(10+n), "Other"))
			synctest.Wait()
		}
		if lanes := s.engine.Lanes(); len(lanes) != 0 {
			t.Errorf("lanes: %+v", lanes)
		}
	}, taking("slow", d))
}

func TestLanes_TwoSlowPredicatesOnOneObjectDontWaitForEachOther(t *testing.T) {
	playSlow(t, func(s *scene) {
		s.register("slow", "warm")
		s.register("slower", "warm")
		seconds(60)
		s.waitMany("slower", "both", 10)
		both, own := s.waitMany("slow", "both", 10), s.waitMany("slow", "own", 10)
		seconds(60)
		// The objects of the first ten have both predicates. "slow" takes 10 ms.
		for n := range 10 {
			s.informer.put(pod(fmt.Sprint("both", n), fmt.Sprint("b", n), fmt.Sprint(100+n), "Other"))
		}
		if _, most := s.lag(own, "own", 200, 0); most > 250*time.Millisecond {
			t.Errorf("an object that only the slow one judges was judged after %s", most)
		}
		_ = both
	}, taking("slow", duration(10*time.Millisecond)), taking("slower", duration(2*time.Second)))
}

func TestLanes_AQuickPredicateOnTheSameObjectIsJudgedFirst(t *testing.T) {
	playSlow(t, func(s *scene) {
		s.waitMany("slow", "x", 20)
		seconds(60)
		quick := s.waitMany("ready", "x", 20)
		seconds(60)
		if _, most := s.lag(quick, "x", 100, 0); most > 5*time.Millisecond {
			t.Errorf("judged after %s", most)
		}
		seconds(60)
		s.nothingKept()
	}, taking("slow", duration(time.Second)))
}

func TestLanes_WhatHasWaitedIsOvertakenByTheNewest(t *testing.T) {
	p := taking("slow", duration(time.Second))
	playSlow(t, func(s *scene) {
		waiters := s.waitMany("slow", "x", 10)
		seconds(60)
		before := p.calls.Load()
		for version := range 20 { // for each object twenty updates
			for n := range waiters {
				s.informer.put(pod(fmt.Sprint("x", n), fmt.Sprint("u", n), fmt.Sprint(100+version), fmt.Sprint(version)))
			}
		}
		seconds(60)
		if n := p.calls.Load() - before; n > 12 {
			t.Errorf("%d evaluations of 10 objects", n)
		}
		for n, w := range waiters {
			if status := w.Status(); status.ResourceVersion != "119" {
				t.Errorf("object %d was judged at %s", n, status.ResourceVersion)
			}
		}
	}, p)
}

func TestLanes_FairBetweenObjects(t *testing.T) {
	playSlow(t, func(s *scene) {
		s.waitMany("slow", "other", 1)
		var flood []*engine.Waiter
		for n := range 20 { // one object with twenty different params
			w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Predicate: "slow", Params: engine.Params{"n": n}})
			must(s.T, err)
			s.Cleanup(w.Close)
			flood = append(flood, w)
		}
		seconds(120)
		s.informer.put(pod("x", "u1", "100", "Other"))
		w, err := s.engine.Register(engine.Request{Ref: refTo("other0"), Predicate: "slow"})
		must(s.T, err)
		defer w.Close()
		if _, most := s.lag([]*engine.Waiter{w}, "other", 200, 0); most > 4*time.Second {
			t.Errorf("judged after %s behind one object", most)
		}
		seconds(60)
		for _, w := range flood {
			if status := w.Status(); status.ResourceVersion != "100" {
				t.Errorf("judged at %q", status.ResourceVersion)
			}
		}
	}, taking("slow", duration(time.Second)))
}

func TestLanes_AreBoundedAndShown(t *testing.T) {
	var predicates []*predicate
	for n := range 20 {
		predicates = append(predicates, taking(fmt.Sprintf("slow%02d", n), duration(10*time.Millisecond)))
	}
	playSlow(t, func(s *scene) {
		for _, p := range predicates {
			s.wait(s.register(p.name, "x"))
		}
		seconds(1)
		lanes := s.engine.Lanes()
		if len(lanes) != 17 || len(lanes[16].Predicates) != 4 || lanes[0].Predicates[0].Name != "slow00" {
			t.Fatalf("lanes: %+v", lanes)
		}
		s.informer.put(pod("x", "u1", "10", "Done"))
		seconds(1)
		s.nothingKept()
		s.swap(newSet()) // the slow ones are no more
		if lanes := s.engine.Lanes(); len(lanes) != 0 || s.engine.Paces() != 0 {
			t.Errorf("lanes: %+v, %d paces", lanes, s.engine.Paces())
		}
	}, predicates...)
}

func TestLanes_ADeadlineIsToldInTheLane(t *testing.T) {
	playSlow(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		w := s.register("slow", "x")
		seconds(10)
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		g := s.waitWith(ctx, w)
		seconds(59)
		g.pending()
		seconds(10)
		g.ended()
		if e := waitError(t, g.err); e.Explanation != `the state is "Other"` {
			t.Errorf("%v", e)
		}
		s.nothingKept()
	}, taking("slow", duration(300*time.Millisecond)))
}

// A predicate that burns a processor, by the real clock.
func TestLanes_AProcessorBurnerIsFoundOut(t *testing.T) {
	burning := &predicate{name: "burning", judge: func(engine.Observation, engine.Params) engine.Judgement {
		for start := time.Now(); time.Since(start) < 3*time.Millisecond; {
		}
		return engine.Judgement{}
	}}
	i := newInformer()
	i.sync("1")
	e := engine.New(newSet(burning), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	must(t, e.Start(t.Context()))
	for n := range 100 {
		w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("x", n)), Predicate: "burning"})
		must(t, err)
		defer w.Close()
	}
	eventually(t, "a lane", func() bool { return len(e.Lanes()) == 1 })
	w, err := e.Register(engine.Request{Ref: refTo("y"), Predicate: "ready"})
	must(t, err)
	defer w.Close()
	i.put(pod("y", "u", "10", "Done"))
	if _, err := w.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	must(t, e.Settle(t.Context()))
}
