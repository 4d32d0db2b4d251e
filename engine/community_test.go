package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
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

func TestK18_WaitingForTheDeletionOfWhatNeverExisted(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("gone", "never"))
		g.done("1")
		if !g.result.Absent {
			s.Fatal("not absent")
		}
	})
	t.Run("the server says so", func(t *testing.T) {
		play(t, func(s *scene) {
			r, err := s.engine.Do(s.Context(), engine.Request{Ref: refTo("never"), Predicate: "gone"}, func(context.Context) (metav1.Object, error) {
				return nil, engine.ErrGone
			})
			if err != nil || !r.Absent {
				s.Fatalf("%v, %v", r, err)
			}
		})
	})
}

func TestK19_OnDeleteDecidesForHooksAndForOthers(t *testing.T) {
	hook := &predicate{name: "hook", onDelete: &engine.Verdict{Decision: engine.Done, Reason: "RemovedAfterwards"}}
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		asHook, asJob := s.wait(s.register("hook", "x")), s.wait(s.register("ready", "x"))
		s.informer.remove("x", "11")
		asHook.done("11")
		asJob.failed(engine.ReasonObjectDeleted, "11")

		// A terminal failure stays one: nothing is judged again.
		s.informer.put(pod("y", "u2", "20", "Failed"))
		w := s.register("ready", "y")
		failed := s.wait(w)
		failed.failed("StateFailed", "20")
		calls := s.set.predicates["ready"].calls.Load()
		s.informer.put(pod("y", "u2", "21", "Done"))
		seconds(600)
		if n := s.set.predicates["ready"].calls.Load() - calls; n != 0 {
			s.Errorf("%d more evaluations", n)
		}
		s.wait(w).failed("StateFailed", "20")
	}, hook)
}

func TestK22_WaitAndDeletionAtOnce(t *testing.T) {
	e, i, _ := started(t, true)
	for n := range 1000 {
		name := fmt.Sprint("x", n)
		written := pod(name, fmt.Sprint("u", n), fmt.Sprint(10+2*n), "Other")
		i.put(written)
		var both sync.WaitGroup
		both.Go(func() { i.remove(name, fmt.Sprint(11+2*n)) })
		w, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "gone"})
		must(t, err)
		if n%2 == 0 {
			must(t, w.After(written))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, err := w.Wait(ctx)
		cancel()
		both.Wait()
		w.Close()
		if err != nil || !r.Absent {
			t.Fatalf("run %d: %v, %v", n, r, err)
		}
	}
}

func TestK27_AFailureIsSaidAtTheEvent(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("ready", "x"))
		seconds(5)
		began := time.Now()
		s.informer.put(pod("x", "u1", "10", "Failed"))
		g.failed("StateFailed", "10")
		if !g.result.Ended.Equal(began) {
			s.Fatalf("it ended %s later", g.result.Ended.Sub(began))
		}
	})
}

func TestK29_CancelEventAndNewWaitAtOnceAlwaysEndWithAVerdict(t *testing.T) {
	e, i, _ := started(t, true)
	for n := range 500 {
		name, version := fmt.Sprint("x", n%7), fmt.Sprint(10+2*n)
		ctx, cancel := context.WithCancel(t.Context())
		old, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "ready"})
		must(t, err)
		written := pod(name, fmt.Sprint("u", n%7), version, "Other")
		must(t, old.After(written))
		var all sync.WaitGroup
		all.Go(cancel)
		all.Go(func() {
			i.put(written)
			i.put(pod(name, fmt.Sprint("u", n%7), fmt.Sprint(11+2*n), "Done"))
		})
		all.Go(func() {
			r, err := old.Wait(ctx)
			if (err == nil) == (r == nil) || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the canceled wait: %v, %v", r, err)
			}
			old.Close()
		})
		w, err := e.Register(engine.Request{Ref: refTo(name), Predicate: "ready"})
		must(t, err)
		must(t, w.After(written))
		if r, err := w.Wait(t.Context()); err != nil || r.ResourceVersion != fmt.Sprint(11+2*n) {
			t.Fatalf("the new wait: %v, %v", r, err)
		}
		all.Wait()
		w.Close()
	}
}

func TestK32_WhatIsOlderThanTheOwnWriteIsIgnored(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		w := s.register("ready", "x")
		must(s.T, w.After(pod("x", "u1", "20", "Other")))
		g := s.wait(w)
		for _, stale := range []string{"11", "15", "19"} {
			s.informer.put(pod("x", "u1", stale, "Done"))
			g.pending()
		}
		s.informer.put(pod("x", "u1", "20", "Other"))
		g.pending()
		s.informer.put(pod("x", "u1", "21", "Done"))
		g.done("21")
	})
	t.Run("a bookmark is enough for an absence", func(t *testing.T) {
		play(t, func(s *scene) {
			w := s.register("gone", "x")
			must(s.T, w.After(pod("x", "u1", "20", "Other")))
			g := s.wait(w)
			s.informer.bookmark("19")
			seconds(5)
			g.pending()
			s.informer.bookmark("20")
			seconds(1)
			g.done("20")
		})
	})
}

func TestK34_ADetachIsDoneOnAbsenceOnly(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Attached"))
		g := s.wait(s.register("gone", "x"))
		for n, state := range []string{"Detaching", "Detached", "", "Done"} {
			s.informer.put(pod("x", "u1", fmt.Sprint(11+n), state))
			g.pending()
		}
		s.informer.remove("x", "20")
		g.done("20")
	})
}

func TestK36_ADeadlineIsNoFailureAndTheNextCallResumes(t *testing.T) {
	play(t, func(s *scene) {
		written := pod("x", "u1", "10", "Attaching")
		s.informer.put(written)
		w := s.register("ready", "x")
		must(s.T, w.After(written))
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		g := s.waitWith(ctx, w)
		seconds(1)
		g.ended()
		e := waitError(s.T, g.err)
		if g.result != nil || e.Verdict.Decision != engine.Pending || e.Code() != codes.DeadlineExceeded || errors.Is(e, engine.ErrFailed) {
			s.Fatalf("the deadline: %s", g)
		}
		w.Close()

		w = s.register("ready", "x")
		must(s.T, w.After(written)) // nothing had to be written again
		g = s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u1", "11", "Done"))
		g.done("11")
	})
}
