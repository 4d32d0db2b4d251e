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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
)

func TestG12_ADeadlineSaysWhatWasStillFalse(t *testing.T) {
	play(t, func(s *scene) {
		s.set.bind("CreatePod", "ready", nil)
		s.informer.put(pod("x", "u1", "10", "Other"))
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Operation: "CreatePod"})
		must(t, err)
		ctx, cancel := context.WithTimeout(s.Context(), 4*time.Second)
		defer cancel()
		g := s.waitWith(ctx, w)
		seconds(1)
		s.informer.put(pod("x", "u1", "11", "Other\nagain"))
		seconds(3)
		g.ended()
		e := waitError(t, g.err)
		if g.result != nil || !errors.Is(g.err, context.DeadlineExceeded) || e.Code() != codes.DeadlineExceeded ||
			e.Operation != "CreatePod" || e.Predicate.Name != "ready" || e.ResourceVersion != "11" || e.Age != 3*time.Second ||
			e.Ref.UID != "u1" || !strings.Contains(e.Explanation, `the state is "Other`) || e.Verdict.Reason != "StateOther" {
			t.Fatalf("%+v", e)
		}
		want := `waiting for CreatePod on pods a/x: context deadline exceeded; the state is "Other\nagain" (reason StateOther, predicate ready, judged at resourceVersion 11, 3s before the end)`
		if e.Error() != want {
			t.Errorf("got  %s\nwant %s", e, want)
		}
		again, err := w.Wait(s.Context())
		if again != nil || err != g.err {
			t.Errorf("a later Wait returned %v, %v", again, err)
		}
		s.nothingKept()
	})
}

func TestG12_ADeadlineBeforeTheBarrierSaysWhereTheCacheIs(t *testing.T) {
	play(t, func(s *scene) {
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		defer cancel()
		s.informer.bookmark("17")
		s.informer.put(pod("stale", "u2", "18", "Done"))
		for name, want := range map[string]string{
			"x":     "the cache is at resourceVersion 18, waiting for 20",
			"stale": "the cache shows the object at resourceVersion 18, waiting for 20",
		} {
			w := s.register("ready", name)
			must(t, w.After(pod(name, "u2", "20", "")))
			g := s.waitWith(ctx, w)
			seconds(10)
			g.ended()
			if e := waitError(t, g.err); e.Verdict.Reason != engine.ReasonBeforeBarrier || e.Explanation != want || e.ResourceVersion != "" {
				t.Errorf("%s: %v", name, e)
			}
			ctx, cancel = context.WithTimeout(s.Context(), 10*time.Second)
			defer cancel()
		}
		s.nothingKept()
	})
}

func TestG12_TheBindingsTimeoutRunsFromWait(t *testing.T) {
	play(t, func(s *scene) {
		s.set.bind("CreatePod", "ready", func(b *engine.Binding) { b.Timeout = 10 * time.Second })
		request := engine.Request{Ref: refTo("x"), Operation: "CreatePod"}
		w, err := s.engine.Register(request)
		must(t, err)
		seconds(30)
		g := s.wait(w)
		seconds(9)
		g.pending()
		seconds(1)
		g.ended()
		if e := waitError(t, g.err); !errors.Is(e, context.DeadlineExceeded) || e.Timeout != 10*time.Second || !strings.Contains(e.Error(), "the binding's timeout of 10s") {
			t.Fatalf("%v", e)
		}

		w, err = s.engine.Register(request) // the same without Wait
		must(t, err)
		done := w.Done()
		if _, err := w.Result(); !errors.Is(err, engine.ErrUnfinished) {
			t.Fatalf("Result before the end: %v", err)
		}
		seconds(10)
		<-done
		if _, err := w.Result(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Result: %v", err)
		}

		w, err = s.engine.Register(request) // the caller's context wins
		must(t, err)
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g = s.waitWith(ctx, w)
		seconds(1)
		g.ended()
		if e := waitError(t, g.err); e.Timeout != 0 || !errors.Is(e, context.DeadlineExceeded) {
			t.Fatalf("%v", e)
		}
		s.nothingKept()
	})
}

