//go:build integration

package chaos_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/controlplane"
)

// aftermath is what a client finds after a gap.
type aftermath int

const (
	resumed  aftermath = iota // the watch goes on where it was, with every event
	expired                   // the server remembers no events: 410 Gone, and a list
	doubtful                  // the client found out itself that its connection is dead: it lists, to be sure
)

// silence is how long nothing may end while the client hears nothing, beyond one look of the engine at the store.
const silence = unseenInterval + 200*time.Millisecond

// story is something that happens to objects of a kind around a gap.
type story struct {
	name string
	// before prepares; during happens while the client hears nothing, and returns the waits that have to go on; after
	// expects how they end, once the informer has caught up.
	tell func(k *kind) (during func() []*wait, after func(aftermath))
}

var stories = []story{
	{"Changed", changed},
	{"Recreated", recreated},
	{"B3_CreatedAndDeleted", createdAndDeleted},
}

// gap has the client hear nothing while the stories happen to objects of both kinds, and then reconnect; or, with the
// connections left alone, find out itself.
func gap(t *testing.T, server *controlplane.Server, then aftermath) {
	r := newRig(t, server)
	type chapter struct {
		name   string
		during func() []*wait
		after  func(aftermath)
	}
	var chapters []chapter
	for _, s := range stories {
		r.each(func(k *kind) {
			during, after := s.tell(k)
			chapters = append(chapters, chapter{s.name + "/" + k.gvr.Resource, during, after})
		})
	}
	r.proxy.BlackHole()
	var waits []*wait
	for _, c := range chapters {
		waits = append(waits, c.during()...)
	}
	if then == expired {
		r.restart()
	}
	r.stay(silence)
	for _, w := range waits {
		w.pending()
	}
	back := time.Now()
	must(t, r.proxy.Resume())
	if then != doubtful {
		r.proxy.Cut()
	}
	last := map[*kind]written{}
	r.each(func(k *kind) { last[k] = k.create("last", "pending") })
	r.settled(last)
	r.recovered(back, last)
	r.each(func(k *kind) {
		if got := r.requests.of(k.gvr.Resource, "410"); (got > 0) != (then == expired) {
			t.Errorf("the watch of %s was told %d times that its version is too old", k.gvr.Resource, got)
		}
	})
	for _, c := range chapters {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			c.after(then)
		})
	}
	r.T = t
	r.each(func(k *kind) { // by now the plain handler was told of all that the waits were
		if got := k.seen.tombstones(); (got > 0) != (then != resumed) {
			t.Errorf("the informer of %s found out %d deletions by a list", k.gvr.Resource, got)
		}
	})
	r.onlyListsAndWatches()
	r.report()
}

// changed: objects become ready, are deleted, and change without becoming ready; one was ready until its caller wrote it
// anew.
func changed(k *kind) (during func() []*wait, after func(aftermath)) {
	objects, doomed, touched := k.several(10, "changed"), k.several(5, "deleted"), k.several(9, "touched")
	readies, failed, gones := k.awaitAll(ready, objects), k.awaitAll(ready, doomed), k.awaitAll(gone, doomed)
	waiting := k.awaitAll(ready, touched)
	rewritten := k.create("rewritten", ready)
	k.await(ready, rewritten).endsReady(rewritten) // so the cache shows it ready
	during = func() []*wait {
		objects = k.setAll(objects, ready)
		doomed = k.removeAll(doomed)
		touched = append(k.setAll(touched, "touched"), k.set("rewritten", "pending"))
		waiting = append(waiting, k.await(ready, touched[len(touched)-1]))
		return slices.Concat(readies, failed, gones, waiting)
	}
	return during, func(aftermath) {
		for _, w := range waiting {
			w.pending()
		}
		endAll(readies, objects, (*wait).endsReady)
		endAll(failed, doomed, failsFor(engine.ReasonObjectDeleted))
		endAll(gones, doomed, (*wait).endsGone)
		endAll(waiting, k.setAll(touched, ready), (*wait).endsReady)
	}
}

// recreated: objects are deleted and created anew under the same name. The new ones are ready, and so were the old ones
// of the waits that begin in the gap.
func recreated(k *kind) (during func() []*wait, after func(aftermath)) {
	old := k.several(10, "replaced")
	failed, gones := k.awaitAll(ready, old), k.awaitAll(gone, old)
	var former, fresh []written
	var waiting []*wait
	for i := range 10 {
		object := k.create(fmt.Sprint("was-ready-", i), ready)
		k.await(ready, object).endsReady(object) // so the cache shows it ready
		former = append(former, object)
	}
	during = func() []*wait {
		old = k.removeAll(old)
		for _, object := range old {
			k.create(object.GetName(), ready)
		}
		for _, object := range former {
			w := k.register(ready, object.GetName())
			k.remove(object)
			fresh = append(fresh, k.create(object.GetName(), "pending"))
			w.begin(fresh[len(fresh)-1])
			waiting = append(waiting, w)
		}
		return slices.Concat(failed, gones, waiting)
	}
	return during, func(then aftermath) {
		for _, w := range waiting {
			w.pending()
		}
		reason := engine.ReasonObjectReplaced
		if then == resumed {
			reason = engine.ReasonObjectDeleted // the watch tells of the deletion on its own
		}
		endAll(failed, old, failsFor(reason))
		endAll(gones, old, (*wait).endsGone)
		endAll(waiting, k.setAll(fresh, ready), (*wait).endsReady)
	}
}

// createdAndDeleted: objects are created and deleted within the gap. After a list no event tells of them.
func createdAndDeleted(k *kind) (during func() []*wait, after func(aftermath)) {
	var failed, gones []*wait
	var deleted []written
	during = func() []*wait {
		for i := range 15 {
			name := fmt.Sprint("brief-", i)
			w, g := k.register(ready, name), k.register(gone, name)
			created := k.create(name, "pending")
			w.begin(created)
			g.begin(created)
			failed, gones, deleted = append(failed, w), append(gones, g), append(deleted, k.remove(created))
		}
		return slices.Concat(failed, gones)
	}
	return during, func(then aftermath) {
		endAll(failed, deleted, failsFor(engine.ReasonObjectDeleted))
		endAll(gones, deleted, (*wait).endsGone)
		for _, object := range deleted {
			told := func() error {
				if _, known := k.seen.first(object.GetName(), func(told) bool { return true }); !known {
					return errNotYet
				}
				return nil
			}
			if then == resumed {
				k.eventually("the plain handler is told of "+object.GetName(), told)
			} else if told() == nil {
				k.Errorf("the plain handler was told of %s %s: it was no gap", k.gvr.Resource, object.GetName())
			}
		}
	}
}

func failsFor(reason string) func(*wait, written) {
	return func(w *wait, by written) { w.endsFailed(reason, by) }
}

// delayed: everything on the client's connections is late, so the cache shows an object ready long after its caller has
// written it anew.
func delayed(t *testing.T, server *controlplane.Server, by time.Duration) {
	r := newRig(t, server)
	r.proxy.Delay(by)
	r.each(func(k *kind) {
		objects := k.several(30, "late")
		first := k.awaitAll(ready, objects)
		changed := k.setAll(objects, ready)
		endAll(first, changed, (*wait).endsReady)
		objects = k.setAll(objects, "pending")
		second := k.awaitAll(ready, objects)
		for _, w := range second {
			w.pending()
		}
		endAll(second, k.setAll(objects, ready), (*wait).endsReady)
	})
	r.onlyListsAndWatches()
	r.report()
}
