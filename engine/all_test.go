package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// joined is a Wait of a Joint that runs.
type joined struct {
	t       *testing.T
	end     chan struct{}
	results []*engine.Result
	err     error
}

func (s *scene) join(ctx context.Context, j *engine.Joint) *joined {
	g := &joined{t: s.T, end: make(chan struct{})}
	go func() {
		g.results, g.err = j.Wait(ctx)
		close(g.end)
	}()
	synctest.Wait()
	return g
}

func (g *joined) ended() bool {
	synctest.Wait()
	select {
	case <-g.end:
		return true
	default:
		return false
	}
}

func (g *joined) failed() *engine.JointError {
	g.t.Helper()
	var e *engine.JointError
	if !g.ended() || !errors.As(g.err, &e) {
		g.t.Fatalf("ended %t with %v, want a *JointError", g.ended(), g.err)
	}
	if strings.Contains(e.Error(), "\n") {
		g.t.Errorf("the error is not one line: %q", e)
	}
	return e
}

func (s *scene) several(n int) []*engine.Waiter {
	var waiters []*engine.Waiter
	for i := range n {
		s.informer.put(pod(fmt.Sprint("x", i), fmt.Sprint("u", i), fmt.Sprint(10+i), "Other"))
		waiters = append(waiters, s.register("ready", fmt.Sprint("x", i)))
	}
	return waiters
}

func TestK11_OneDeadlineForAllOfThem(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(10)
		ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
		defer cancel()
		began, goroutines := time.Now(), runtime.NumGoroutine()
		g := s.join(ctx, engine.All(waiters...))
		if n := runtime.NumGoroutine() - goroutines; n >= 10 { // its own, and any that is just going
			s.Errorf("waiting for 10 takes %d goroutines", n)
		}
		<-g.end
		if took := time.Since(began); took != 2*time.Second {
			s.Fatalf("ended after %s, want 2s", took)
		}
		e := g.failed()
		if !errors.Is(e, context.DeadlineExceeded) || e.Code() != codes.DeadlineExceeded {
			s.Fatalf("%v", e)
		}
		for _, w := range waiters {
			w.Close()
		}
		s.nothingKept()
	})
}

func TestK10_EveryUnfinishedOneIsListedWithItsLastReason(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(4)
		waiters = append(waiters, s.register("ready", "never"))
		s.informer.put(pod("x1", "u1", "20", "Done"))
		s.informer.put(pod("x3", "u3", "21", "Starting"))
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g := s.join(ctx, engine.All(waiters...))
		seconds(1)
		e := g.failed()
		var named []string
		for _, u := range e.Unfinished {
			named = append(named, u.Ref.Name)
		}
		if got := strings.Join(named, " "); got != "x0 x2 x3 never" || e.Total != 5 {
			s.Fatalf("unfinished: %s of %d", got, e.Total)
		}
		for _, want := range []string{"1 of 5 waits done", "a/x0", "on pods a/x0: context deadline exceeded; the state is", `pods a/x2 (the state is "Other", reason StateOther)`, `pods a/x3 (the state is "Starting", reason StateOther)`, "pods a/never (it never existed, reason NeverExisted)"} {
			if !strings.Contains(e.Error(), want) {
				s.Errorf("the error lacks %q: %v", want, e)
			}
		}
		if g.results[1] == nil || g.results[1].ResourceVersion != "20" || g.results[0] != nil {
			s.Errorf("results: %v", g.results)
		}
	})
}

func TestAll_DoneWhenTheLastOneIs(t *testing.T) {
	play(t, func(s *scene) {
		g := s.join(s.Context(), engine.All(s.several(3)...))
		for i, n := range []int{2, 0, 1} {
			if g.ended() {
				s.Fatalf("ended after %d of 3: %v", i, g.err)
			}
			s.informer.put(pod(fmt.Sprint("x", n), fmt.Sprint("u", n), fmt.Sprint(20+i), "Done"))
		}
		if !g.ended() || g.err != nil {
			s.Fatalf("ended %t with %v", g.ended(), g.err)
		}
		for i, r := range g.results {
			if r.Object().GetName() != fmt.Sprint("x", i) {
				s.Errorf("result %d is of %s", i, r.Object().GetName())
			}
		}
	})
}

func TestAll_TheFirstFailureEndsItAndTheOthersGoOn(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(3)
		g := s.join(s.Context(), engine.All(waiters...))
		s.informer.put(pod("x1", "u1", "20", "Failed"))
		e := g.failed()
		if !errors.Is(e, engine.ErrFailed) || e.First.Ref.Name != "x1" || len(e.Unfinished) != 3 || e.Code() != codes.Unknown {
			s.Fatalf("%v", e)
		}
		if !errors.Is(e.Unfinished[0], engine.ErrUnfinished) || !strings.Contains(e.Error(), "a/x2 (the state is") {
			s.Errorf("those that go on: %v", e)
		}
		if g.results[1] == nil || g.results[1].Verdict.Reason != "StateFailed" {
			s.Errorf("results: %v", g.results)
		}
		s.informer.put(pod("x0", "u0", "21", "Done"))
		s.wait(waiters[0]).done("21")
	})
}

func TestAll_OfThoseThatHaveEndedAndOfNone(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(2)
		s.informer.put(pod("x0", "u0", "20", "Done"))
		s.wait(waiters[0]).done("20")
		waiters[1].Close()
		e := s.join(s.Context(), engine.All(waiters...)).failed()
		if !errors.Is(e, engine.ErrClosed) || len(e.Unfinished) != 1 {
			s.Fatal(e)
		}
		if g := s.join(s.Context(), engine.All()); !g.ended() || g.err != nil {
			s.Fatalf("all of none: %v", g.err)
		}
		if g := s.join(s.Context(), engine.Any()); !g.ended() || g.err == nil {
			s.Fatal("any of none is done")
		}
	})
}