func TestDone_ForCallersThatMustNotBlock(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		done := w.Done()
		s.informer.put(pod("x", "u1", "10", "Done"))
		<-done
		if r, err := w.Result(); err != nil || r.ResourceVersion != "10" {
			t.Fatalf("%v, %v", r, err)
		}
	})
}

func TestResult_TellsTheEnginesOwnShare(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		seconds(1)
		s.informer.put(pod("x", "u1", "10", "Done"))
		delivered := time.Now()
		seconds(1)
		g := s.wait(w)
		g.done("10")
		if !g.result.Delivered.Equal(delivered) || g.result.Ended.Sub(delivered) != time.Second {
			t.Fatalf("delivered %v, ended %v", g.result.Delivered, g.result.Ended)
		}
	})
}

func TestFailed_TheVerdictIsTheError(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Failed hard"))
		g := s.wait(s.register("ready", "x"))
		g.failed("StateFailed", "10")
		e := waitError(t, g.err)
		want := "predicate ready on pods a/x failed: the state is Failed hard (code Unknown, reason StateFailed, judged at resourceVersion 10, 0s before the end)"
		if e.Code() != codes.Unknown || !errors.Is(e, engine.ErrFailed) || errors.Is(e, engine.ErrJudge) || e.Error() != want {
			t.Fatalf("%v", e)
		}
	})
}

func TestG8_APanicIsAJudgesFailure(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		bad, good := s.wait(s.register("bad", "x")), s.wait(s.register("ready", "x"))
		good.done("10")
		bad.failed(engine.ReasonEvaluationError, "10")
		e := waitError(t, bad.err)
		if !errors.Is(e, engine.ErrJudge) || errors.Is(e, engine.ErrFailed) || e.Code() != codes.Internal ||
			e.Verdict.Cause != engine.CauseJudge || !strings.Contains(e.Error(), "predicate bad panicked: nil detail") {
			t.Fatalf("%v", e)
		}
	}, &predicate{name: "bad", judge: func(engine.Observation, engine.Params) engine.Judgement { panic("nil detail") }})
}

func TestErrJudge_AlsoWhenAPendingJudgeRanOutOfTime(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g := s.waitWith(ctx, s.register("broken", "x"))
		seconds(1)
		g.ended()
		if !errors.Is(g.err, engine.ErrJudge) || !errors.Is(g.err, context.DeadlineExceeded) {
			t.Fatalf("%v", g.err)
		}
	}, &predicate{name: "broken", judge: func(engine.Observation, engine.Params) engine.Judgement {
		return engine.Judgement{Verdict: engine.Verdict{Cause: engine.CauseJudge, Reason: engine.ReasonEvaluationError, Message: "no such overload"}}
	}})
}

