package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/donewhen/donewhen/engine"
)

// doneWhen is another version of the predicate "ready": done when the state is
// the word, and failed when the object is gone.
func doneWhen(word string) *predicate {
	return &predicate{name: "ready", digest: "done when " + word, judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		v := engine.Verdict{Reason: "Other", Message: "it is not " + word}
		switch {
		case o.Presence == engine.Deleted || o.Presence == engine.Replaced:
			v = engine.Verdict{Decision: engine.Failed, Code: codes.NotFound, Reason: "GoneFor" + word}
		case o.Presence == engine.Present && o.Object.GetAnnotations()["state"] == word:
			v = engine.Verdict{Decision: engine.Done}
		}
		return engine.Judgement{Verdict: v}
	}}
}

// reloading plays a scene whose log can be read.
func reloading(t *testing.T, f func(s *scene), predicates ...*predicate) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		playIn(t, func(s *scene) {
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			s.log = logger.GetSink().(ktesting.Underlier).GetBuffer().String
			s.informer = newInformer()
			s.informer.sync("1")
			s.engine = engine.New(s.set, engine.WithLogger(logger))
			must(t, s.engine.Watch(pods, s.informer))
			must(t, s.engine.Start(t.Context()))
			f(s)
		}, predicates...)
	})
}

// operate registers a waiter for an operation.
func (s *scene) operate(operation, name string, params engine.Params) *engine.Waiter {
	s.Helper()
	w, err := s.engine.Register(engine.Request{Ref: refTo(name), Operation: operation, Params: params})
	must(s.T, err)
	s.Cleanup(w.Close)
	synctest.Wait()
	return w
}

func (s *scene) swap(set *set) {
	s.Helper()
	s.engine.Swap(set)
	synctest.Wait()
}

func (s *scene) logged(parts ...string) {
	s.Helper()
	for line := range strings.Lines(s.log()) {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(line, part)
		}
		if found {
			return
		}
	}
	s.Errorf("no line of the log has %q:\n%s", parts, s.log())
}

func bound(predicate *predicate, more func(*engine.Binding)) *set {
	return newSet(predicate).bind("Make", "ready", more)
}

func TestK33_FixingAPredicateFreesTheWaitsStuckOnIt(t *testing.T) {
	reloading(t, func(s *scene) {
		s.swap(bound(doneWhen("Daun"), nil))
		s.informer.put(pod("x", "u1", "10", "Done"))
		byOperation, byName := s.wait(s.operate("Make", "x", nil)), s.wait(s.register("ready", "x"))
		byOperation.pending()
		byName.pending()
		reads := s.informer.reads
		s.swap(bound(doneWhen("Done"), nil))
		byOperation.done("10")
		byName.done("10")
		if byName.result.Verdict.Predicate.Digest != "done when Done" {
			t.Errorf("decided by %v", byName.result.Verdict.Predicate)
		}
		if s.informer.reads == reads {
			t.Error("the newest state was not looked at")
		}
		s.logged("Moved waits to a new set", "moved=2")
		s.nothingKept()
	})
}

func TestK33_APinnedWaitKeepsItsPredicateVisibly(t *testing.T) {
	reloading(t, func(s *scene) {
		s.swap(bound(doneWhen("Daun"), nil))
		s.informer.put(pod("x", "u1", "10", "Done"))
		w := s.operate("Make", "x", nil)
		g := s.wait(w)
		s.swap(bound(doneWhen("Done"), func(b *engine.Binding) { b.InFlight = engine.Pin }))
		g.pending()
		s.logged("Moved waits", "pinned=1")
		for status := range s.engine.Waiters() {
			if status.Predicate.Digest != "done when Daun" {
				t.Errorf("the live list says %v", status.Predicate)
			}
		}
		s.wait(s.operate("Make", "x", nil)).done("10") // a new one
		s.swap(bound(doneWhen("Done"), nil))           // and now they move
		g.done("10")
	})
}

