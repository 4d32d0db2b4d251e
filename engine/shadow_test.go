package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// shadowed binds "Make" to doneWhen("Done"), and these predicates as its shadows.
func shadowed(shadows ...*predicate) *set {
	s := bound(doneWhen("Done"), nil)
	for _, p := range shadows {
		s.bindings = append(s.bindings, &engine.Binding{Name: "shadow-" + p.name, Operation: "Make", Resource: pods, Predicate: p, Action: engine.Shadow})
	}
	return s
}

func early() *predicate {
	p := doneWhen("Early")
	p.name = "early"
	return p
}

func TestShadow_DisagreesButNeverDecides(t *testing.T) {
	reloading(t, func(s *scene) {
		s.swap(shadowed(early()))
		w := s.operate("Make", "x", nil)
		g := s.wait(w)
		disagree := func(n int) {
			t.Helper()
			synctest.Wait()
			if w.Disagreements() != n || s.engine.Disagreements() != int64(n) {
				t.Errorf("%d disagreements of the wait, %d of the engine; want %d", w.Disagreements(), s.engine.Disagreements(), n)
			}
		}
		s.informer.put(pod("x", "u1", "10", "Other"))
		disagree(0) // both pending, with different words
		s.informer.put(pod("x", "u1", "11", "Early"))
		disagree(1)
		g.pending()
		s.logged("A shadow binding disagrees", `reference="pods a/x"`, `resourceVersion="11"`, `binding="shadow-early"`,
			`verdict="Pending"`, `message="it is not Done"`, `shadowVerdict="Done"`)
		s.informer.put(pod("x", "u1", "11", "Early")) // a resync
		disagree(1)
		s.informer.put(pod("x", "u1", "12", "Done"))
		g.done("12")
		disagree(2) // the shadow would have waited on
		s.logged(`verdict="Done"`, `shadowVerdict="Pending"`, `shadowMessage="it is not Early"`)
		s.nothingKept()
	})
}

func TestShadow_OfManyWaitersOneEvaluation(t *testing.T) {
	p := early()
	play(t, func(s *scene) {
		s.swap(shadowed(p))
		var waiters []*engine.Waiter
		for range 20 {
			waiters = append(waiters, s.operate("Make", "x", nil))
		}
		before := p.calls.Load()
		s.informer.put(pod("x", "u1", "10", "Early"))
		synctest.Wait()
		for _, w := range waiters {
			if w.Disagreements() != 1 {
				t.Errorf("%d disagreements", w.Disagreements())
			}
		}
		if n := p.calls.Load() - before; n != 1 || s.engine.Disagreements() != 1 {
			t.Errorf("%d evaluations, %d disagreements of the engine", n, s.engine.Disagreements())
		}
	})
}

func TestShadow_OfFailures(t *testing.T) {
	failing := func(name string, code codes.Code, cause engine.Cause) *predicate {
		return &predicate{name: name, judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
			if o.Presence != engine.Deleted {
				return engine.Judgement{}
			}
			return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Failed, Code: code, Cause: cause, Reason: "Other"}}
		}}
	}
	for _, c := range []struct {
		shadow *predicate
		want   int
	}{
		{failing("same", codes.NotFound, engine.CauseOperation), 0}, // other words only
		{failing("code", codes.Aborted, engine.CauseOperation), 1},
		{failing("broken", codes.NotFound, engine.CauseJudge), 1},
		{&predicate{name: "panics", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
			if o.Presence == engine.Deleted {
				panic("boom")
			}
			return engine.Judgement{}
		}}, 1},
	} {
		t.Run(c.shadow.name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.swap(shadowed(c.shadow))
				s.informer.put(pod("x", "u1", "10", "Other"))
				w := s.operate("Make", "x", nil)
				g := s.wait(w)
				s.informer.remove("x", "11")
				g.failed("GoneForDone", "11")
				if n := w.Disagreements(); n != c.want {
					t.Errorf("%d disagreements, want %d", n, c.want)
				}
			})
		})
	}
}

func TestShadow_HoldTimesAreTakenAsPassed(t *testing.T) {
	play(t, func(s *scene) {
		s.swap(shadowed(steady()))
		w := s.operate("Make", "x", nil)
		g := s.wait(w)
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
		if n := w.Disagreements(); n != 0 {
			t.Errorf("%d disagreements", n)
		}
	})
}

func TestShadow_AReloadReplacesItAndTheCountGoesOn(t *testing.T) {
	play(t, func(s *scene) {
		s.swap(shadowed(early()))
		w := s.operate("Make", "x", nil)
		g := s.wait(w)
		s.informer.put(pod("x", "u1", "10", "Early"))
		synctest.Wait()
		s.swap(shadowed()) // no shadow any more
		s.informer.put(pod("x", "u1", "11", "Early"))
		synctest.Wait()
		if n := w.Disagreements(); n != 1 {
			t.Errorf("%d disagreements", n)
		}
		late := doneWhen("Late")
		late.name, late.digest = "late", "late"
		s.swap(shadowed(early(), late))
		s.informer.put(pod("x", "u1", "12", "Late"))
		g.pending()
		if n := w.Disagreements(); n != 2 {
			t.Errorf("%d disagreements", n)
		}
	})
}

func TestShadow_OneThatCannotBeBoundIsLeftOutWithAWarning(t *testing.T) {
	reloading(t, func(s *scene) {
		s.swap(shadowed(&predicate{name: "needy", needs: "lun"}, early()))
		w := s.operate("Make", "x", nil)
		s.operate("Make", "y", nil)
		s.logged("Warning: a shadow binding is not judged", `binding="shadow-needy"`)
		s.informer.put(pod("x", "u1", "10", "Early"))
		synctest.Wait()
		if n := w.Disagreements(); n != 1 {
			t.Errorf("%d disagreements", n)
		}
	})
}

func TestShadow_ASlowOneHoldsNothingUp(t *testing.T) {
	slow := &predicate{name: "slow", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		time.Sleep(time.Second)
		return engine.Judgement{}
	}}
	play(t, func(s *scene) {
		s.swap(shadowed(slow))
		warm := s.operate("Make", "warm", nil) // shows that it is slow
		defer warm.Close()
		seconds(10)
		w := s.operate("Make", "x", nil)
		g := s.wait(w)
		start := time.Now()
		for n := range 100 {
			s.informer.put(pod("x", "u1", string(rune('1'+n%9))+"00", "Other"))
		}
		s.informer.put(pod("x", "u1", "1000", "Done"))
		<-g.end
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("the wait took %s", took)
		}
		seconds(10)
		s.nothingKeptBut(1)
	})
}
