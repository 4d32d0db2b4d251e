package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
)

func TestK18_WaitingForTheDeletionOfWhatNeverExisted(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("gone", "never"))
		g.done("1")
		if !g.result.Absent {
			s.Fatal("not absent")
		}
	})
	t.Run("the server says so", func(t *testing.T) {
		play(t, func(s *scene) {
			r, err := s.engine.Do(s.Context(), engine.Request{Ref: refTo("never"), Predicate: "gone"}, func(context.Context) (metav1.Object, error) {
				return nil, engine.ErrGone
			})
			if err != nil || !r.Absent {
				s.Fatalf("%v, %v", r, err)
			}
		})
	})
}

func TestK19_OnDeleteDecidesForHooksAndForOthers(t *testing.T) {
	hook := &predicate{name: "hook", onDelete: &engine.Verdict{Decision: engine.Done, Reason: "RemovedAfterwards"}}
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		asHook, asJob := s.wait(s.register("hook", "x")), s.wait(s.register("ready", "x"))
		s.informer.remove("x", "11")
		asHook.done("11")
		asJob.failed(engine.ReasonObjectDeleted, "11")

		// A terminal failure stays one: nothing is judged again.
		s.informer.put(pod("y", "u2", "20", "Failed"))
		w := s.register("ready", "y")
		failed := s.wait(w)
		failed.failed("StateFailed", "20")
		calls := s.set.predicates["ready"].calls.Load()
		s.informer.put(pod("y", "u2", "21", "Done"))
		seconds(600)
		if n := s.set.predicates["ready"].calls.Load() - calls; n != 0 {
			s.Errorf("%d more evaluations", n)
		}
		s.wait(w).failed("StateFailed", "20")
	}, hook)
}

func TestK22_WaitAndDeletionAtOnce(t *testing.T) {
	e, i, _ := started(t, true)
	for n := range 1000 {
		name := fmt.Sprint("x", n)
		written := pod(name, fmt.Sprint("u", n), fmt.Sprint(10+2*n), "Other")
		i.put(written)
		var both sync.WaitGroup
		both.Go(func() { i.remove(name, fmt.Sprint(11+2*n)) })
		w, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "gone"})
		must(t, err)
		if n%2 == 0 {
			must(t, w.After(written))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, err := w.Wait(ctx)
		cancel()
		both.Wait()
		w.Close()
		if err != nil || !r.Absent {
			t.Fatalf("run %d: %v, %v", n, r, err)
		}
	}
}

func TestK27_AFailureIsSaidAtTheEvent(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("ready", "x"))
		seconds(5)
		began := time.Now()
		s.informer.put(pod("x", "u1", "10", "Failed"))
		g.failed("StateFailed", "10")
		if !g.result.Ended.Equal(began) {
			s.Fatalf("it ended %s later", g.result.Ended.Sub(began))
		}
	})
}

func TestK29_CancelEventAndNewWaitAtOnceAlwaysEndWithAVerdict(t *testing.T) {
	e, i, _ := started(t, true)
	for n := range 500 {
		name, version := fmt.Sprint("x", n%7), fmt.Sprint(10+2*n)
		ctx, cancel := context.WithCancel(t.Context())
		old, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "ready"})
		must(t, err)
		written := pod(name, fmt.Sprint("u", n%7), version, "Other")
		must(t, old.After(written))
		var all sync.WaitGroup
		all.Go(cancel)
		all.Go(func() {
			i.put(written)
			i.put(pod(name, fmt.Sprint("u", n%7), fmt.Sprint(11+2*n), "Done"))
		})
		all.Go(func() {
			r, err := old.Wait(ctx)
			if (err == nil) == (r == nil) || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the canceled wait: %v, %v", r, err)
			}
			old.Close()
		})
		w, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "ready"})
		must(t, err)
		must(t, w.After(written))
		if r, err := w.Wait(t.Context()); err != nil || r.ResourceVersion != fmt.Sprint(11+2*n) {
			t.Fatalf("the new wait: %v, %v", r, err)
		}
		all.Wait()
		w.Close()
	}
}

func TestK32_WhatIsOlderThanTheOwnWriteIsIgnored(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		w := s.register("ready", "x")
		must(s.T, w.After(pod("x", "u1", "20", "Other")))
		g := s.wait(w)
		for _, stale := range []string{"11", "15", "19"} {
			s.informer.put(pod("x", "u1", stale, "Done"))
			g.pending()
		}
		s.informer.put(pod("x", "u1", "20", "Other"))
		g.pending()
		s.informer.put(pod("x", "u1", "21", "Done"))
		g.done("21")
	})
	t.Run("a bookmark is enough for an absence", func(t *testing.T) {
		play(t, func(s *scene) {
			w := s.register("gone", "x")
			must(s.T, w.After(pod("x", "u1", "20", "Other")))
			g := s.wait(w)
			s.informer.bookmark("19")
			seconds(5)
			g.pending()
			s.informer.bookmark("20")
			seconds(1)
			g.done("20")
		})
	})
}

func TestK34_ADetachIsDoneOnAbsenceOnly(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Attached"))
		g := s.wait(s.register("gone", "x"))
		for n, state := range []string{"Detaching", "Detached", "", "Done"} {
			s.informer.put(pod("x", "u1", fmt.Sprint(11+n), state))
			g.pending()
		}
		s.informer.remove("x", "20")
		g.done("20")
	})
}

func TestK36_ADeadlineIsNoFailureAndTheNextCallResumes(t *testing.T) {
	play(t, func(s *scene) {
		written := pod("x", "u1", "10", "Attaching")
		s.informer.put(written)
		w := s.register("ready", "x")
		must(s.T, w.After(written))
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g := s.waitWith(ctx, w)
		seconds(1)
		g.ended()
		e := waitError(s.T, g.err)
		if g.result != nil || e.Verdict.Decision != engine.Pending || e.Code() != codes.DeadlineExceeded || errors.Is(e, engine.ErrFailed) {
			s.Fatalf("the deadline: %s", g)
		}
		w.Close()

		w = s.register("ready", "x")
		must(s.T, w.After(written)) // nothing had to be written again
		g = s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u1", "11", "Done"))
		g.done("11")
	})
}
