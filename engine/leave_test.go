package engine_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/donewhen/donewhen/engine"
)

// hanging is a predicate like "ready" that doesn't return when it is given an
// object in a certain state, "Hang", until the test is over.
type hanging struct {
	*predicate
	at    string        // the state
	over  chan struct{} // made in the bubble
	after atomic.Int64  // so many evaluations of such an object return before
}

func newHanging() *hanging {
	h := &hanging{at: "Hang"}
	ready := &predicate{name: "hanging"}
	h.predicate = &predicate{name: "hanging", judge: func(o engine.Observation, p engine.Params) engine.Judgement {
		if o.Object != nil && o.Object.GetAnnotations()["state"] == h.at && h.after.Add(-1) < 0 {
			<-h.over
		}
		return (&judge{predicate: ready, params: p}).decide(o)
	}}
	return h
}

// play is playSlow, and lets go what hangs at the end.
func (h *hanging) play(t *testing.T, f func(s *scene)) {
	t.Helper()
	playSlow(t, func(s *scene) {
		h.over = make(chan struct{})
		f(s)
		close(h.over)
		synctest.Wait()
	}, h.predicate)
}

// within waits for a second and a half at most, and returns how long it took.
func (g *waiting) within(t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	select {
	case <-g.end:
	case <-time.After(1500 * time.Millisecond):
		t.Fatal("it holds the caller")
	}
	return time.Since(start)
}

func TestG12_APredicateThatNeverReturnsHoldsNobody(t *testing.T) {
	newHanging().play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Other"))
		w, neighbour := s.register("hanging", "x"), s.register("ready", "x")
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		defer cancel()
		g, other := s.waitWith(ctx, w), s.waitWith(ctx, neighbour)
		s.informer.put(pod("x", "u1", "12", "Hang"))
		seconds(10)
		g.pending()
		if d := g.within(t); d != time.Second {
			t.Errorf("it outlasted its context by %s", d)
		}
		e := waitError(t, g.err)
		if !errors.Is(e, context.DeadlineExceeded) || e.Verdict.Reason != engine.ReasonNotJudged || e.ResourceVersion != "11" || e.Age != 11*time.Second {
			t.Errorf("%v (%+v)", e, e)
		}
		const want = "the newest observation (resourceVersion 12) was not judged within 1s: a predicate on this object is slow"
		if e.Explanation != want || !strings.Contains(e.Error(), want) {
			t.Errorf("%v", e)
		}
		other.ended() // one of the same object doesn't hang longer
		s.nothingLeft()
	})
}

func TestG12_AVerdictWithinTheSecondWins(t *testing.T) {
	playSlow(t, func(s *scene) {
		w := s.register("slow", "x")
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		defer cancel()
		g := s.waitWith(ctx, w)
		seconds(9.5)
		s.informer.put(pod("x", "u1", "11", "Done"))
		seconds(0.6)
		g.pending()
		g.within(t)
		g.done("11")
	}, taking("slow", duration(900*time.Millisecond)))
}

func TestG12_APredicateThatNeverExplainsHoldsNobody(t *testing.T) {
	h := newHanging()
	h.after.Store(1) // it judges, and hangs when it is asked for words
	h.play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Hang"))
		ctx, cancel := context.WithCancel(s.Context())
		g := s.waitWith(ctx, s.register("hanging", "x"))
		cancel()
		if d := g.within(t); d != time.Second {
			t.Errorf("it outlasted its context by %s", d)
		}
		e := waitError(t, g.err)
		if !errors.Is(e, context.Canceled) || e.ResourceVersion != "11" || e.Explanation != "what is still false is not known: the predicate did not say it within 1s" {
			t.Errorf("%v", e)
		}
		s.nothingLeft()
	})
}

// What was judged Done before Wait doesn't count if a newer observation is there:
// that may revoke it.
func TestG2_AnOlderVerdictIsNotTakenForTheNewest(t *testing.T) {
	newHanging().play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Done"))
		w := s.register("hanging", "x")
		s.informer.put(pod("x", "u1", "12", "Hang"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		g := s.waitWith(ctx, w)
		g.within(t)
		e := waitError(t, g.err)
		if g.result != nil || e.Verdict.Decision != engine.Pending || e.Verdict.Reason != engine.ReasonNotJudged {
			t.Errorf("%v (%+v)", e, e.Verdict)
		}
	})
}