func TestAll_AVerdictWinsOverAContextThatHasEnded(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(2)
		for i := range 2 {
			s.informer.put(pod(fmt.Sprint("x", i), fmt.Sprint("u", i), fmt.Sprint(20+i), "Done"))
		}
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		if g := s.join(ctx, engine.All(waiters...)); !g.ended() || g.err != nil {
			s.Fatalf("ended %t with %v", g.ended(), g.err)
		}
	})
}

func TestAny_DoneWhenTheFirstOneIs(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(3)
		g := s.join(s.Context(), engine.Any(waiters...))
		s.informer.put(pod("x0", "u0", "20", "Failed"))
		if g.ended() {
			s.Fatalf("one that failed has ended Any: %v", g.err)
		}
		s.informer.put(pod("x2", "u2", "21", "Done"))
		if !g.ended() || g.err != nil || g.results[2] == nil || g.results[1] != nil || g.results[0] == nil {
			s.Fatalf("ended %t with %v, %v", g.ended(), g.err, g.results)
		}
		s.informer.put(pod("x1", "u1", "22", "Done"))
		s.wait(waiters[1]).done("22") // it went on
	})
}

func TestAny_FailsWhenNoneIsLeft(t *testing.T) {
	play(t, func(s *scene) {
		waiters := s.several(2)
		g := s.join(s.Context(), engine.Any(waiters...))
		for i := range 2 {
			s.informer.put(pod(fmt.Sprint("x", i), fmt.Sprint("u", i), fmt.Sprint(20+i), "Failed"))
		}
		if e := g.failed(); !errors.Is(e, engine.ErrFailed) || len(e.Unfinished) != 2 || !e.Any {
			s.Fatal(e)
		}
	})
}

func TestHammer_JointWaits(t *testing.T) {
	e, i, _ := started(t, true)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for k := range 50 {
				var waiters []*engine.Waiter
				for m := range 5 {
					w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("x", n, m)), Predicate: "ready"})
					must(t, err)
					waiters = append(waiters, w)
				}
				ctx, cancel := context.WithCancel(t.Context())
				j := engine.All(waiters...)
				if k%2 == 1 {
					j = engine.Any(waiters...)
				}
				var other sync.WaitGroup
				other.Go(func() {
					for m := range 5 {
						i.put(pod(fmt.Sprint("x", n, m), "u1", fmt.Sprint(10+k), "Done"))
					}
				})
				if k%5 == 4 {
					other.Go(cancel)
				}
				_, err := j.Wait(ctx)
				if k%5 != 4 && err != nil {
					t.Error(err)
				}
				other.Wait()
				cancel()
				for _, w := range waiters {
					w.Close()
				}
			}
		})
	}
	wg.Wait()
	if objects, unseen, _, _ := e.Kept(); objects+unseen != 0 {
		t.Fatalf("%d objects and %d unseen are kept", objects, unseen)
	}
}

func superseding(s *scene, key, name string) *engine.Waiter {
	s.Helper()
	w, err := s.engine.Register(engine.Request{Ref: refTo(name), Predicate: "ready", Supersedes: key})
	must(s.T, err)
	s.Cleanup(w.Close)
	synctest.Wait()
	return w
}

func TestK28_ANewerRequestEndsTheOlderWaitOfTheSameKey(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		old := s.wait(superseding(s, "volume-1", "x"))
		other := s.wait(superseding(s, "volume-2", "x"))
		plain := s.wait(s.register("ready", "x"))
		w := superseding(s, "volume-1", "y") // whatever it waits for
		old.ended()
		e := waitError(s.T, old.err)
		if !errors.Is(e, engine.ErrSuperseded) || e.Code() != codes.Aborted || e.ResourceVersion != "10" || old.result != nil {
			s.Fatalf("the older wait ended with %s", old)
		}
		other.pending()
		plain.pending()
		newer := s.wait(w)
		s.informer.put(pod("y", "u2", "20", "Done"))
		newer.done("20")

		// Whoever has ended isn't superseded, and its key is free.
		again := superseding(s, "volume-1", "y")
		if r, err := w.Result(); err != nil || r.ResourceVersion != "20" {
			s.Fatalf("an ended waiter was superseded: %v", err)
		}
		again.Close()
		s.informer.put(pod("x", "u1", "30", "Done"))
		other.done("30")
		plain.done("30")
		s.nothingKept() // no key either
	})
}

func TestHammer_Supersedes(t *testing.T) {
	e, _, _ := started(t, true)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for k := range 60 {
				w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("x", n)), Predicate: "ready", Supersedes: fmt.Sprint(k % 3)})
				must(t, err)
				if k%2 == 0 {
					w.Close()
				} else {
					<-w.Done() // until somebody supersedes it
				}
				w.Close()
			}
		})
		wg.Go(func() {
			for k := range 600 {
				w, err := e.Register(engine.Request{Ref: refTo("y"), Predicate: "ready", Supersedes: fmt.Sprint(k % 3)})
				must(t, err)
				runtime.Gosched()
				w.Close()
			}
		})
	}
	last := make(chan struct{})
	go func() { wg.Wait(); close(last) }()
	for k := 0; ; k++ { // until all have been superseded
		select {
		case <-last:
			if objects, unseen, _, _ := e.Kept(); objects+unseen != 0 {
				t.Fatalf("%d objects, keys and unseen are kept", objects+unseen)
			}
			return
		default:
			w, err := e.Register(engine.Request{Ref: refTo("z"), Predicate: "ready", Supersedes: fmt.Sprint(k % 3)})
			must(t, err)
			w.Close()
		}
	}
}
