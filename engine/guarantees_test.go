package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

func TestG1_NothingBelowTheFloorEndsAWait(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Failed before"))
		w := s.register("ready", "x")
		must(t, w.After(pod("x", "u1", "20", "")))
		g := s.wait(w)
		g.pending() // what the store holds
		s.informer.put(pod("x", "u1", "19", "Done"))
		g.pending() // an event one below
		s.informer.put(pod("x", "u1", "20", "Done"))
		g.done("20") // the floor is inclusive
	})
}

func TestG1_AnotherUIDNeverSatisfies(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u0", "10", "Done"))
		w := s.register("ready", "x")
		must(t, w.After(pod("x", "u1", "20", "")))
		g := s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u0", "15", "Done"))
		g.pending()
		s.informer.put(pod("x", "u1", "21", "Done"))
		g.done("21")
	})
}

func TestG1_AbsenceInACacheThatLagsIsNoAbsence(t *testing.T) {
	play(t, func(s *scene) {
		for _, predicate := range []string{"ready", "gone"} {
			w := s.register(predicate, "x")
			must(t, w.After(pod("x", "u1", "20", "")))
			g := s.wait(w)
			s.informer.bookmark("19")
			seconds(5)
			g.pending()
			if predicate == "gone" {
				s.informer.bookmark("20")
				seconds(1)
				g.done("20")
			}
			w.Close()
		}
		s.nothingKept()
	})
}

func TestG2_UntilWaitLooksTheNewestCounts(t *testing.T) {
	for _, test := range []struct {
		name   string
		states []string
		expect engine.Decision
	}{
		{"done stays", []string{"Done"}, engine.Done},
		{"failed stays", []string{"Failed"}, engine.Failed},
		{"done is revoked", []string{"Done", "Other"}, engine.Pending},
		{"failed is revoked", []string{"Failed", "Other"}, engine.Pending},
		{"failed, then done", []string{"Failed", "Done"}, engine.Done},
		{"done, then failed", []string{"Done", "Failed"}, engine.Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, func(s *scene) {
				w := s.register("ready", "x")
				for i, state := range test.states {
					s.informer.put(pod("x", "u1", fmt.Sprint(10+i), state))
					synctest.Wait() // judged, not merged
				}
				g := s.wait(w)
				version := fmt.Sprint(9 + len(test.states))
				switch test.expect {
				case engine.Done:
					g.done(version)
				case engine.Failed:
					g.failed("StateFailed", version)
				case engine.Pending:
					g.pending()
				}
			})
		})
	}
}

func TestG2_WhatWasJudgedCountsWithoutTheStore(t *testing.T) {
	// An informer that has not synced can't be looked at, but it has told of the object.
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, informer: newInformer()}
		s.engine = engine.New(newSet())
		must(t, s.engine.Watch(pods, s.informer))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		must(t, s.engine.Start(ctx))
		w := s.register("ready", "x")
		s.informer.put(pod("x", "u1", "10", "Done"))
		s.wait(w).done("10")
	})
}

func TestG2_OnceWaitLooksTheFirstDecisiveVerdictEndsIt(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		g := s.wait(w)
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
		s.informer.put(pod("x", "u1", "11", "Failed"))
		synctest.Wait()
		if r, err := w.Result(); err != nil || r.ResourceVersion != "10" {
			t.Fatalf("the result changed: %v, %v", r, err)
		}
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		s.waitWith(ctx, w).done("10")
		w.Close()
		s.wait(w).done("10")
	})
}

func TestG2_AVerdictWinsOverAContextThatHasEnded(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		w := s.register("ready", "x")
		s.waitWith(ctx, w).done("10")

		// Also if the newest observation is delivered while Wait is on its way out.
		w = s.register("ready", "y")
		ctx, cancel = context.WithCancel(s.Context())
		g := s.waitWith(ctx, w)
		s.informer.hold()
		s.informer.put(pod("y", "u2", "11", "Done"))
		cancel()
		g.done("11")
	})
}

func TestG3_RegisterBeforeAndAfterTheWrite(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x") // nothing there yet
		written := pod("x", "u1", "10", "")
		s.informer.put(written)
		must(t, w.After(written))
		g := s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u1", "11", "Done"))
		g.done("11")

		s.wait(s.register("ready", "x")).done("11") // the cache holds it
	})
}

func TestG4_DeletionHoweverItIsLearnt(t *testing.T) {
	for name, remove := range map[string]func(i *informer){
		"delete event": func(i *informer) { i.remove("x", "20") },
		"tombstone":    func(i *informer) { i.relist("20") },
		"tombstone by pointer": func(i *informer) {
			i.forget("x", "20")
			i.tell(func(h cache.ResourceEventHandler) {
				h.OnDelete(&cache.DeletedFinalStateUnknown{Key: "a/x", Obj: pod("x", "u1", "10", "")})
			})
		},
		"replaced": func(i *informer) { i.put(pod("x", "u2", "20", "Done")) },
		"deleted and made again, one event each": func(i *informer) {
			i.hold()
			i.remove("x", "19")
			i.put(pod("x", "u2", "20", "Done"))
			i.release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.informer.put(pod("x", "u1", "10", "Other"))
				gone, ready := s.wait(s.register("gone", "x")), s.wait(s.register("ready", "x"))
				gone.pending()
				ready.pending()
				remove(s.informer)
				gone.ended()
				ready.ended()
				if gone.err != nil || !gone.result.Absent || gone.result.Object() != nil || gone.result.Peek() != nil {
					t.Fatalf("gone: %s", gone)
				}
				if ready.result == nil || ready.result.Verdict.Code != codes.Aborted || !errors.Is(ready.err, engine.ErrFailed) {
					t.Fatalf("ready: %s", ready)
				}
			})
		})
	}
}