// What was judged Done before Wait, and is the newest, counts even if another
// predicate keeps the object.
func TestG2_TheNewestVerdictCountsThoughTheObjectIsKept(t *testing.T) {
	h := newHanging()
	h.at = "Done"
	h.play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Done"))
		w := s.register("ready", "x")
		s.register("hanging", "x") // keeps it
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		g := s.waitWith(ctx, w)
		g.pending()
		if d := g.within(t); d != time.Second {
			t.Errorf("after %s", d)
		}
		g.done("11")
	})
}

func TestG12_ATimeoutEndsAWaitWhosePredicateHangs(t *testing.T) {
	newHanging().play(t, func(s *scene) {
		s.set.bind("CreatePod", "hanging", func(b *engine.Binding) { b.Timeout = time.Minute })
		s.informer.put(pod("x", "u1", "11", "Hang"))
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Operation: "CreatePod"})
		must(t, err)
		start := time.Now()
		<-w.Done()
		if d := time.Since(start); d != 61*time.Second {
			t.Errorf("after %s", d)
		}
		_, err = w.Result()
		if e := waitError(t, err); e.Timeout != time.Minute || e.ResourceVersion != "" || e.Verdict.Reason != engine.ReasonNotJudged {
			t.Errorf("%v (%+v)", e, e)
		}
		s.nothingLeft()
	})
}

func TestG12_CloseEndsAWaitWhosePredicateHangsAtOnce(t *testing.T) {
	newHanging().play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Other"))
		w := s.register("hanging", "x")
		g := s.wait(w)
		s.informer.put(pod("x", "u1", "12", "Hang"))
		synctest.Wait()
		start := time.Now()
		w.Close()
		<-g.end
		if d := time.Since(start); d != 0 {
			t.Errorf("after %s", d)
		}
		if e := waitError(t, g.err); !errors.Is(e, engine.ErrClosed) || e.ResourceVersion != "11" {
			t.Errorf("%v", e)
		}
		s.nothingLeft()
		// The name is free: another predicate judges the object anew.
		s.informer.put(pod("x", "u1", "13", "Done"))
		s.wait(s.register("ready", "x")).done("13")
	})
}

func TestAll_APredicateThatNeverExplainsHoldsNobody(t *testing.T) {
	h := newHanging()
	h.after.Store(1)
	h.play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Hang"))
		hangs, fails := s.register("hanging", "x"), s.register("ready", "y")
		s.informer.put(pod("y", "u2", "12", "Failed"))
		start := time.Now()
		_, err := engine.All(hangs, fails).Wait(s.Context())
		if d := time.Since(start); d != time.Second {
			t.Errorf("after %s", d)
		}
		var joint *engine.JointError
		if !errors.As(err, &joint) || len(joint.Unfinished) != 2 || joint.First.Ref.Name != "y" {
			t.Fatalf("%v", err)
		}
		if e := joint.Unfinished[0]; e.Ref.Name != "x" || e.Explanation != "what is still false is not known: the predicate did not say it within 1s" {
			t.Errorf("%v", e)
		}
		hangs.Close()
	})
}

// nothingLeft checks that no object has waiters: what hangs stays until it returns.
func (s *scene) nothingLeft() {
	s.Helper()
	synctest.Wait()
	if objects, unseen, _, _ := s.engine.Kept(); objects+unseen != 0 {
		s.Fatalf("the engine keeps %d objects, %d unseen", objects, unseen)
	}
}

// However often a joint wait asks a predicate that never explains, that costs one
// goroutine.
func TestAll_APredicateThatNeverExplainsKeepsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never, mute := make(chan struct{}), false
		p := &predicate{name: "mute", judge: func(engine.Observation, engine.Params) engine.Judgement {
			if mute {
				<-never
			}
			return engine.Judgement{}
		}}
		playIn(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Other"))
			s.informer.put(pod("y", "u2", "11", "Failed"))
			w := s.register("mute", "x")
			mute = true
			synctest.Wait()
			before := runtime.NumGoroutine()
			for range 20 {
				if _, err := engine.All(w, s.register("ready", "y")).Wait(t.Context()); err == nil {
					t.Fatal("it is done with a failed one")
				}
			}
			seconds(2)
			synctest.Wait()
			// It counts those of the whole process, of which a few come and go.
			if more := runtime.NumGoroutine() - before; more > 5 {
				t.Errorf("%d goroutines more after 20 joint waits", more)
			}
			close(never)
		}, p)
	})
}
