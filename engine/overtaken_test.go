package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// A waiter is registered while two reloads come: the first changes the predicate, the
// second changes it back. What the predicate in between has judged doesn't count.
func TestG11_AReloadThatIsOvertakenKeepsNoVerdict(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		load := func(digest string, decision engine.Decision) *hookedSet {
			p := &predicate{name: "p", digest: digest, judge: func(engine.Observation, engine.Params) engine.Judgement {
				return engine.Judgement{Verdict: engine.Verdict{Decision: decision, Code: codes.Aborted}}
			}}
			return &hookedSet{set: newSet(), hooked: &hooked{predicate: p, hook: func() {}}}
		}
		first, between, back := load("A", engine.Pending), load("B", engine.Failed), load("A", engine.Pending)
		s.engine.Swap(first)
		bound, goOn, swapped := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var hooks []func()
		next := func() {
			f := hooks[0]
			hooks = hooks[1:]
			f()
		}
		first.hooked.hook, between.hooked.hook, back.hooked.hook = next, next, next
		hooks = []func(){
			func() { s.engine.Swap(between) }, // while Register binds
			func() { // while Register catches up with that
				go func() {
					s.engine.Swap(back)
					close(swapped)
				}()
				<-bound
			},
			func() { // while Swap binds for the waiter as it was registered
				close(bound)
				<-goOn
			},
			func() { // while Register catches up with that too
				seconds := time.NewTimer(time.Second) // the predicate in between judges
				<-seconds.C
				close(goOn)
				<-swapped
			},
		}
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Predicate: "p", Params: engine.Params{"n": 1}})
		must(t, err)
		defer w.Close()
		if len(hooks) > 0 {
			t.Fatalf("%d steps have not come", len(hooks))
		}
		s.wait(w).pending()
	})
}

// A predicate that is asked for by name while a reload is under way keeps its lane for
// as long as somebody waits with it, and no longer.
func TestLanes_OfARequestDuringAReload(t *testing.T) {
	slow := func(name, digest string) *predicate {
		return &predicate{name: name, digest: digest, judge: func(engine.Observation, engine.Params) engine.Judgement {
			time.Sleep(5 * time.Millisecond)
			return engine.Judgement{}
		}}
	}
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		s.informer.put(pod("y", "u2", "11", "Other"))
		moved := slow("moved", "moved")
		s.engine.Swap(newSet(moved))
		waiters := []*engine.Waiter{s.register("moved", "x")}
		for n := range 20 {
			other := slow("other", fmt.Sprint("other", n))
			next := &hookedSet{set: newSet(other), hooked: &hooked{predicate: slow("moved", fmt.Sprint("moved", n))}}
			registered := false
			next.hooked.hook = func() {
				if !registered {
					registered = true
					waiters = append(waiters, s.register("other", "y"))
				}
			}
			s.engine.Swap(next)
			seconds(1)
		}
		if lanes, paces := len(s.engine.Lanes()), s.engine.Paces(); lanes > 2 || paces > 2 {
			t.Errorf("%d lanes and %d paces for two predicates in use", lanes, paces)
		}
		for _, w := range waiters {
			w.Close()
		}
		synctest.Wait()
		s.engine.Swap(newSet())
		if lanes, paces := len(s.engine.Lanes()), s.engine.Paces(); lanes+paces > 0 {
			t.Errorf("%d lanes and %d paces for none", lanes, paces)
		}
		s.nothingKept()
	})
}