func TestG5_PinFromReferenceAfterAndWait(t *testing.T) {
	play(t, func(s *scene) {
		// From the reference.
		s.informer.put(pod("r", "u1", "10", ""))
		ref := refTo("r")
		ref.UID = "u1"
		w, err := s.engine.Register(engine.Request{Ref: ref, Predicate: "gone"})
		must(t, err)
		g := s.wait(w)
		g.pending()
		s.informer.put(pod("r", "u2", "11", ""))
		g.done("11")

		// From After, over one from the reference.
		w, err = s.engine.Register(engine.Request{Ref: ref, Predicate: "ready"})
		must(t, err)
		must(t, w.After(pod("r", "u3", "12", "")))
		g = s.wait(w)
		g.pending()
		s.informer.put(pod("r", "u3", "13", "Done"))
		g.done("13")

		// From the first object that Wait judged present.
		s.informer.put(pod("w", "u1", "20", ""))
		g = s.wait(s.register("ready", "w"))
		s.informer.put(pod("w", "u2", "21", "Done"))
		g.failed(engine.ReasonObjectReplaced, "21")
	})
}

func TestG5_TheDyingPredecessorIsNotOurs(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u0", "10", "Failed"))
		w := s.register("ready", "x") // judged, but before After or Wait it pins nothing
		s.informer.remove("x", "11")
		synctest.Wait()
		s.informer.put(pod("x", "u1", "12", ""))
		synctest.Wait()
		must(t, w.After(pod("x", "u1", "12", "")))
		g := s.wait(w)
		g.pending()
		s.informer.put(pod("x", "u1", "13", "Done"))
		g.done("13")
	})
}

func TestG5_WhatWasJudgedBeforeWaitPinsNothing(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u0", "10", "Other"))
		w := s.register("ready", "x")
		s.informer.remove("x", "11")
		synctest.Wait()
		g := s.wait(w)
		g.pending() // it never existed, as far as this wait knows
		s.informer.put(pod("x", "u1", "12", "Done"))
		g.done("12")
	})
}

func TestG5_BeforeAfterAndWaitNothingCountsAsGone(t *testing.T) {
	play(t, func(s *scene) {
		ref := refTo("x")
		ref.UID = "u1"
		s.informer.put(pod("x", "u1", "10", ""))
		w, err := s.engine.Register(engine.Request{Ref: ref, Predicate: "ready"})
		must(t, err)
		defer w.Close()
		s.informer.remove("x", "11")
		synctest.Wait()
		s.wait(w).failed(engine.ReasonObjectDeleted, "11")
	})
}

func TestG6_AfterRefusesAnotherObject(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("other", "u0", "5", ""))
		w := s.register("ready", "other")
		w2 := s.register("ready", "x")
		for name, object := range map[string]metav1.Object{
			"name":      pod("y", "u1", "10", ""),
			"namespace": pod("b/x", "u1", "10", ""),
			"kind":      &corev1.ConfigMap{ObjectMeta: pod("x", "u1", "10", "").ObjectMeta},
			"nil":       nil,
			"typed nil": (*corev1.Pod)(nil),
		} {
			if err := w2.After(object); err == nil {
				t.Errorf("After took an object of another %s", name)
			} else {
				t.Log(err)
			}
		}
		w.Close()
		s.informer.put(pod("x", "u1", "11", "Done"))
		s.wait(w2).done("11") // no barrier was set
	})
}

func TestG10_NothingRemains(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("done", "u1", "10", "Done"))
		ended := s.wait(s.register("ready", "done")) // ended, not closed
		ended.done("10")
		for i := range 100 {
			w := s.register("ready", fmt.Sprint("x", i%10))
			if i%2 == 0 {
				must(t, w.After(pod(fmt.Sprint("x", i%10), "u1", "20", "")))
			}
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			g := s.waitWith(ctx, w)
			if i%3 == 0 {
				w.Close()
			} else {
				cancel()
			}
			g.ended()
			w.Close()
			cancel()
		}
		s.nothingKept()

		_, err := s.engine.Do(s.Context(), engine.Request{Ref: refTo("y"), Predicate: "ready"}, func(context.Context) (metav1.Object, error) {
			return nil, errors.New("the write failed")
		})
		if err == nil || err.Error() != "the write failed" {
			t.Fatalf("Do changed the write's error: %v", err)
		}
		s.nothingKept()
	})
}

func TestG14_NoStepBack(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		g := s.wait(w)
		s.informer.hold()
		s.informer.put(pod("x", "u1", "10", "Done"))
		s.informer.put(pod("x", "u1", "11", "Other"))
		s.register("ready", "x").Close() // has the store looked at: 11 is judged
		g.pending()
		s.informer.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(nil, pod("x", "u1", "9", "Done")) })
		s.informer.release() // 10, 11 and, out of order, 9 are delivered now
		g.pending()
		s.informer.tell(func(h cache.ResourceEventHandler) { h.OnAdd(pod("x", "u1", "10", "Done"), false) })
		g.pending()
		s.informer.put(pod("x", "u1", "12", "Done"))
		g.done("12")
	})
}
