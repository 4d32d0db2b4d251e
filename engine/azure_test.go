package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

func TestW10_AWaiterClosedWhileAnotherIsRegisteredForTheSameKey(t *testing.T) {
	e, i, _ := started(t, true)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for k := range 500 {
				old, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
				if err != nil {
					t.Error(err)
					return
				}
				var closing sync.WaitGroup
				closing.Go(old.Close)
				w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
				if err != nil {
					t.Error(err)
					return
				}
				i.put(pod("x", "u1", fmt.Sprint(10+n+4*k), "Done"))
				if _, err := w.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				closing.Wait()
				w.Close()
			}
		})
	}
	all.Wait()
	if objects, unseen, _, _ := e.Kept(); objects+unseen != 0 {
		t.Fatalf("%d objects and %d unseen are kept", objects, unseen)
	}
}

func TestW12_ASlowPredicateHoldsUpNobodyElse(t *testing.T) {
	slow := &predicate{name: "slow", judge: func(engine.Observation, engine.Params) engine.Judgement {
		time.Sleep(time.Second) // of the bubble
		return engine.Judgement{}
	}}
	play(t, func(s *scene) {
		for n := range 20 { // more than there are workers
			w, err := s.engine.Register(engine.Request{Ref: refTo(fmt.Sprint("slow", n)), Predicate: "slow"})
			must(s.T, err)
			defer w.Close()
			w.Done()
		}
		began := time.Now()
		var last time.Time
		for n := range 100 {
			w, err := s.engine.Register(engine.Request{Ref: refTo(fmt.Sprint("x", n)), Predicate: "ready"})
			must(s.T, err)
			defer w.Close()
			done := w.Done()
			s.informer.put(pod(fmt.Sprint("x", n), "u1", fmt.Sprint(10+n), "Done"))
			<-done
			last = time.Now()
		}
		if took := last.Sub(began); took >= 500*time.Millisecond {
			s.Errorf("100 others took %s beside 20 evaluations of 1s each", took)
		}
		seconds(60) // the bubble outlives the evaluations
	}, slow)
}

func TestW13_APanicIsOneWaitersInternalAndTheOthersGoOn(t *testing.T) {
	p := &predicate{name: "panics", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		var detail *corev1.PodSpec
		if o.Presence == engine.Present {
			_ = detail.NodeName // nil detail
		}
		return engine.Judgement{}
	}}
	play(t, func(s *scene) {
		bad, good := s.wait(s.register("panics", "x")), s.wait(s.register("ready", "x"))
		s.informer.put(pod("x", "u1", "10", "Other"))
		bad.ended()
		if e := waitError(s.T, bad.err); !errors.Is(e, engine.ErrJudge) || e.Code() != codes.Internal {
			s.Fatalf("the panic: %v", e)
		}
		good.pending()
		s.informer.put(pod("x", "u1", "11", "Done"))
		good.done("11")
	}, p)
}

func TestW14_NoGoroutinePerEventAndBoundedAllocations(t *testing.T) {
	const waiters, events = 500, 1000
	e, i, _ := started(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range waiters {
		w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
		must(t, err)
		defer w.Close()
		w.Done()
	}
	must(t, e.Settle(ctx))
	goroutines, most := runtime.NumGoroutine(), 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range events {
		i.put(pod("x", "u1", fmt.Sprint(10+n), "Other"))
		most = max(most, runtime.NumGoroutine()-goroutines)
		if n%10 == 0 {
			must(t, e.Settle(ctx)) // so that not all of them merge
		}
	}
	must(t, e.Settle(ctx))
	runtime.ReadMemStats(&after)
	if most > 50 { // workers and, on a slow machine, those that replace stuck ones
		t.Errorf("%d goroutines for %d waiters and %d events", most, waiters, events)
	}
	if n := (after.Mallocs - before.Mallocs) / events; n > 100 {
		t.Errorf("%d allocations per event of an object with %d waiters", n, waiters)
	}
}

func TestW19_AlreadyAbsentIsAClearResult(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("gone", "x"))
		g.done("1")
		if !g.result.Absent || g.result.Object() != nil || g.result.Peek() != nil {
			s.Fatalf("absent %t, object %v, %v", g.result.Absent, g.result.Object(), g.result.Peek())
		}
	})
}

func TestW22_AnInformerThatWasStoppedIsSaid(t *testing.T) {
	playBlind(t, func(s *watched) {
		ctx, stop := context.WithCancel(s.Context())
		go s.informer.RunWithContext(ctx)
		seconds(0)
		deadline, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
		defer cancel()
		g := s.waitWith(deadline, s.register("ready", "x"))
		stop() // the informer, not the engine
		seconds(500)
		g.pending()
		if b := s.engine.Blindness(); len(b) != 1 || b[0].String() != "cannot see objects of pods: the informer has been stopped" {
			s.Fatalf("Blindness: %v", b)
		}
		seconds(100)
		g.ended()
		if e := waitError(s.T, g.err); e.Blind == nil {
			s.Fatalf("the deadline's error: %v", e)
		}
	})
}

func TestW27_AnObjectMadeBetweenListAndWatchIsSeen(t *testing.T) {
	playBlind(t, func(s *watched) {
		var version string
		s.server.before = func() { version = s.server.write("x", "Done").ResourceVersion }
		g := s.wait(s.register("ready", "x"))
		g.pending()
		s.run()
		g.done(version)
	})
}

func TestX12_SixtySecondsThatComeAsOneRelist(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		begin := func(predicate, name string) *waiting {
			w := s.register(predicate, name)
			must(s.T, w.After(server.write(name, "Other")))
			return s.wait(w)
		}
		changed, deleted, replaced, failed := begin("ready", "changed"), begin("gone", "deleted"), begin("gone", "replaced"), begin("ready", "failed")
		server.disconnect()
		version := server.write("changed", "Done").ResourceVersion
		server.delete("deleted")
		server.delete("replaced")
		other := server.write("replaced", "Other").ResourceVersion
		server.delete("failed")
		seconds(60)
		server.reconnect(true)
		seconds(120)
		changed.done(version)
		deleted.done(fmt.Sprint(server.version))
		replaced.done(other)
		failed.failed(engine.ReasonObjectDeleted, fmt.Sprint(server.version))
	})
}

func TestX13_AResyncOfAThousandObjectsJudgesNothing(t *testing.T) {
	play(t, func(s *scene) {
		var objects []*corev1.Pod
		for n := range 1000 {
			object := pod(fmt.Sprint("x", n), fmt.Sprint("u", n), fmt.Sprint(10+n), "Other")
			objects = append(objects, object)
			s.informer.put(object)
			w, err := s.engine.Register(engine.Request{Ref: refTo(object.Name), Predicate: "ready"})
			must(s.T, err)
			defer w.Close()
			w.Done()
		}
		seconds(0)
		before := s.set.predicates["ready"].calls.Load()
		for _, object := range objects {
			s.informer.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(object, object) })
		}
		seconds(0)
		if n := s.set.predicates["ready"].calls.Load() - before; n != 0 {
			s.Errorf("%d evaluations", n)
		}
	})
}
