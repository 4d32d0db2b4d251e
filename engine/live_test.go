package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

func live(e *engine.Engine) map[string]engine.WaiterStatus {
	all := map[string]engine.WaiterStatus{}
	for s := range e.Waiters() {
		all[s.Ref.Name] = s
	}
	return all
}

func TestWaiters_SaysWhereEachOneStands(t *testing.T) {
	play(t, func(s *scene) {
		s.set.bind("CreatePod", "ready", nil)
		s.informer.put(pod("x", "u1", "10", "Other"))
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Operation: "CreatePod"})
		must(s.T, err)
		defer w.Close()
		idle := s.register("ready", "idle")
		s.informer.put(pod("idle", "u2", "11", "Done"))
		behind := s.register("ready", "behind")
		must(s.T, behind.After(pod("behind", "u3", "99", "")))
		g := s.wait(w)
		seconds(3)
		s.informer.put(pod("x", "u1", "12", "Starting"))
		seconds(2)

		all := live(s.engine)
		x := all["x"]
		if x.Operation != "CreatePod" || x.Predicate.Name != "ready" || !x.Waiting || x.Age != 5*time.Second || x.Judged != 2*time.Second ||
			x.ResourceVersion != "12" || x.Ref.UID != "u1" || x.Verdict.Reason != "StateOther" || x.Verdict.Message != `the state is "Starting"` || x.Blind != nil {
			t.Errorf("x: %+v", x)
		}
		if i := all["idle"]; i.Waiting || i.Operation != "" || i.Verdict.Decision != engine.Done || i.ResourceVersion != "11" {
			t.Errorf("idle: %+v", i)
		}
		if b := all["behind"]; b.Verdict.Reason != engine.ReasonBeforeBarrier || b.ResourceVersion != "" || b.Judged != 0 || !strings.Contains(b.Verdict.Message, "waiting for 99") {
			t.Errorf("behind: %+v", b)
		}
		s.informer.put(pod("x", "u1", "13", "Done"))
		g.done("13")
		if all := live(s.engine); len(all) != 2 {
			t.Errorf("an ended waiter is in the list: %+v", all)
		}
		idle.Close()
		behind.Close()
		if all := live(s.engine); len(all) != 0 {
			t.Errorf("closed waiters are in the list: %+v", all)
		}
	})
}

func TestWaiters_SaysWhatIsBlind(t *testing.T) {
	playBlind(t, func(s *watched) {
		s.server.forbid("list")
		s.register("ready", "x")
		s.run()
		x := live(s.engine)["x"]
		if x.Blind == nil || x.Blind.Verb != "list" || !strings.Contains(x.Blind.Reason, "cannot list resource") || x.Verdict.Reason != engine.ReasonNotSynced {
			s.Errorf("%+v", x)
		}
	})
}

func TestWaiters_AsksForTextsOncePerObjectAndPredicate(t *testing.T) {
	described := 0
	p := &predicate{name: "counting", judge: func(engine.Observation, engine.Params) engine.Judgement {
		described++
		return engine.Judgement{Verdict: engine.Verdict{Reason: "Waiting", Message: "waiting"}}
	}}
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		for range 100 {
			s.wait(s.register("counting", "x"))
		}
		described = 0
		n := 0
		for status := range s.engine.Waiters() {
			if n++; status.Verdict.Message != "waiting" {
				t.Fatalf("%+v", status)
			}
		}
		if n != 100 || described != 1 {
			t.Fatalf("%d waiters, described %d times", n, described)
		}
		for range s.engine.Waiters() {
			break // a reader may stop early
		}
	}, p)
}

