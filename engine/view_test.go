package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

func TestFiltered_AVanishedObjectIsOutOfViewNeverGone(t *testing.T) {
	for name, vanish := range map[string]func(i *informer){
		"by a delete event": func(i *informer) { i.remove("x", "20") },
		"by a tombstone":    func(i *informer) { i.relist("20") },
		"unseen in a gap":   func(i *informer) { i.forget("x", "20"); i.put(pod("y", "u9", "21", "")) },
	} {
		for _, predicate := range []string{"ready", "gone"} {
			t.Run(name+"/"+predicate, func(t *testing.T) {
				playFiltered(t, func(s *scene) {
					t := s.T
					written := pod("x", "u1", "10", "Other")
					s.informer.put(written)
					w := s.register(predicate, "x")
					must(t, w.After(written))
					ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
					defer cancel()
					g := s.waitWith(ctx, w)
					calls := s.set.predicates[predicate].calls.Load()
					vanish(s.informer)
					seconds(30)
					g.pending()
					if n := s.set.predicates[predicate].calls.Load() - calls; n != 0 {
						t.Fatalf("the predicate was asked %d times about what is out of view", n)
					}
					// Back in view it is the same object, judged as ever.
					if predicate == "ready" && name != "unseen in a gap" {
						s.informer.put(pod("x", "u1", "30", "Done"))
						g.done("30")
						return
					}
					seconds(31)
					g.ended()
					if e := waitError(t, g.err); name != "unseen in a gap" && (e.Verdict.Reason != engine.ReasonOutOfView || !strings.Contains(e.Error(), "shows only some of the objects")) {
						t.Fatalf("the deadline's error: %v", g.err)
					}
				})
			})
		}
	}
}

func TestFiltered_AnAbsentObjectIsOutOfViewToo(t *testing.T) {
	playFiltered(t, func(s *scene) {
		t := s.T
		for _, predicate := range []string{"ready", "gone"} {
			w := s.register(predicate, "x")
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			g := s.waitWith(ctx, w)
			g.pending()
			seconds(1)
			g.ended()
			cancel()
			if e := waitError(t, g.err); e.Verdict.Reason != engine.ReasonOutOfView || e.Verdict.Predicate.Name != predicate {
				t.Fatalf("%s: %v", predicate, g.err)
			}
		}
	})
}

func TestFiltered_AnotherUIDAndTheServersWordStillSayGone(t *testing.T) {
	playFiltered(t, func(s *scene) {
		t := s.T
		written := pod("x", "u1", "10", "Other")
		s.informer.put(written)
		w := s.register("gone", "x")
		must(t, w.After(written))
		g := s.wait(w)
		s.informer.put(pod("x", "u2", "20", "Other"))
		g.done("20")
	})
}

// playFiltered is play with an informer that shows only some of the objects.
func playFiltered(t *testing.T, f func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := &scene{T: t, informer: newInformer(), set: newSet(), stop: stop}
		s.informer.sync("1")
		s.engine = engine.New(s.set, engine.WithLogger(klog.Logger{}))
		must(t, s.engine.Watch(pods, s.informer, engine.Filtered()))
		must(t, s.engine.Start(ctx))
		f(s)
	})
}

func TestFiltered_NoPredicateHearsOfWhatIsOutOfView(t *testing.T) {
	asked := func(p *predicate) *predicate {
		p.judge = func(o engine.Observation, _ engine.Params) engine.Judgement {
			if o.Presence != engine.Present {
				t.Errorf("%s was asked about %s", p.name, o.Presence)
			}
			return engine.Judgement{}
		}
		return p
	}
	playFiltered(t, func(s *scene) {
		bind := func(enforced, shadow string) *set {
			next := newSet(asked(&predicate{name: enforced}), asked(&predicate{name: shadow}))
			next.bind("CreatePod", enforced, nil)
			return next.bind("CreatePod", shadow, func(b *engine.Binding) { b.Action, b.Name = engine.Shadow, shadow })
		}
		s.engine.Swap(bind("first", "first-shadow"))
		s.informer.put(pod("x", "u1", "10", "Other"))
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Operation: "CreatePod"})
		must(s.T, err)
		defer w.Close()
		g := s.wait(w)
		s.informer.remove("x", "11")
		g.pending()
		s.engine.Swap(bind("second", "second-shadow"))
		g.pending()
		if x := live(s.engine)["x"]; x.Predicate.Name != "second" || x.Verdict.Reason != engine.ReasonOutOfView {
			s.Errorf("after the reload: %+v", x)
		}
	})
}
