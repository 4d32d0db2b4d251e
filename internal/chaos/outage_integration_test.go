//go:build integration

package chaos_test

import (
	"testing"
	"time"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/controlplane"
)

// end is how a server goes down.
type end bool

const (
	stopped end = false // in good order: watches are closed
	killed  end = true  // at once
)

// outage takes the server away under 70 waits, at least for that time: some objects change just before, some after it is
// back, some are deleted then, and some stay as they are until the end.
func outage(t *testing.T, server *controlplane.Server, how end, absence time.Duration) {
	r := newRig(t, server)
	type part struct {
		before, after, deleted, quiet                       []written
		readyBefore, readyAfter, failed, gone, stillWaiting []*wait
	}
	parts := map[*kind]*part{}
	r.each(func(k *kind) {
		p := &part{
			before: k.several(10, "before"), after: k.several(10, "after"),
			deleted: k.several(5, "deleted"), quiet: k.several(5, "quiet"),
		}
		parts[k] = p
		p.readyBefore, p.readyAfter = k.awaitAll(ready, p.before), k.awaitAll(ready, p.after)
		p.failed, p.gone = k.awaitAll(ready, p.deleted), k.awaitAll(gone, p.deleted)
		p.stillWaiting = k.awaitAll(ready, p.quiet)
	})
	r.each(func(k *kind) { parts[k].before = k.setAll(parts[k].before, ready) })
	if how == killed {
		must(t, server.Kill())
	} else {
		must(t, server.Stop(t.Context()))
	}
	r.eventually("the engine says that it is blind", func() error { return r.blind(2) })
	r.proxy.Refuse() // as the kernel does for a client that has no proxy
	r.stay(absence)
	r.restart()
	must(t, r.proxy.Resume())
	back := time.Now()
	last := map[*kind]written{}
	r.each(func(k *kind) {
		p := parts[k]
		p.after = k.setAll(p.after, ready)
		p.deleted = k.removeAll(p.deleted)
		last[k] = k.set(p.quiet[0].GetName(), "touched")
	})
	r.each(func(k *kind) {
		p := parts[k]
		endAll(p.readyBefore, p.before, (*wait).endsReady)
		endAll(p.readyAfter, p.after, (*wait).endsReady)
		endAll(p.failed, p.deleted, failsFor(engine.ReasonObjectDeleted))
		endAll(p.gone, p.deleted, (*wait).endsGone)
	})
	r.settled(last)
	r.recovered(back, last)
	r.eventually("the engine says that it sees again", func() error { return r.blind(0) })
	r.each(func(k *kind) {
		p := parts[k]
		for _, w := range p.stillWaiting {
			w.pending()
		}
		endAll(p.stillWaiting, k.setAll(p.quiet, ready), (*wait).endsReady)
	})
	r.onlyListsAndWatches()
	r.report()
}

// awaitAll begins a wait on each object.
func (k *kind) awaitAll(predicate string, objects []written) []*wait {
	k.Helper()
	waits := make([]*wait, len(objects))
	for i, object := range objects {
		waits[i] = k.await(predicate, object)
	}
	return waits
}

// setAll writes the state of each object.
func (k *kind) setAll(objects []written, state string) []written {
	k.Helper()
	changed := make([]written, len(objects))
	for i, object := range objects {
		changed[i] = k.set(object.GetName(), state)
	}
	return changed
}

// removeAll deletes each object.
func (k *kind) removeAll(objects []written) []written {
	k.Helper()
	removed := make([]written, len(objects))
	for i, object := range objects {
		removed[i] = k.remove(object)
	}
	return removed
}

// endAll expects the end of each wait by the write of the same index.
func endAll(waits []*wait, by []written, ends func(*wait, written)) {
	for i, w := range waits {
		w.Helper()
		ends(w, by[i])
	}
}

// recovered logs how long the informers took to catch up.
func (r *rig) recovered(since time.Time, until map[*kind]written) {
	r.Helper()
	r.each(func(k *kind) {
		if at, ok := k.seen.reached(until[k].GetResourceVersion()); ok {
			r.Logf("the informer of %s recovered in %v", k.gvr.Resource, at.Sub(since).Round(time.Millisecond))
		}
	})
}

// stay lets real time pass: how long the outage lasts is what the test is about.
func (r *rig) stay(d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
