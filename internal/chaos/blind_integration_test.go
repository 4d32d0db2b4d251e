//go:build integration

package chaos_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/controlplane"
)

// refused: 50 waits while the client's connections are refused, which informers retry without a word to anybody.
func refused(t *testing.T, server *controlplane.Server) {
	r := newWiredRig(t, server)
	objects, waits := map[*kind][]written{}, map[*kind][]*wait{}
	r.each(func(k *kind) {
		objects[k] = k.several(25, "refused")
		waits[k] = k.awaitAll(ready, objects[k])
	})
	must(t, r.blind(0))
	r.proxy.Refuse()
	r.proxy.Cut()
	begin := time.Now()
	r.eventually("the engine says that it is blind", func() error { return r.blind(2) })
	t.Logf("said after %v: %v", time.Since(begin).Round(time.Millisecond), r.engine.Blindness())
	for _, b := range r.engine.Blindness() {
		if b.Verb != "watch" || !strings.Contains(b.Reason, "connection refused") {
			t.Errorf("it says %v, want that the watch is refused", b)
		}
	}
	r.each(func(k *kind) {
		objects[k] = k.setAll(objects[k], ready)
		for _, w := range waits[k] {
			w.pending()
		}
	})
	must(t, r.proxy.Resume())
	begin = time.Now()
	r.each(func(k *kind) { endAll(waits[k], objects[k], (*wait).endsReady) })
	t.Logf("every wait has ended %v after the client could connect again", time.Since(begin).Round(time.Millisecond))
	r.eventually("the engine says that it sees again", func() error { return r.blind(0) })
	r.onlyListsAndWatches()
	r.report()
}

// blind checks how many informers the engine says see nothing.
func (r *rig) blind(want int) error {
	if got := r.engine.Blindness(); len(got) != want {
		return fmt.Errorf("it says %v", got)
	}
	return nil
}