func TestG11_PinnedWithAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		next *set
		why  string
	}{
		"the operation is not bound any more": {newSet(doneWhen("Done")), "no operation"},
		"another resource": {bound(doneWhen("Done"), func(b *engine.Binding) {
			b.Resource.Resource = "nodes"
		}), "is about"},
		"a declared param is missing": {bound(&predicate{name: "ready", digest: "2", needs: "lun"}, nil), "is missing"},
		"a constant that the caller gives": {bound(doneWhen("Done"), func(b *engine.Binding) {
			b.Params = engine.Params{"mine": 2}
		}), "is a constant"},
	} {
		t.Run(name, func(t *testing.T) {
			reloading(t, func(s *scene) {
				s.swap(bound(doneWhen("Daun"), nil))
				g := s.wait(s.operate("Make", "x", engine.Params{"mine": 1}))
				h := s.wait(s.operate("Make", "y", engine.Params{"mine": 1}))
				s.swap(c.next)
				s.informer.put(pod("x", "u1", "10", "Done"))
				g.pending()
				h.pending()
				s.logged("Warning: waits stay on the predicate", c.why, "waits=2")
				s.informer.put(pod("x", "u1", "11", "Daun"))
				g.done("11")
				s.swap(bound(doneWhen("Done"), nil)) // they can move again
				s.informer.put(pod("y", "u2", "12", "Done"))
				h.done("12")
				s.nothingKept()
			})
		})
	}
	t.Run("no predicate of that name", func(t *testing.T) {
		reloading(t, func(s *scene) {
			g := s.wait(s.register("ready", "x"))
			next := newSet()
			delete(next.predicates, "ready")
			s.swap(next)
			s.logged("Warning: waits stay on the predicate", "no predicate")
			s.swap(&set{}) // nothing at all
			s.informer.put(pod("x", "u1", "10", "Done"))
			g.done("10")
		})
	})
}

func TestG11_WhatIsEqualStaysAsItIs(t *testing.T) {
	play(t, func(s *scene) {
		s.swap(newSet(steady()).bind("Make", "steady", func(b *engine.Binding) { b.Params = engine.Params{"n": 1} }))
		s.informer.put(pod("x", "u1", "10", "Done"))
		g := s.wait(s.operate("Make", "x", nil))
		seconds(6)
		next := steady()
		s.swap(newSet(next).bind("Make", "steady", func(b *engine.Binding) { b.Params = engine.Params{"n": 1} }))
		if next.calls.Load() != 0 {
			t.Error("an equal predicate judged again")
		}
		seconds(4)
		g.done("10")
	})
}

func TestG11_OtherConstantsAreAnotherPredicate(t *testing.T) {
	play(t, func(s *scene) {
		with := func(n int) *set {
			return newSet(steady()).bind("Make", "steady", func(b *engine.Binding) { b.Params = engine.Params{"n": n} })
		}
		s.swap(with(1))
		s.informer.put(pod("x", "u1", "10", "Done"))
		g := s.wait(s.operate("Make", "x", nil))
		seconds(6)
		s.swap(with(2)) // its hold times start anew
		seconds(9.9)
		g.pending()
		seconds(0.1)
		g.done("10")
	})
}

func TestG11_TheNewBindingsTimeoutStillRunsFromWait(t *testing.T) {
	play(t, func(s *scene) {
		within := func(d time.Duration) *set {
			return newSet().bind("Make", "ready", func(b *engine.Binding) { b.Timeout = d })
		}
		s.swap(within(time.Hour))
		g := s.wait(s.operate("Make", "x", nil))
		later := s.operate("Make", "x", nil) // whose Wait begins after the reload
		seconds(10)
		s.swap(within(time.Minute))
		h := s.wait(later)
		seconds(49)
		g.pending()
		seconds(1)
		g.ended()
		if e := waitError(t, g.err); e.Timeout != time.Minute {
			t.Errorf("%v", e)
		}
		s.swap(within(0))
		seconds(3600)
		h.pending()
		s.swap(within(time.Minute)) // has passed
		h.ended()
		s.nothingKept()
	})
}

func TestG11_WhatTheOldPredicateSaidBeforeWaitDoesNotCount(t *testing.T) {
	play(t, func(s *scene) {
		s.swap(newSet(doneWhen("Early")))
		s.informer.put(pod("x", "u1", "10", "Early"))
		w := s.register("ready", "x")
		s.swap(newSet(doneWhen("Late")))
		g := s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u1", "11", "Late"))
		g.done("11")
	})
}

func TestG11_DuringAnEvaluation(t *testing.T) {
	play(t, func(s *scene) {
		judging, goOn := make(chan struct{}), make(chan struct{})
		old := doneWhen("Early")
		decide := old.judge
		old.judge = func(o engine.Observation, p engine.Params) engine.Judgement {
			if o.Presence == engine.Present {
				judging <- struct{}{}
				<-goOn
			}
			return decide(o, p)
		}
		s.swap(newSet(old))
		g := s.wait(s.register("ready", "x"))
		s.informer.put(pod("x", "u1", "10", "Early"))
		<-judging
		s.engine.Swap(newSet(doneWhen("Late")))
		s.informer.put(pod("x", "u1", "11", "Early"))
		close(goOn)
		g.pending()
		s.informer.put(pod("x", "u1", "12", "Late"))
		g.done("12")
	})
}