func TestWaiters_IsSafeWhileTheEngineRuns(t *testing.T) {
	e, i, _ := started(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				for s := range e.Waiters() {
					_ = s.Verdict.Message
				}
				_ = e.Blindness()
			}
		})
	}
	for n := range 4 {
		writers.Go(func() {
			for k := range 200 {
				name := fmt.Sprint("x", n, k%3)
				w, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "ready"})
				if err != nil {
					t.Error(err)
					return
				}
				i.put(pod(name, "u1", fmt.Sprint(10+k), "Done"))
				if _, err := w.Wait(ctx); err != nil {
					t.Error(err)
				}
				w.Close()
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
}

// The rest of recorder: what blind_test.go doesn't need.
func (r *recorder) WaiterRegistered(operation string, id engine.PredicateID) {
	r.tell("registered %s %s", operation, id)
}

func (r *recorder) WaiterEnded(e engine.WaitEnd) {
	r.tell("ended %s %s after %s", e.Operation, e.Outcome, e.Took)
}

func (r *recorder) Evaluated(e engine.Evaluation) {
	r.tell("%s %s %s", e.Purpose, e.Predicate, e.Verdict.Decision)
}
func (r *recorder) Merged(gvr schema.GroupVersionResource)  { r.tell("merged %s", gvr.Resource) }
func (r *recorder) Ignored(gvr schema.GroupVersionResource) { r.tell("ignored %s", gvr.Resource) }
func (r *recorder) VersionsWentBack(gvr schema.GroupVersionResource) {
	r.tell("back %s", gvr.Resource)
}
func (r *recorder) Swapped(digest string) { r.tell("swapped %s", digest) }

// playObserved is play with an observer.
func playObserved(t *testing.T, f func(s *scene, r *recorder)) {
	t.Helper()
	play(t, func(s *scene) {
		r := &recorder{}
		s.set.bind("CreatePod", "ready", func(b *engine.Binding) { b.Timeout = time.Minute })
		ctx, stop := context.WithCancel(s.Context())
		defer stop()
		s.informer, s.stop = newInformer(), stop
		s.informer.sync("1")
		s.engine = engine.New(s.set, engine.WithLogger(klog.Logger{}), engine.WithObserver(r))
		must(s.T, s.engine.Watch(pods, s.informer))
		must(s.T, s.engine.Start(ctx))
		f(s, r)
	})
}

func TestObserver_EveryWaiterIsToldOfOnceAtItsBeginningAndAtItsEnd(t *testing.T) {
	playObserved(t, func(s *scene, r *recorder) {
		begin := func(key string) *engine.Waiter {
			w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Operation: "CreatePod", Supersedes: key})
			must(s.T, err)
			return w
		}
		begin("").Close()
		old := begin("key")
		begin("key").Close()
		old.Close()
		s.wait(begin(""))
		seconds(60)
		canceled, cancel := context.WithCancel(s.Context())
		s.waitWith(canceled, begin(""))
		cancel()
		seconds(1)
		s.wait(begin(""))
		s.informer.put(pod("x", "u1", "10", "Failed"))
		seconds(0)
		s.informer.put(pod("x", "u1", "11", "Done"))
		s.wait(begin(""))
		begin("")
		s.stop()
		seconds(0)

		var ends []string
		for _, told := range r.told {
			if strings.HasPrefix(told, "ended ") {
				ends = append(ends, strings.TrimPrefix(told, "ended CreatePod "))
			}
		}
		sort.Strings(ends)
		want := []string{
			"Canceled after 0s", "Closed after 0s", "Closed after 0s", "Deadline after 1m0s", "Done after 0s",
			"Failed after 0s", "Stopped after 0s", "Superseded after 0s",
		}
		if !slices.Equal(ends, want) {
			t.Errorf("ends: %q, want %q", ends, want)
		}
		if n := r.count("registered CreatePod ready"); n != len(want) {
			t.Errorf("%d registered, %d ended", n, len(want))
		}
	})
}

func TestObserver_EvaluationsMergesAndTheRest(t *testing.T) {
	playObserved(t, func(s *scene, r *recorder) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g := s.waitWith(ctx, s.register("ready", "x"))
		seconds(1)
		g.ended()
		if r.count("judge ready Pending") == 0 || r.count("describe ready Pending") != 1 {
			t.Errorf("evaluations: %q", r.told)
		}
		s.informer.bookmark("5")
		s.register("ready", "y")
		if r.count("back pods") != 1 {
			t.Errorf("the versions went back: %q", r.told)
		}
		s.engine.Swap(newSet())
		if r.count("swapped digest of the set") != 2 {
			t.Errorf("the first set and a swap: %q", r.told)
		}
	})
}

func TestObserver_Merges(t *testing.T) {
	block := make(chan struct{})
	slow := &predicate{name: "slow", judge: func(engine.Observation, engine.Params) engine.Judgement {
		<-block
		return engine.Judgement{}
	}}
	r := &recorder{}
	i := newInformer()
	i.sync("1")
	e := engine.New(newSet(slow), engine.WithObserver(r), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	must(t, e.Start(t.Context()))
	w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "slow"})
	must(t, err)
	defer w.Close()
	for n := range 10 {
		i.put(pod("x", "u1", fmt.Sprint(10+n), ""))
	}
	close(block)
	// The first may be judged at once; the others came while it was.
	if n := r.count("merged pods"); n < 8 {
		t.Errorf("%d merges", n)
	}
}

func TestW25_WhatIsNoObjectIsIgnoredAndCounted(t *testing.T) {
	playObserved(t, func(s *scene, r *recorder) {
		g := s.wait(s.register("ready", "x"))
		for _, thing := range []any{nil, 42, "x", struct{}{}, cache.DeletedFinalStateUnknown{Key: "a/x", Obj: 7}, &cache.DeletedFinalStateUnknown{}} {
			s.informer.tell(func(h cache.ResourceEventHandler) { h.OnAdd(thing, false) })
			s.informer.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(thing, thing) })
			s.informer.tell(func(h cache.ResourceEventHandler) { h.OnDelete(thing) })
		}
		g.pending()
		// All three of four things, and two of each tombstone, which is no object to add.
		if n := r.count("ignored pods"); n != 16 {
			t.Errorf("%d deliveries are counted as ignored, want 16", n)
		}
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
	})
}

func BenchmarkNoWaiterObserved(b *testing.B) {
	i := newInformer()
	i.sync("1")
	e := engine.New(newSet(), engine.WithLogger(klog.Logger{}), engine.WithObserver(engine.NopObserver{}))
	must(b, e.Watch(pods, i))
	must(b, e.Start(b.Context()))
	w, err := e.Register(engine.Request{Ref: refTo("other"), Predicate: "ready"})
	must(b, err)
	defer w.Close()
	for name, objects := range deliveries() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i.handler.OnUpdate(objects[0], objects[1])
			}
		})
	}
}

func BenchmarkWaiters(b *testing.B) {
	e, i, _ := started(b, true)
	for n := range 10_000 {
		i.put(pod(fmt.Sprint("x", n), fmt.Sprint("u", n), fmt.Sprint(10+n), "Other"))
		w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("x", n)), Predicate: "ready"})
		must(b, err)
		defer w.Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range e.Waiters() {
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}
