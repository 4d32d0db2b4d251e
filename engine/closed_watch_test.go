package engine_test

import (
	"fmt"
	"testing"
)

// A server that closes the watch every three seconds ends no wait and blinds
// nobody; what changes meanwhile is seen, and nothing is listed anew.
func TestK21_AWatchClosedEveryThreeSecondsEndsNoWait(t *testing.T) {
	const closes = 40
	playServer(t, func(s *scene, server *server) {
		w := s.register("ready", "x")
		must(s.T, w.After(server.write("x", "")))
		ready := s.wait(w)
		server.write("y", "")
		gone := s.wait(s.register("gone", "y"))
		seconds(1)
		lists := server.requested("list")
		for n := range closes {
			seconds(1.5)
			server.endWatches()
			server.write("x", fmt.Sprint("step ", n))
			seconds(1.5)
			ready.pending()
			gone.pending()
			if b := s.engine.Blindness(); len(b) > 0 {
				s.Fatalf("after %d closed watches the engine says %v", n+1, b)
			}
		}
		server.endWatches()
		version := server.write("x", "Done").ResourceVersion
		server.delete("y")
		seconds(60)
		ready.done(version)
		gone.ended()
		if gone.err != nil || !gone.result.Absent {
			s.Errorf("the deleted one: %s", gone)
		}
		if n := server.requested("watch"); n < closes {
			s.Errorf("%d watches were opened: none was closed", n)
		}
		if n := server.requested("list"); n != lists {
			s.Errorf("%d lists, want %d", n, lists)
		}
		s.nothingKept()
	})
}
