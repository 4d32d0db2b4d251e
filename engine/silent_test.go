package engine_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/donewhen/donewhen/engine"
)

const silent = "what is still false is not known: the predicate did not say it within 1s"

// A predicate that never says what is still false holds nobody who looks at its
// waits, and isn't asked again before it has returned.
func TestLive_APredicateThatNeverExplainsHoldsNobody(t *testing.T) {
	h := newHanging()
	h.after.Store(2) // it judges both objects, and hangs when it is asked for words
	h.play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "11", "Hang"))
		s.informer.put(pod("y", "u2", "12", "Hang"))
		s.informer.put(pod("z", "u3", "13", "Other"))
		w, _, ready := s.register("hanging", "x"), s.register("hanging", "y"), s.register("ready", "z")
		synctest.Wait()

		for n, want := range []time.Duration{time.Second, 0, 0} {
			start := time.Now()
			status := w.Status()
			if d := time.Since(start); d != want {
				t.Errorf("the look %d took %s, want %s", n, d, want)
			}
			if status.Ended || status.Verdict.Decision != engine.Pending || status.Verdict.Message != silent || status.ResourceVersion != "11" {
				t.Errorf("%+v", status)
			}
		}
		before, start := runtime.NumGoroutine(), time.Now()
		for range 10 {
			for status := range s.engine.Waiters() {
				if quiet := status.Verdict.Message == silent; quiet != (status.Ref.Name != "z") {
					t.Errorf("%s: %s", status.Ref, status.Verdict.Message)
				}
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("ten lists took %s", d)
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines more", n-before)
		}
		if status := ready.Status(); strings.Contains(status.Verdict.Message, silent) {
			t.Errorf("another predicate is taken for silent: %+v", status.Verdict)
		}

		h.over <- struct{}{} // the one that was asked returns
		synctest.Wait()
		h.after.Store(1)
		if status := w.Status(); status.Verdict.Message == silent {
			t.Error("it isn't asked again")
		}
	})
}
