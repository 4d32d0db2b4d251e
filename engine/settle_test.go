package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// Settle returns when what was delivered has been judged, and not before.
func TestSettle(t *testing.T) {
	judging, goOn := make(chan struct{}), make(chan struct{})
	slow := &predicate{name: "slow", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.Presence == engine.Present {
			close(judging)
			<-goOn
			return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Done}}
		}
		return engine.Judgement{}
	}}
	informer := newInformer()
	e := engine.New(newSet(slow), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, informer))
	must(t, e.Start(t.Context()))
	w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "slow"})
	must(t, err)
	defer w.Close()
	done := w.Done()
	must(t, e.Settle(t.Context()))
	if s := w.Status(); s.Ended || s.Verdict.Reason != engine.ReasonNotSynced {
		t.Errorf("before the first list: %+v", s)
	}

	informer.put(pod("x", "u", "5", "Done"))
	informer.sync("5")
	<-judging
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Settle while a predicate judges: %v, want the context's error", err)
	}
	close(goOn)
	must(t, e.Settle(t.Context()))
	select {
	case <-done:
	default:
		t.Error("settled, and the wait has not ended")
	}
	if s := w.Status(); !s.Ended || s.Err != nil || s.Verdict.Decision != engine.Done || s.ResourceVersion != "5" {
		t.Errorf("status at the end: %+v", s)
	}
}

// Status shows what the deadline's error would say, before the end and after it.
func TestStatus(t *testing.T) {
	holding := &predicate{name: "holding", judge: func(engine.Observation, engine.Params) engine.Judgement {
		return engine.Judgement{Holding: []engine.Hold{{Rule: "failed[0]", For: 10 * time.Second, Verdict: engine.Verdict{
			Decision: engine.Failed, Code: codes.Unavailable, Rule: "failed[0]", Message: "it stays down",
		}}}}
	}}
	play(t, func(s *scene) {
		w := s.register("holding", "x")
		s.wait(w)
		seconds(4)
		got := w.Status()
		if got.Ended || got.For != 10*time.Second || got.Verdict.Reason != engine.ReasonHolding || got.Verdict.Message != "failed for 4s of 10s: it stays down" {
			t.Errorf("after 4s: %+v", got)
		}
		seconds(6)
		got = w.Status()
		if !got.Ended || got.For != 10*time.Second || !errors.Is(got.Err, engine.ErrFailed) || got.Verdict.Code != codes.Unavailable {
			t.Errorf("after 10s: %+v", got)
		}
		closed := s.register("ready", "y")
		closed.Close()
		if got := closed.Status(); !got.Ended || !errors.Is(got.Err, engine.ErrClosed) {
			t.Errorf("closed: %+v", got)
		}
	}, holding)
}
