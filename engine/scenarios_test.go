package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

func TestW1_TombstoneOfTheLastObjectIsADeletion(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		g := s.wait(s.register("gone", "x"))
		g.pending()
		s.informer.relist("30")
		g.done("30") // not at the tombstone's own, old version
	})
}

func TestW3_TheSameNameInTwoNamespaces(t *testing.T) {
	play(t, func(s *scene) {
		a, b := s.wait(s.register("ready", "a/x")), s.wait(s.register("ready", "b/x"))
		s.informer.put(pod("b/x", "u2", "10", "Done"))
		a.pending()
		b.done("10")
		s.informer.put(pod("a/x", "u1", "11", "Done"))
		a.done("11")
		if a.result.Peek().GetNamespace() != "a" {
			t.Fatal("a got the object of b")
		}
	})
}

func TestW3_OneInformerPerNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		e, a, b := engine.New(newSet()), newInformer(), newInformer()
		a.sync("1")
		b.sync("1")
		must(t, e.Watch(pods, a, engine.InNamespace("a")))
		must(t, e.Watch(pods, b, engine.InNamespace("b")))
		for _, opts := range [][]engine.WatchOption{nil, {engine.InNamespace("a")}} {
			if err := e.Watch(pods, a, opts...); err == nil {
				t.Error("the same namespace was watched twice")
			}
		}
		must(t, e.Start(ctx))
		if _, err := e.Register(engine.Request{Ref: refTo("c/x"), Predicate: "ready"}); err == nil || !strings.Contains(err.Error(), `namespace "c"`) {
			t.Errorf("a reference outside every informer: %v", err)
		}
		s := &scene{T: t, engine: e}
		g := s.wait(s.register("ready", "b/x"))
		a.put(pod("b/x", "u1", "10", "Done")) // not its business
		g.pending()
		b.put(pod("b/x", "u1", "10", "Done"))
		g.done("10")
	})
}

func TestW4_RegisteredBeforeTheObjectExists(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("ready", "x"))
		g.pending()
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
	})
}

func TestW5_EventBetweenWriteAndRegistration(t *testing.T) {
	play(t, func(s *scene) {
		written := pod("x", "u1", "10", "")
		s.informer.put(written)
		s.informer.put(pod("x", "u1", "11", "Done")) // and no further event
		w := s.register("ready", "x")
		must(t, w.After(written))
		s.wait(w).done("11")
	})
}

func TestW5_EventBetweenRegistrationAndAfter(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		written := pod("x", "u1", "10", "")
		s.informer.put(written)
		s.informer.put(pod("x", "u1", "11", "Done"))
		synctest.Wait() // the handler ran before the write returned
		s.informer.hold()
		must(t, w.After(written))
		s.wait(w).done("11")
	})
}

func TestW7_ErrorThenSuccessBeforeTheWaiterRuns(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		s.informer.put(pod("x", "u1", "10", "Failed"))
		synctest.Wait()
		s.informer.put(pod("x", "u1", "11", "Done"))
		s.wait(w).done("11")
	})
}

func TestW8_EachWaiterSeesItsOwnResult(t *testing.T) {
	const events = 20_000
	at := func(name string, low int) *predicate {
		return &predicate{name: name, judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
			v := engine.Verdict{Predicate: engine.PredicateID{Name: name}}
			var n int
			if o.Presence == engine.Present {
				_, _ = fmt.Sscan(o.Object.GetAnnotations()["state"], &n)
			}
			if n >= low {
				v.Decision = engine.Done
			}
			return engine.Judgement{Verdict: v}
		}}
	}
	play(t, func(s *scene) {
		var waits []*waiting
		for _, name := range []string{"third", "half", "all"} {
			waits = append(waits, s.wait(s.register(name, "x")))
		}
		for n := range events {
			s.informer.put(pod("x", "u1", fmt.Sprint(n+2), fmt.Sprint(n+1)))
		}
		for i, low := range []int{events / 3, events / 2, events} {
			waits[i].ended()
			var n int
			_, _ = fmt.Sscan(waits[i].result.Peek().GetAnnotations()["state"], &n)
			if waits[i].err != nil || n < low {
				t.Errorf("waiter %d ended at %d of %d, error %v", i, n, low, waits[i].err)
			}
		}
	}, at("third", events/3), at("half", events/2), at("all", events))
}

