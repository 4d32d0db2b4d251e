package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// An update whose UID changed is an absence and an object at one version: the
// absence must not make the object, which is as new, look older than our write.
func TestG4_ReplacedInOneUpdateBeforeTheWriteReturned(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		w := s.register("ready", "x")
		s.informer.put(pod("x", "u2", "12", "Done"))
		synctest.Wait()
		must(t, w.After(pod("x", "u1", "10", "Other")))
		s.wait(w).failed(engine.ReasonObjectReplaced, "12")
	})
}

func TestG4_ReplacedInOneUpdateBeforeWait(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		ref := refTo("x")
		ref.UID = "u1"
		w, err := s.engine.Register(engine.Request{Ref: ref, Predicate: "ready"})
		must(t, err)
		defer w.Close()
		synctest.Wait()
		s.informer.put(pod("x", "u2", "12", "Done"))
		synctest.Wait()
		s.wait(w).failed(engine.ReasonObjectReplaced, "12")
	})
}

// slowAndHeld are a predicate that takes 8 s to describe and one that is done
// once it has held for a time.
func slowAndHeld(hold time.Duration) (slow, held *predicate, describe func()) {
	var describing atomic.Bool
	slow = &predicate{name: "slow", judge: func(engine.Observation, engine.Params) engine.Judgement {
		if describing.Load() {
			time.Sleep(8 * time.Second)
		}
		return engine.Judgement{}
	}}
	held = &predicate{name: "held", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		if o.Presence != engine.Present {
			return engine.Judgement{}
		}
		return engine.Judgement{Holding: []engine.Hold{{Rule: "done[0]", For: hold, Verdict: engine.Verdict{Decision: engine.Done}}}}
	}}
	return slow, held, func() { describing.Store(true) }
}

// A hold time that passes while another waiter of the object is being described
// must not be forgotten.
func TestHold_PassesWhileTheObjectIsBeingProcessed(t *testing.T) {
	slow, held, describe := slowAndHeld(10 * time.Second)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		g := s.wait(s.register("held", "x"))
		leaving := s.register("slow", "x")
		describe()
		ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
		defer cancel()
		l := s.waitWith(ctx, leaving)
		seconds(14)
		l.ended()
		g.done("10")
	}, slow, held)
}

// A wait whose context has ended, and whose hold time passes before it is let go,
// ends in one of the two ways, not in a mixture.
func TestG12_AHoldPassesOnTheWayOut(t *testing.T) {
	slow, held, describe := slowAndHeld(12 * time.Second)
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		within := func(d time.Duration) context.Context {
			ctx, cancel := context.WithTimeout(s.Context(), d)
			s.Cleanup(cancel)
			return ctx
		}
		// What is described from 1 s on keeps the others waiting until 9 s; then
		// both are on their way out, and the slow one is described first.
		s.waitWith(within(1*time.Second), s.register("slow", "x"))
		g := s.waitWith(within(2*time.Second), s.register("held", "x"))
		s.waitWith(within(2*time.Second), s.register("slow", "x"))
		describe()
		seconds(20)
		g.ended()
		if g.err != nil && (g.result != nil || !errors.Is(g.err, context.DeadlineExceeded) || !strings.Contains(g.err.Error(), "of 12s: done[0]")) {
			t.Errorf("the wait ended with %s: neither done nor still holding", g)
		}
	}, slow, held)
}

func TestG6_ANameIsNoKey(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("a/x", "u1", "10", "Done"))
		w, err := s.engine.Register(engine.Request{Ref: engine.Reference{Resource: pods, Name: "a/x"}, Predicate: "ready"})
		if err == nil {
			defer w.Close()
			g := s.wait(w)
			t.Fatalf("a reference named %q was accepted; its wait: %s", "a/x", g)
		}
	})
}

// The judges' context ends with the engine, but what a judge makes of that is no
// verdict: the wait ended because the engine stopped.
func TestG12_AStoppedEngineIsNoJudgesFailure(t *testing.T) {
	started := make(chan struct{}, 1)
	p := &contextual{predicate: predicate{name: "contextual"}, started: started}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		informer := newInformer()
		informer.sync("1")
		informer.put(pod("x", "u1", "10", "Other"))
		e := engine.New(one{p})
		must(t, e.Watch(pods, informer))
		must(t, e.Start(ctx))
		w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "contextual"})
		must(t, err)
		defer w.Close()
		g := (&scene{T: t}).wait(w)
		<-started
		stop()
		g.ended()
		if !errors.Is(g.err, engine.ErrEngineStopped) {
			t.Errorf("the wait ended with %v; want ErrEngineStopped", g.err)
		}
	})
}

// contextual is a predicate that judges until its context ends, and a set of it.
type (
	contextual struct {
		predicate
		started chan struct{}
	}
	one struct{ p *contextual }
)

func (p *contextual) Bind(engine.Params) (engine.Judge, error) { return p, nil }
func (p *contextual) Key() string                              { return "contextual" }
func (p *contextual) Describe(ctx context.Context, o engine.Observation) engine.Judgement {
	return p.Judge(ctx, o)
}

func (p *contextual) Judge(ctx context.Context, _ engine.Observation) engine.Judgement {
	select {
	case p.started <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Failed, Cause: engine.CauseJudge, Code: codes.Internal, Message: ctx.Err().Error()}}
}

func (o one) Digest() string                             { return "one" }
func (o one) Predicate(string) (engine.Predicate, error) { return o.p, nil }
func (o one) Binding(string) (*engine.Binding, error)    { return nil, errors.New("no binding") }
func (o one) Bindings() []*engine.Binding                { return nil }

// The store shows our object's predecessor when Wait looks; that goes, and then
// ours is created and deleted in one gap of the watch, which causes no event.
func TestB3_CreatedAndDeletedInOneGapBehindItsPredecessor(t *testing.T) {
	for _, predicate := range []string{"ready", "gone"} {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u0", "10", "Other"))
			w := s.register(predicate, "x")
			must(t, w.After(pod("x", "u1", "20", "Other")))
			g := s.wait(w)
			s.informer.remove("x", "11")
			g.pending()
			s.informer.relist("30") // nothing changed, as far as the informer knows
			seconds(2)
			if predicate == "gone" {
				g.done("30")
			} else {
				g.failed(engine.ReasonObjectDeleted, "30")
			}
		})
	}
}
