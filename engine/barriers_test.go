package engine_test

import (
	"testing"
	"testing/synctest"

	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

func TestB1_AChangeBetweenTheTwoReadsOfALook(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("gone", "x")
		must(t, w.After(pod("x", "u1", "20", "Other")))
		synctest.Wait()
		s.informer.bookmark("19")
		s.informer.hold()
		s.informer.between = func() { s.informer.put(pod("x", "u1", "20", "Other")) }
		g := s.wait(w)
		g.pending() // the object has just appeared: it isn't gone
		if s.informer.between != nil {
			t.Fatal("the store was not read")
		}
		s.informer.release()
		s.informer.remove("x", "21")
		g.done("21")
	})
}

func TestB2_TheDeleteEventOfAnOlderUIDAfterAfter(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u0", "10", "Other"))
		w := s.register("ready", "x")
		s.informer.hold()
		s.informer.remove("x", "11")
		s.informer.put(pod("x", "u1", "12", "Other"))
		must(t, w.After(pod("x", "u1", "12", "Other")))
		g := s.wait(w)
		s.informer.release()
		g.pending()

		// Also if the store has not got any further than the deletion.
		s.informer.forget("x", "20")
		w = s.register("ready", "y")
		must(t, w.After(pod("y", "u1", "22", "")))
		g = s.wait(w)
		s.informer.tell(func(h cache.ResourceEventHandler) { h.OnDelete(pod("y", "u0", "21", "")) })
		g.pending()
		s.informer.put(pod("y", "u1", "22", "Done"))
		g.done("22")
	})
}

func TestB3_CreatedAndDeletedInOneGap(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		must(t, w.After(pod("x", "u1", "20", "")))
		g := s.wait(w)
		seconds(3)
		g.pending()
		s.informer.relist("25") // it is not in it and never was: no event
		g.pending()
		seconds(1)
		g.failed(engine.ReasonObjectDeleted, "25")
		s.nothingKept()

		// An event of any other object shows it at once.
		w = s.register("ready", "x")
		must(t, w.After(pod("x", "u2", "30", "")))
		g = s.wait(w)
		s.informer.put(pod("other", "u9", "29", ""))
		g.pending()
		s.informer.put(pod("other", "u9", "31", ""))
		g.failed(engine.ReasonObjectDeleted, "31")
		s.nothingKept()
	})
}

func TestB5_TombstoneWithoutAUsableObject(t *testing.T) {
	for name, object := range map[string]any{"nil": nil, "typed nil": (*struct{})(nil), "another type": "what is this", "by pointer": pod("x", "u1", "10", "")} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.informer.put(pod("x", "u1", "10", "Other"))
				g := s.wait(s.register("gone", "x"))
				g.pending()
				s.informer.forget("x", "20")
				s.informer.tell(func(h cache.ResourceEventHandler) {
					if name == "by pointer" {
						h.OnDelete(&cache.DeletedFinalStateUnknown{Key: "a/x", Obj: object})
					} else {
						h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/x", Obj: object})
					}
				})
				g.done("20")
			})
		})
	}
}

func TestB5_TombstoneOfAnObjectThatIsThereAgain(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Other"))
		g := s.wait(s.register("ready", "x"))
		// A late tombstone: the store holds the object, nothing is gone.
		s.informer.tell(func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/x", Obj: nil})
		})
		g.pending()
	})
}

func TestB6_AbsenceJudgedWhileTheOlderAddIsQueued(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.hold()
		s.informer.put(pod("x", "u1", "10", "Done"))
		s.informer.remove("x", "11")
		g := s.wait(s.register("ready", "x")) // looks: absent at 11
		g.pending()
		s.informer.release()
		g.pending() // neither Done at 10 nor gone: it was never known
	})
}

func TestUncomparable_TheFirstDeliveryAfterAfterCounts(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "", "Failed before"))
		w := s.register("ready", "x")
		must(t, w.After(pod("x", "u1", "", "")))
		g := s.wait(w)
		g.pending() // what the store holds may be from before
		s.informer.put(pod("x", "u1", "", "Done"))
		g.done("")
		s.nothingKept()
	})
}

func TestUncomparable_NeverAHang(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		s.informer.put(pod("x", "u1", "", "Done")) // delivered before the write returned
		synctest.Wait()
		must(t, w.After(pod("x", "u1", "", "")))
		g := s.wait(w)
		g.pending()
		seconds(2)
		g.done("")

		w = s.register("ready", "y") // made and gone before the write returned
		must(t, w.After(pod("y", "u2", "", "")))
		g = s.wait(w)
		seconds(2)
		g.failed(engine.ReasonObjectDeleted, "")
		s.nothingKept()
	})
}

func TestUncomparable_TheVersionOfOurOwnWriteIsRecognised(t *testing.T) {
	play(t, func(s *scene) {
		w := s.register("ready", "x")
		s.informer.put(pod("x", "u1", "abc", "Done"))
		synctest.Wait()
		must(t, w.After(pod("x", "u1", "abc", "")))
		s.wait(w).done("abc")
	})
}

func TestWentBack_FloorsAreDropped(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.bookmark("999")
		w := s.register("ready", "x")
		must(t, w.After(pod("x", "u1", "1000", "")))
		g := s.wait(w)
		lost := s.wait(s.register("gone", "lost"))
		lost.done("999")
		g.pending()
		s.informer.put(pod("x", "u1", "1001", "Other"))
		g.pending()

		// The server comes back from a backup; an event of the old one is still queued.
		s.informer.hold()
		s.informer.relist("300", pod("x", "u1", "299", "Other"))
		s.register("ready", "x").Close() // looks
		synctest.Wait()
		s.informer.held = false
		s.informer.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(nil, pod("x", "u1", "1002", "Done")) })
		g.pending()
		s.informer.release()
		g.pending()
		s.informer.put(pod("x", "u1", "301", "Done"))
		g.done("301")
	})
}

func TestWentBack_SeenFromAnEvent(t *testing.T) {
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "1000", "Other"))
		g := s.wait(s.register("ready", "x"))
		g.pending()
		s.informer.relist("300", pod("x", "u1", "299", "Done"))
		g.done("299")
	})
}