func TestDo(t *testing.T) {
	write := func(object metav1.Object, err error) func(context.Context) (metav1.Object, error) {
		return func(context.Context) (metav1.Object, error) { return object, err }
	}
	do := func(s *scene, predicate, name string, f func(context.Context) (metav1.Object, error)) *waiting {
		g := &waiting{T: s.T, end: make(chan struct{})}
		go func() {
			g.result, g.err = s.engine.Do(s.Context(), engine.Request{Ref: refTo(name), Predicate: predicate}, f)
			close(g.end)
		}()
		synctest.Wait()
		return g
	}
	t.Run("the write's object is the barrier", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Failed before"))
			g := do(s, "ready", "x", write(pod("x", "u1", "20", ""), nil))
			g.pending()
			s.informer.put(pod("x", "u1", "21", "Done"))
			g.done("21")
			s.nothingKept()
		})
	})
	t.Run("an object that was found is a barrier too", func(t *testing.T) {
		play(t, func(s *scene) {
			found := pod("x", "u1", "20", "Done")
			s.informer.put(found)
			do(s, "ready", "x", write(found, nil)).done("20")
		})
	})
	t.Run("gone, and that is what is expected", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "20", "Other")) // the cache lags
			g := do(s, "gone", "x", write(nil, fmt.Errorf("deleting: %w", engine.ErrGone)))
			g.done("")
			if !g.result.Absent {
				t.Fatal("the result is not absent")
			}
			s.nothingKept()
		})
	})
	t.Run("gone, and that is a failure", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "20", "Done")) // the cache lags
			do(s, "ready", "x", write(nil, engine.ErrGone)).failed(engine.ReasonObjectDeleted, "")
		})
	})
	t.Run("gone, and the predicate waits on", func(t *testing.T) {
		play(t, func(s *scene) {
			g := do(s, "patient", "x", write(nil, engine.ErrGone))
			g.pending()
			s.informer.put(pod("x", "u1", "20", "Done"))
			g.done("20")
		}, &predicate{name: "patient", onDelete: &engine.Verdict{}})
	})
	t.Run("an error of the write is returned unchanged", func(t *testing.T) {
		play(t, func(s *scene) {
			cause := errors.New("conflict")
			g := do(s, "ready", "x", write(nil, cause))
			g.ended()
			if g.err != cause {
				t.Fatalf("%v", g.err)
			}
			s.nothingKept()
		})
	})
	t.Run("neither object nor error is an error", func(t *testing.T) {
		play(t, func(s *scene) {
			g := do(s, "ready", "x", write(nil, nil))
			g.ended()
			if g.err == nil || !strings.Contains(g.err.Error(), "neither an object nor an error") {
				t.Fatalf("%v", g.err)
			}
		})
	})
	t.Run("a write of another object is an error", func(t *testing.T) {
		play(t, func(s *scene) {
			g := do(s, "ready", "x", write(pod("y", "u1", "10", ""), nil))
			g.ended()
			if g.err == nil || !strings.Contains(g.err.Error(), "a/y") {
				t.Fatalf("%v", g.err)
			}
			s.nothingKept()
		})
	})
}

func TestRegister_SaysWhatIsWrong(t *testing.T) {
	play(t, func(s *scene) {
		s.set.bind("CreatePod", "ready", func(b *engine.Binding) { b.Params = engine.Params{"until": "LUN"} })
		for want, request := range map[string]engine.Request{
			`no operation "Delete"`: {Ref: refTo("x"), Operation: "Delete"},
			`no predicate "redy"`:   {Ref: refTo("x"), Predicate: "redy"},
			"both operation":        {Ref: refTo("x"), Predicate: "ready", Operation: "CreatePod"},
			"neither an operation":  {Ref: refTo("x")},
			"no name":               {Ref: refTo(""), Predicate: "ready"},
			"param \"bad\" is bad":  {Ref: refTo("x"), Predicate: "ready", Params: engine.Params{"bad": 1}},
			"constant of binding":   {Ref: refTo("x"), Operation: "CreatePod", Params: engine.Params{"until": "x"}},
		} {
			if _, err := s.engine.Register(request); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
		s.nothingKept()
	})
}

func TestSwap_OldAndNewWaitersUseTheNewSet(t *testing.T) {
	play(t, func(s *scene) {
		old := s.wait(s.register("ready", "x"))
		next := newSet()
		next.predicates["ready"].judge = func(o engine.Observation, _ engine.Params) engine.Judgement {
			if o.Presence == engine.Present && o.Object.GetAnnotations()["state"] == "New" {
				return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Done}}
			}
			return engine.Judgement{}
		}
		next.predicates["ready"].name = "ready v2"
		s.engine.Swap(next)
		young := s.wait(s.register("ready", "x"))
		s.informer.put(pod("x", "u1", "10", "New"))
		young.done("10")
		old.done("10")
	})
}
