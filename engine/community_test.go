package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

func TestK1_WaitingForADeletionThatIsOverAlready(t *testing.T) {
	t.Run("absent", func(t *testing.T) {
		play(t, func(s *scene) { s.wait(s.register("gone", "x")).done("1") })
	})
	t.Run("it vanishes between the look and the wait", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Other"))
			w := s.register("gone", "x") // it has looked
			s.informer.remove("x", "11")
			s.wait(w).done("11")
		})
	})
	t.Run("it vanishes during a look", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Other"))
			s.informer.between = func() { s.informer.remove("x", "11") }
			g := s.wait(s.register("gone", "x"))
			g.ended()
			if g.err != nil || !g.result.Absent {
				s.Fatal(g)
			}
		})
	})
}

func TestK2_AnObjectDeletedWhileWaitingForItsFailureIsSaid(t *testing.T) {
	waits := func(onDelete *engine.Verdict) *predicate {
		p := &predicate{name: "fails", onDelete: onDelete}
		return p
	}
	t.Run("the default fails", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Other"))
			g := s.wait(s.register("fails", "x"))
			g.pending()
			s.informer.remove("x", "11")
			g.failed(engine.ReasonObjectDeleted, "11")
		}, waits(nil))
	})
	t.Run("onDelete decides", func(t *testing.T) {
		play(t, func(s *scene) {
			s.informer.put(pod("x", "u1", "10", "Other"))
			g := s.wait(s.register("fails", "x"))
			g.pending()
			s.informer.relist("11") // as a tombstone
			g.done("11")
			if !g.result.Absent {
				s.Fatal("not absent")
			}
		}, waits(&engine.Verdict{Decision: engine.Done}))
	})
}

func TestK3_WaitingForWhatIsNotThereYet(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("ready", "x"))
		seconds(5)
		g.pending()
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")

		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g = s.waitWith(ctx, s.register("ready", "never"))
		seconds(1)
		g.ended()
		e := waitError(s.T, g.err)
		if e.Verdict.Reason != engine.ReasonNeverExisted || !strings.Contains(e.Error(), "never existed") || !errors.Is(e, context.DeadlineExceeded) {
			s.Fatalf("the timeout: %v", e)
		}
	})
}

func TestK5_TheStatusOfThePreviousGenerationDoesNotCount(t *testing.T) {
	// What predicates with observedGeneration do; the barrier does the rest.
	p := &predicate{name: "observed", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		var v engine.Verdict
		var seen int64
		_, _ = fmt.Sscan(o.Object.GetAnnotations()["state"], &seen)
		if seen >= o.Object.GetGeneration() {
			v.Decision = engine.Done
		} else {
			v.Reason = engine.ReasonGenerationLag
		}
		return engine.Judgement{Verdict: v}
	}}
	at := func(version string, generation int64, observed string) *corev1.Pod {
		o := pod("x", "u1", version, observed)
		o.Generation = generation
		return o
	}
	play(t, func(s *scene) {
		s.informer.put(at("10", 1, "1")) // true, of the previous generation
		w := s.register("observed", "x")
		must(s.T, w.After(at("11", 2, "1")))
		g := s.wait(w)
		g.pending() // the informer has not shown the write
		s.informer.put(at("11", 2, "1"))
		g.pending()
		s.informer.put(at("12", 2, "2"))
		g.done("12")
	}, p)
}

func TestK12_ARecreatedObjectIsAnotherOne(t *testing.T) {
	recreate := map[string]func(i *informer){
		"seen": func(i *informer) { i.remove("x", "11"); i.put(pod("x", "u2", "12", "Other")) },
		"in one update": func(i *informer) {
			i.put(pod("x", "u2", "12", "Other"))
		},
		"by a relist": func(i *informer) { i.relist("20", pod("x", "u2", "12", "Other")) },
	}
	for name, recreate := range recreate {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.informer.put(pod("x", "u1", "10", "Other"))
				w := s.register("gone", "x")
				must(s.T, w.After(pod("x", "u1", "10", "Other")))
				g := s.wait(w)
				g.pending()
				recreate(s.informer)
				g.ended()
				if g.err != nil || !g.result.Absent {
					s.Fatal(g)
				}
			})
		})
	}
}

func TestK14_OnlyTheLastStateOfAGapIsJudged(t *testing.T) {
	for name, last := range map[string]string{"the state passed by": "Detached", "the state stayed": "Done"} {
		t.Run(name, func(t *testing.T) {
			playServer(t, func(s *scene, server *server) {
				w := s.register("ready", "x")
				must(s.T, w.After(server.write("x", "")))
				g := s.wait(w)
				server.disconnect()
				server.write("x", "Done")
				version := server.write("x", last).ResourceVersion
				server.reconnect(true)
				seconds(120)
				if last == "Done" {
					g.done(version)
					return
				}
				g.pending() // nobody claims to have seen it done
				g.done(server.write("x", "Done").ResourceVersion)
			})
		})
	}
}

func TestK16_EveryDeletionAlsoAsATombstone(t *testing.T) {
	object := pod("x", "u1", "10", "Other")
	for name, tombstone := range map[string]any{
		"by value":                  cache.DeletedFinalStateUnknown{Key: "a/x", Obj: object},
		"by pointer":                &cache.DeletedFinalStateUnknown{Key: "a/x", Obj: object},
		"without an object":         cache.DeletedFinalStateUnknown{Key: "a/x"},
		"with a typed nil":          cache.DeletedFinalStateUnknown{Key: "a/x", Obj: (*corev1.Pod)(nil)},
		"of another type":           cache.DeletedFinalStateUnknown{Key: "a/x", Obj: "a string"},
		"without a usable key":      cache.DeletedFinalStateUnknown{Obj: object},
		"with an older object":      cache.DeletedFinalStateUnknown{Key: "a/x", Obj: pod("x", "u0", "2", "Other")},
		"with an unstructured one":  cache.DeletedFinalStateUnknown{Key: "a/x", Obj: toUnstructured(object)},
		"with a partial metadata":   cache.DeletedFinalStateUnknown{Key: "a/x", Obj: &metav1.PartialObjectMetadata{ObjectMeta: object.ObjectMeta}},
		"a delete event's own type": object.DeepCopy(),
	} {
		for _, predicate := range []string{"gone", "ready"} {
			t.Run(name+"/"+predicate, func(t *testing.T) {
				play(t, func(s *scene) {
					s.informer.put(object)
					g := s.wait(s.register(predicate, "x"))
					g.pending()
					s.informer.forget("x", "20")
					if p, ok := tombstone.(*corev1.Pod); ok {
						p.ResourceVersion = "20"
					}
					s.informer.tell(func(h cache.ResourceEventHandler) { h.OnDelete(tombstone) })
					if predicate == "gone" {
						g.done("20")
					} else {
						g.failed(engine.ReasonObjectDeleted, "20")
					}
				})
			})
		}
	}
}

func TestK17_ADeletionThatIsOverBeforeTheWaitStartsEndsItAtOnce(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		written := server.write("x", "Other")
		seconds(1)
		began := time.Now()
		r, err := s.engine.Do(s.Context(), engine.Request{Ref: refTo("x"), Predicate: "gone"}, func(context.Context) (metav1.Object, error) {
			server.delete("x")
			seconds(0.5) // the informer has delivered it before the write returns
			return written, nil
		})
		if err != nil || !r.Absent || time.Since(began) >= time.Second {
			s.Fatalf("%v, %v after %s", r, err, time.Since(began))
		}
	})
}