func TestW9_ClosedWaitersLeaveNothing(t *testing.T) {
	play(t, func(s *scene) {
		var waiters []*engine.Waiter
		for i := range 1000 {
			waiters = append(waiters, s.register("ready", fmt.Sprint("x", i)))
		}
		if objects, _, _, _ := s.engine.Kept(); objects != 1000 {
			t.Fatalf("%d objects are kept, want 1000", objects)
		}
		for _, w := range waiters {
			w.Close()
		}
		s.nothingKept()
	})
}

func TestW15_CloseAndWaitInAnyOrder(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		g := s.wait(w)
		w.Close()
		w.Close()
		g.ended()
		if g.result != nil || !errors.Is(g.err, engine.ErrClosed) {
			t.Fatalf("Close during Wait: %s", g)
		}
		again := s.wait(w)
		again.ended()
		if !errors.Is(again.err, engine.ErrClosed) {
			t.Fatalf("Wait after Close: %s", again)
		}
		<-w.Done()
		if err := w.After(pod("x", "u1", "10", "")); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("After after Close: %v", err)
		}
	})
}

func TestW16_AnotherUIDInOneUpdateIsADeletion(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		w := s.register("gone", "x")
		must(t, w.After(pod("x", "u1", "10", "Other")))
		g := s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u2", "20", "Other"))
		g.done("20")
		if !g.result.Absent {
			t.Fatal("the result is not absent")
		}
	})
}

func TestW18_ProgressOfADeletionDoesNotEndTheWait(t *testing.T) {
	play(t, func(s *scene) {
		object := pod("x", "u1", "10", "Other")
		object.Finalizers = []string{"a", "b"}
		s.informer.put(object)
		g := s.wait(s.register("gone", "x"))
		now := metav1.Now()
		for i, finalizers := range [][]string{{"a", "b"}, {"b"}, nil} {
			next := pod("x", "u1", fmt.Sprint(11+i), "Other")
			next.DeletionTimestamp, next.Finalizers = &now, finalizers
			s.informer.put(next)
			g.pending()
		}
		s.informer.remove("x", "14")
		g.done("14")
	})
}

func TestW20_TheCallersCopyIsItsOwn(t *testing.T) {
	play(t, func(s *scene) {
		cached := pod("x", "u1", "10", "Done")
		s.informer.put(cached)
		g := s.wait(s.register("ready", "x"))
		g.done("10")
		copied := g.result.Object().(*corev1.Pod)
		copied.Annotations["state"] = "changed"
		if cached.Annotations["state"] != "Done" {
			t.Fatal("the cache was changed")
		}
		if g.result.Object() != metav1.Object(copied) {
			t.Fatal("the copy is made more than once")
		}
		if g.result.Peek() != metav1.Object(cached) {
			t.Fatal("Peek is not the cache's object")
		}
	})
}

func TestW21_AnUnsyncedInformerShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := &scene{T: t, informer: newInformer()}
		s.engine = engine.New(newSet())
		must(t, s.engine.Watch(pods, s.informer))
		must(t, s.engine.Start(ctx))
		g := s.wait(s.register("gone", "x"))
		seconds(3)
		g.pending()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := s.engine.WaitForSync(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "pods") {
			t.Fatalf("WaitForSync: %v", err)
		}
		impatient := s.waitWith(short, s.register("gone", "x"))
		impatient.ended()
		if e := waitError(t, impatient.err); e.Verdict.Reason != engine.ReasonNotSynced || e.ResourceVersion != "" {
			t.Fatalf("the deadline before the sync: %v", e)
		}
		s.informer.sync("7") // without the object: no event comes for it
		g.done("7")
		must(t, s.engine.WaitForSync(ctx))
	})
}

