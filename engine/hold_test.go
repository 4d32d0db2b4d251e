package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// steady is done after the state was "Done" for 10 s, and failed after it was
// "Failed" for 30 s; "Broken" fails at once.
func steady() *predicate {
	return &predicate{name: "steady", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.Presence == engine.NeverExisted {
			return engine.Judgement{}
		}
		if o.Presence != engine.Present {
			return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Failed, Code: codes.Aborted, Reason: engine.ReasonObjectDeleted}}
		}
		var j engine.Judgement
		switch state := o.Object.GetAnnotations()["state"]; state {
		case "Done":
			j.Holding = []engine.Hold{{Rule: "done[0]", For: 10 * time.Second, Verdict: engine.Verdict{Decision: engine.Done, Rule: "done[0]"}}}
		case "Failed":
			j.Holding = []engine.Hold{{Rule: "failed[0]", For: 30 * time.Second, Verdict: engine.Verdict{Decision: engine.Failed, Code: codes.Internal, Reason: "Stuck", Message: "it is stuck"}}}
		case "Broken":
			j.Verdict = engine.Verdict{Decision: engine.Failed, Code: codes.Internal, Reason: "Broken"}
		}
		return j
	}}
}

func TestHold_ARuleDecidesOnceItHasHeldForItsTime(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("steady", "x"))
		s.informer.put(pod("x", "u1", "10", "Done"))
		seconds(6)
		s.informer.put(pod("x", "u1", "11", "Other")) // a flap starts anew
		s.informer.put(pod("x", "u1", "12", "Done"))
		seconds(0)
		s.informer.put(pod("x", "u1", "13", "Other"))
		seconds(0)
		s.informer.put(pod("x", "u1", "14", "Done"))
		seconds(9)
		g.pending()
		changed := pod("x", "u1", "15", "Done")
		changed.Labels = map[string]string{"unrelated": "change"}
		s.informer.put(changed)
		seconds(0.9)
		g.pending()
		seconds(0.1)
		g.done("15")
		s.nothingKept()
	}, steady())
}

func TestHold_WhatHeldBeforeWaitCounts(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		w := s.register("steady", "x")
		seconds(15)
		s.wait(w).done("10")
	}, steady())
}

func TestHold_DeletionAndOtherRulesDontWait(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		s.informer.put(pod("y", "u2", "11", "Done"))
		x, y := s.wait(s.register("steady", "x")), s.wait(s.register("steady", "y"))
		seconds(5)
		s.informer.remove("x", "12")
		x.failed(engine.ReasonObjectDeleted, "12")
		s.informer.put(pod("y", "u2", "13", "Broken"))
		y.failed("Broken", "13")
		s.nothingKept()
	}, steady())
}

func TestHold_ADeadlineSaysHowFarItIs(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Failed"))
		ctx, cancel := context.WithTimeout(s.Context(), 12*time.Second)
		defer cancel()
		g := s.waitWith(ctx, s.register("steady", "x"))
		seconds(12)
		g.ended()
		e := waitError(t, g.err)
		if e.Verdict.Reason != engine.ReasonHolding || !strings.HasPrefix(e.Explanation, "failed for 12s of 30s: it is stuck") {
			t.Fatalf("%v", e)
		}
	}, steady())
}