func TestG11_AnAbsenceIsJudgedAgainToo(t *testing.T) {
	patient := func() *predicate {
		return &predicate{name: "ready", digest: "patient", judge: func(engine.Observation, engine.Params) engine.Judgement { return engine.Judgement{} }}
	}
	play(t, func(s *scene) {
		s.swap(newSet(patient()))
		for _, name := range []string{"deleted", "replaced", "written"} {
			s.informer.put(pod(name, "u1", "10", ""))
		}
		deleted, replaced := s.wait(s.register("ready", "deleted")), s.wait(s.register("ready", "replaced"))
		w := s.register("ready", "written")
		must(t, w.After(pod("written", "u1", "10", "")))
		written := s.wait(w)
		s.informer.remove("deleted", "11")
		s.informer.remove("written", "12")
		s.informer.put(pod("replaced", "u2", "13", ""))
		deleted.pending()
		replaced.pending()
		s.swap(newSet(doneWhen("Done")))
		deleted.ended()
		replaced.ended()
		written.ended()
		for _, g := range []*waiting{deleted, replaced, written} {
			if g.result == nil || g.result.Verdict.Reason != "GoneForDone" {
				t.Errorf("%s", g)
			}
		}
		s.nothingKept()
	})
}

// A waiter that is registered while sets are swapped ends up on the newest one,
// and no wait is lost.
func TestG11_RegisterDuringSwaps(t *testing.T) {
	i := newInformer()
	i.sync("1")
	e := engine.New(newSet(doneWhen("0")), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	must(t, e.Start(t.Context()))
	const last = 50
	var group sync.WaitGroup
	waiters := make(chan *engine.Waiter, 2000)
	for g := range 4 {
		group.Go(func() {
			for n := range 150 {
				w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("x", (n+g)%50)), Predicate: "ready"})
				if err != nil {
					t.Error(err)
					return
				}
				if n%2 == 0 {
					w.Done()
				}
				waiters <- w
			}
		})
	}
	for n := 1; n <= last; n++ {
		e.Swap(newSet(doneWhen(fmt.Sprint(n))))
	}
	group.Wait()
	close(waiters)
	for n := range 50 {
		i.put(pod(fmt.Sprint("x", n), fmt.Sprint("u", n), fmt.Sprint(10+n), fmt.Sprint(last)))
	}
	for w := range waiters {
		if _, err := w.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	eventually(t, "nothing kept", func() bool {
		objects, unseen, workers, tasks := e.Kept()
		return objects+unseen+workers+tasks == 0
	})
	if n := e.Paces(); n > 3 {
		t.Errorf("the engine knows of %d predicates after %d reloads", n, last)
	}
}

func TestG11_OldPredicatesAreReleasedWithTheirLastWaiter(t *testing.T) {
	i := newInformer()
	i.sync("1")
	version := 0
	// load swaps in a set, and returns weak pointers to it and its predicate.
	e := engine.New(newSet(), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	must(t, e.Start(t.Context()))
	load := func(more func(*engine.Binding)) (weak.Pointer[set], weak.Pointer[predicate]) {
		version++
		p := doneWhen(fmt.Sprint(version))
		s := bound(p, more)
		shadow := &predicate{name: "shadow", digest: fmt.Sprint(version)}
		s.bindings = append(s.bindings, &engine.Binding{Name: "shadow", Operation: "Make", Resource: pods, Predicate: shadow, Action: engine.Shadow})
		e.Swap(s)
		return weak.Make(s), weak.Make(p)
	}
	released := func(what string, gone func() bool) {
		t.Helper()
		eventually(t, what, func() bool { runtime.GC(); return gone() })
	}

	firstSet, first := load(nil)
	i.put(pod("x", "u1", "10", "Other"))
	w, err := e.Register(engine.Request{Ref: refTo("x"), Operation: "Make"})
	must(t, err)
	w.Done()
	must(t, e.Settle(t.Context()))
	secondSet, second := load(nil)
	must(t, e.Settle(t.Context()))
	released("the set that was moved from", func() bool { return firstSet.Value() == nil && first.Value() == nil })

	// The next one pins the waiter: the predicate stays, but not the rest of its set.
	thirdSet, _ := load(func(b *engine.Binding) { b.InFlight = engine.Pin })
	released("the set of a pinned waiter", func() bool { return secondSet.Value() == nil })
	if second.Value() == nil {
		t.Fatal("the predicate of a pinned waiter is gone")
	}
	w.Close()
	w = nil
	released("the predicate of the last pinned waiter", func() bool { return second.Value() == nil })
	if thirdSet.Value() == nil {
		t.Error("the set in use is gone")
	}
}
