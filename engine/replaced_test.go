package engine_test

import (
	"testing"

	"github.com/donewhen/donewhen/engine"
)

// The store shows the object of another UID; the wait's own is gone, and its
// result must not hand out the other.
func TestG5_TheResultOfAReplacedObjectIsAnAbsence(t *testing.T) {
	play(t, func(s *scene) {
		written := pod("x", "u1", "10", "Other")
		s.informer.put(written)
		w := s.register("gone", "x")
		must(s.T, w.After(written))
		g := s.wait(w)
		s.informer.hold()
		s.informer.put(pod("x", "u2", "20", "Other"))
		s.register("ready", "x") // has the store looked at
		g.done("20")
		if r := g.result; !r.Absent || r.Peek() != nil || r.Object() != nil || r.Verdict.Decision != engine.Done {
			t.Errorf("absent %t, object %v", r.Absent, r.Peek())
		}
		s.informer.release()
	})
}
