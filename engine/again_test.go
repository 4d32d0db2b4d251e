package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// breaking is a predicate whose judging fails, by the verdict that broken makes,
// until it is mended; then it is done when the state is "Done".
type breaking struct {
	predicate
	mended atomic.Bool
}

func newBreaking(broken engine.Decision) *breaking {
	b := &breaking{}
	b.name = "breaking"
	b.predicate.judge = func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.Presence != engine.Present {
			return engine.Judgement{}
		}
		if !b.mended.Load() {
			return engine.Judgement{Verdict: engine.Verdict{Decision: broken, Cause: engine.CauseJudge, Code: codes.Internal, Reason: engine.ReasonEvaluationError, Message: "no such overload"}}
		}
		if o.Object.GetAnnotations()["state"] == "Done" {
			return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Done}}
		}
		return engine.Judgement{}
	}
	return b
}

// judgedAt lets so many seconds pass and returns at which the predicate judged.
func (s *scene) judgedAt(p *predicate, upTo int) []int {
	var at []int
	before := p.calls.Load()
	for second := 1; second <= upTo; second++ {
		seconds(1)
		for ; before < p.calls.Load(); before++ {
			at = append(at, second)
		}
	}
	return at
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestG2_WhatCouldNotBeJudgedIsJudgedAgain(t *testing.T) {
	b := newBreaking(engine.Pending)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		g := s.wait(s.register("breaking", "x"))
		if at := s.judgedAt(&b.predicate, 1300); !equal(at, []int{1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111}) {
			t.Errorf("judged again after %v s", at)
		}
		g.pending()
		b.mended.Store(true)
		seconds(300)
		g.done("10")
		s.nothingKept()
	}, &b.predicate)
}

func TestG2_ANewerObservationEndsTheTries(t *testing.T) {
	b := newBreaking(engine.Pending)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		g := s.wait(s.register("breaking", "x"))
		s.judgedAt(&b.predicate, 10)
		s.informer.put(pod("x", "u1", "11", "Done")) // breaks it too: from 1 s again
		seconds(0)
		if at := s.judgedAt(&b.predicate, 8); !equal(at, []int{1, 3, 7}) {
			t.Errorf("judged again after %v s", at)
		}
		b.mended.Store(true)
		s.informer.put(pod("x", "u1", "12", "Other")) // judged without a failure
		seconds(0)
		if at := s.judgedAt(&b.predicate, 1000); len(at) > 0 {
			t.Errorf("judged again after %v s", at)
		}
		g.pending()
	}, &b.predicate)
}

func TestG2_AFailureToJudgeBeforeWaitIsTriedAgain(t *testing.T) {
	b := newBreaking(engine.Failed)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		s.informer.put(pod("y", "u2", "11", "Done"))
		x, y := s.register("breaking", "x"), s.register("breaking", "y")
		seconds(1)
		g := s.wait(x) // it counts as long as nothing better is known
		g.ended()
		if !errors.Is(g.err, engine.ErrJudge) {
			t.Errorf("%v", g.err)
		}
		b.mended.Store(true)
		seconds(2)
		s.wait(y).done("11")
		s.nothingKept()
	}, &b.predicate)
}

func TestG2_JudgedAgainAtOnceOnReload(t *testing.T) {
	b := newBreaking(engine.Pending)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		g := s.wait(s.register("breaking", "x"))
		seconds(200)
		g.pending()
		mended := newBreaking(engine.Pending)
		mended.digest = "mended"
		mended.mended.Store(true)
		s.swap(newSet(&mended.predicate))
		g.done("10")
	}, &b.predicate)
}

func TestG2_ManyWaitersShareATry(t *testing.T) {
	b := newBreaking(engine.Pending)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		var all []*waiting
		for range 50 {
			all = append(all, s.wait(s.register("breaking", "x")))
		}
		before := b.calls.Load()
		seconds(1)
		if n := b.calls.Load() - before; n != 1 {
			t.Errorf("%d evaluations for one try of 50 waiters", n)
		}
		b.mended.Store(true)
		seconds(2)
		for _, g := range all {
			g.done("10")
		}
	}, &b.predicate)
}

func TestG2_AClosedWaiterIsNotTriedAgain(t *testing.T) {
	b := newBreaking(engine.Pending)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		w := s.register("breaking", "x")
		g := s.wait(w)
		w.Close()
		g.ended()
		s.nothingKept()
		if at := s.judgedAt(&b.predicate, int(time.Hour/time.Second)); len(at) > 0 {
			t.Errorf("judged after %v s", at)
		}
	}, &b.predicate)
}
