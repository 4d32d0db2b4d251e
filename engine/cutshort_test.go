package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/donewhen/donewhen/engine"
)

// The error of a closed wait is made when somebody asks for it. It says where the
// wait stood when it was closed.
func TestG12_AClosedWaitSaysWhereItStoodThen(t *testing.T) {
	play(t, func(s *scene) {
		judged, unseen := s.register("ready", "x"), s.register("ready", "y")
		s.informer.put(pod("x", "u1", "11", "Other"))
		seconds(10)
		judged.Close()
		must(t, unseen.After(pod("y", "u2", "99", "")))
		seconds(1)
		unseen.Close()
		// What comes later isn't theirs.
		s.informer.put(pod("x", "u1", "12", "Done"))
		s.informer.put(pod("y", "u2", "100", "Done"))
		s.engine.GoBlind(pods)
		seconds(3600)
		e := closedError(t, judged)
		if e.ResourceVersion != "11" || e.Age != 10*time.Second || e.Verdict.Decision != engine.Pending || e.Blind != nil {
			t.Errorf("judged: %v (%+v)", e, e)
		}
		if e.Ref.Name != "x" || e.Predicate.Name != "ready" || e.Verdict.Predicate.Name != "ready" {
			t.Errorf("judged: %+v", e)
		}
		e = closedError(t, unseen)
		if e.ResourceVersion != "" || e.Verdict.Reason != engine.ReasonBeforeBarrier || e.Verdict.Message != "the cache is at resourceVersion 11, waiting for 99" {
			t.Errorf("before its barrier: %v (%+v)", e, e)
		}
		if again := closedError(t, unseen); again != e {
			t.Error("another error the second time")
		}
	})
}

func TestG12_AWaitClosedBeforeTheFirstListSaysSoLater(t *testing.T) {
	e, i, _ := started(t, false)
	w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
	must(t, err)
	w.Close()
	i.sync("10")
	must(t, e.WaitForSync(t.Context()))
	must(t, e.Settle(t.Context()))
	if err := closedError(t, w); err.Verdict.Reason != engine.ReasonNotSynced || err.Age != 0 {
		t.Errorf("%v", err)
	}
}

func closedError(t *testing.T, w *engine.Waiter) *engine.WaitError {
	t.Helper()
	r, err := w.Result()
	if e := waitError(t, err); r == nil && errors.Is(e, engine.ErrClosed) {
		return e
	}
	t.Fatalf("%v, %v", r, err)
	return nil
}

// Where nothing is judged, a wait costs itself with its object, in one piece, and the
// first slots of the index, and its end nothing.
func TestRegisterClose_AllocatesTheWaiterAndItsObject(t *testing.T) {
	e, _, _ := started(t, false)
	request := engine.Request{Ref: refTo("x"), Predicate: "ready"}
	allocations := testing.AllocsPerRun(1000, func() {
		w, err := e.Register(request)
		must(t, err)
		w.Close()
	})
	if allocations > 2 {
		t.Errorf("%v allocations, want 2", allocations)
	}
}
