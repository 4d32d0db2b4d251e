package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
)

func TestG1_AfterDuringAWaitLooksAnew(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		g := s.wait(w)
		g.pending()
		s.informer.hold() // in the store, not delivered yet
		s.informer.put(pod("x", "u1", "10", "Done"))
		must(t, w.After(pod("x", "u1", "10", "")))
		g.done("10")
	})
}

// blocking returns a predicate like "ready" that judges an object's annotations
// only when it is allowed to.
func blocking() (*predicate, chan struct{}) {
	allow := make(chan struct{})
	return &predicate{name: "blocking", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.Presence != engine.Present {
			return engine.Judgement{}
		}
		<-allow
		v := engine.Verdict{}
		if o.Object.GetAnnotations()["state"] == "Done" {
			v.Decision = engine.Done
		}
		return engine.Judgement{Verdict: v}
	}}, allow
}

func TestG1_AfterDuringAnEvaluationVoidsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, allow := blocking()
		playIn(t, func(s *scene) {
			w := s.register("blocking", "x")
			g := s.wait(w)
			s.informer.put(pod("x", "u1", "10", "Done"))
			synctest.Wait() // being judged
			must(t, w.After(pod("x", "u1", "20", "")))
			close(allow)
			g.pending()
			s.informer.put(pod("x", "u1", "20", "Done"))
			g.done("20")
		}, p)
	})
}

func TestDo_GoneWhileAStaleStateIsBeingJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, allow := blocking()
		playIn(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Done")) // stale: the server has no such object
			other := s.register("blocking", "x")         // being judged
			_, err := s.engine.Do(s.Context(), engine.Request{Ref: refTo("x"), Predicate: "ready"}, func(context.Context) (metav1.Object, error) {
				s.informer.put(pod("x", "u1", "11", "Done")) // queued, and a look is asked for
				allow <- struct{}{}                          // the next round begins, and blocks again
				synctest.Wait()
				time.AfterFunc(time.Second, func() { close(allow) }) // when Do waits
				return nil, engine.ErrGone
			})
			if !errors.Is(err, engine.ErrFailed) {
				t.Fatalf("Do ended with %v, want a failure because the object is gone", err)
			}
			other.Close()
		}, p)
	})
}

// A deletion that comes after Wait was called, but before a slow judge lets Wait
// look, is one of the object that it waits for.
func TestG4_WhatComesAfterWaitHasBegunCountsBeforeItsLookToo(t *testing.T) {
	var judging, goOn chan struct{}
	held := &predicate{name: "held", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.ResourceVersion == "10" {
			judging <- struct{}{}
			<-goOn
		}
		if o.Presence == engine.Deleted {
			return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Failed, Code: codes.Aborted, Reason: engine.ReasonObjectDeleted}}
		}
		return engine.Judgement{}
	}}
	play(t, func(s *scene) {
		judging, goOn = make(chan struct{}), make(chan struct{})
		s.informer.put(pod("x", "u1", "10", ""))
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Predicate: "held"})
		must(s.T, err)
		defer w.Close()
		<-judging // before Wait
		done := w.Done()
		time.Sleep(time.Second)
		s.informer.put(pod("x", "u1", "11", ""))
		s.informer.remove("x", "12")
		close(goOn)
		<-done
		if r, err := w.Result(); err == nil || r == nil || r.Verdict.Reason != engine.ReasonObjectDeleted {
			t.Errorf("%v", err)
		}
	}, held)
}