func TestW22_AStoppedEngineEndsEveryWait(t *testing.T) {
	play(t, func(s *scene) {
		waits := []*waiting{s.wait(s.register("ready", "x")), s.wait(s.register("ready", "x")), s.wait(s.register("gone", "y"))}
		waits[2].done("1")
		idle := s.register("ready", "z")
		s.stop()
		for _, g := range waits[:2] {
			g.ended()
			if g.result != nil || !errors.Is(g.err, engine.ErrEngineStopped) || waitError(t, g.err).Code() != codes.Unavailable {
				t.Fatalf("the wait ended with %s", g)
			}
		}
		if _, err := idle.Result(); !errors.Is(err, engine.ErrEngineStopped) {
			t.Fatalf("a waiter that nobody waits on: %v", err)
		}
		if _, err := s.engine.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"}); !errors.Is(err, engine.ErrEngineStopped) {
			t.Fatalf("Register after the stop: %v", err)
		}
		if s.informer.handler != nil {
			t.Fatal("the handler is still there")
		}
		s.nothingKept()
	})
}

func TestW23_AResyncJudgesNothing(t *testing.T) {
	play(t, func(s *scene) {
		object := pod("x", "u1", "10", "Other")
		s.informer.put(object)
		var waits []*waiting
		for range 200 {
			waits = append(waits, s.wait(s.register("ready", "x")))
		}
		before := s.set.predicates["ready"].calls.Load()
		if before != 1 {
			t.Errorf("%d evaluations for 200 waiters on one observation, want 1", before)
		}
		for range 3 {
			s.informer.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(object, object) })
			s.informer.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(object, object.DeepCopy()) })
			synctest.Wait()
		}
		if calls := s.set.predicates["ready"].calls.Load() - before; calls != 0 {
			t.Errorf("a resync caused %d evaluations", calls)
		}
		s.informer.put(pod("x", "u1", "11", "Done"))
		for _, g := range waits {
			g.done("11")
		}
		if calls := s.set.predicates["ready"].calls.Load() - before; calls != 1 {
			t.Errorf("one event with 200 waiters caused %d evaluations", calls)
		}
	})
}

func TestW28_AResourceWithoutAnInformerIsAnError(t *testing.T) {
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	all := newSet(&predicate{name: "node", resources: []schema.GroupVersionResource{nodes}})
	all.bind("CreatePod", "ready", nil).bind("Drain", "node", func(b *engine.Binding) { b.Resource = nodes })
	e := engine.New(all)
	i := newInformer()
	must(t, e.Watch(pods, i))
	err := e.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Drain") || !strings.Contains(err.Error(), "nodes") || strings.Contains(err.Error(), "CreatePod") {
		t.Fatalf("Start: %v", err)
	}
	if i.handler != nil {
		t.Fatal("a Start that failed has started something")
	}
	all.bindings[1].Action = engine.Shadow
	must(t, e.Start(t.Context()))
	if err := e.Start(t.Context()); err == nil {
		t.Fatal("a second Start was taken")
	}
	if err := e.Watch(nodes, newInformer()); err == nil {
		t.Fatal("Watch after Start was taken")
	}
	_, err = e.Register(engine.Request{Ref: engine.Reference{Resource: nodes, Name: "n"}, Predicate: "node"})
	if err == nil || !strings.Contains(err.Error(), "no informer") {
		t.Fatalf("Register: %v", err)
	}
}

// waitError returns the *WaitError that err must be.
func waitError(t *testing.T, err error) *engine.WaitError {
	t.Helper()
	var e *engine.WaitError
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *WaitError", err, err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is not one line: %q", err)
	}
	return e
}
