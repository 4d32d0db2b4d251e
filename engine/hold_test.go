package engine_test

import (
	"context"
	"fmt"
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

func TestK31_AFlapStartsTheHoldTimeAnew(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("steady", "x"))
		begin := time.Now()
		s.informer.put(pod("x", "u1", "10", "Done"))
		seconds(6)
		s.informer.put(pod("x", "u1", "11", "Other"))
		seconds(0)
		s.informer.put(pod("x", "u1", "12", "Done"))
		<-g.end
		g.done("12")
		if d := time.Since(begin); d != 16*time.Second {
			t.Errorf("done after %s", d)
		}
		s.nothingKept()
	}, steady())
}

// levels has a rule per letter in the state, each with its own hold time.
func levels() *predicate {
	return &predicate{name: "levels", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		var j engine.Judgement
		if o.Presence != engine.Present {
			return j
		}
		for n, d := range []time.Duration{20 * time.Second, 10 * time.Second, 15 * time.Second} {
			if letter := string(rune('a' + n)); strings.Contains(o.Object.GetAnnotations()["state"], letter) {
				j.Holding = append(j.Holding, engine.Hold{Rule: "failed[" + letter + "]", For: d, Verdict: engine.Verdict{Decision: engine.Failed, Code: codes.Internal, Reason: letter}})
			}
		}
		return j
	}}
}

func TestHold_EveryRuleKeepsItsOwnTime(t *testing.T) {
	for _, c := range []struct {
		name   string
		states map[int]string // from which second on
		reason string
		after  time.Duration
	}{
		{"the shortest decides", map[int]string{0: "abc"}, "b", 10 * time.Second},
		{"another rule's flap resets nothing", map[int]string{0: "ab", 8: "a", 9: "ab"}, "b", 19 * time.Second},
		{"the first of two that pass together", map[int]string{0: "a", 5: "ac"}, "a", 20 * time.Second},
		{"one that comes later", map[int]string{0: "a", 3: "ac", 4: "c", 5: "ac"}, "c", 18 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, func(s *scene) {
				g := s.wait(s.register("levels", "x"))
				begin := time.Now()
				for second := 0; second < 10; second++ {
					if state, ok := c.states[second]; ok {
						s.informer.put(pod("x", "u1", fmt.Sprint(10+second), state))
					}
					seconds(1)
				}
				<-g.end
				if d := time.Since(begin); d != c.after || g.result.Verdict.Reason != c.reason {
					t.Errorf("%s after %s; want %s after %s", g.result.Verdict.Reason, d, c.reason, c.after)
				}
			}, levels())
		})
	}
}

func TestHold_NoTimePassesWhileBlind(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		s.informer.put(pod("y", "u2", "11", "Done"))
		x, y := s.wait(s.register("steady", "x")), s.wait(s.register("steady", "y"))
		seconds(5)
		s.engine.GoBlind(pods)
		seconds(20)
		x.pending()
		y.pending()
		s.informer.put(pod("y", "u2", "12", "Other")) // the informer comes on
		seconds(1)
		x.done("10")
		y.pending()
		s.nothingKeptBut(1)
	}, steady())
}

func TestHold_ADeadlineWhileBlindSaysThatTheTimeStandsStill(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Done"))
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		g := s.waitWith(ctx, s.register("steady", "x"))
		seconds(4)
		s.engine.GoBlind(pods)
		seconds(56)
		g.ended()
		const want = "done for 4s of 10s (stands still until the engine sees the objects again): done[0]"
		if e := waitError(t, g.err); e.Explanation != want || e.Blind == nil || e.Verdict.Reason != engine.ReasonHolding {
			t.Errorf("%v", e)
		}
	}, steady())
}

func TestHold_AnotherObjectOfTheNameStartsAnew(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		w := s.register("steady", "x")
		seconds(8)
		s.informer.hold() // the change is in the store, and not delivered
		s.informer.put(pod("x", "u2", "11", "Done"))
		g := s.wait(w)
		seconds(9)
		g.pending()
		seconds(1)
		g.done("11")
	}, steady())
}

func TestHold_WhatWasDeliveredBeforeItPassedIsJudgedFirst(t *testing.T) {
	var judging, goOn chan struct{} // made in the bubble
	p := steady()
	decide := p.judge
	p.judge = func(o engine.Observation, params engine.Params) engine.Judgement {
		if o.ResourceVersion == "11" {
			close(judging)
			<-goOn
		}
		return decide(o, params)
	}
	play(t, func(s *scene) {
		judging, goOn = make(chan struct{}), make(chan struct{})
		s.informer.put(pod("x", "u1", "10", "Done"))
		g := s.wait(s.register("steady", "x"))
		seconds(9)
		s.informer.put(pod("x", "u1", "11", "Done"))
		<-judging
		s.informer.remove("x", "12")
		seconds(5) // the hold time passes while the deletion is in the mailbox
		close(goOn)
		g.failed(engine.ReasonObjectDeleted, "12")
	}, p)
}
