package engine_test

import (
	"fmt"
	"slices"
)

// The oracle says how a wait may and must stand, by the rules of what is judged
// alone (events, the store's version before its key, floor, pin, unseen). It
// knows nothing of the engine: it keeps every state that the rules allow, and
// drops those that what is seen of the wait contradicts. None left: a rule was broken.

// sight is an object of a name, or its absence, at a version.
type sight struct {
	present    bool
	uid, state string // of an absence: whose it is, where known
	version    int
	tombstone  bool // look at the store instead
	gone       bool // as judged: a known object is gone
}

// storeView is one way in which a look may read the store: the version, then the key.
type storeView struct {
	version int
	key     sight
}

// belief is one state that a wait may be in.
type belief struct {
	floor                    int
	own                      int // the version of our own write
	pin                      string
	known, counting, looking bool
	unseen                   bool // the store has not reached the floor: to be looked at again
	owed                     bool // a look at the store is due
	judged                   bool
	last                     sight
	end                      string // how it has ended, empty: it has not
}

// oracle is all that is believed of one wait.
type oracle struct {
	predicate  string
	generation int
	states     map[belief]struct{}
}

func newOracle(predicate, uid string, generation int) *oracle {
	return &oracle{predicate, generation, map[belief]struct{}{{pin: uid, known: uid != ""}: {}}}
}

// each replaces every state that has not ended by what may become of it.
func (o *oracle) each(f func(b belief) []belief) {
	next := map[belief]struct{}{}
	for b := range o.states {
		if b.end != "" {
			next[b] = struct{}{}
			continue
		}
		for _, b := range f(b) {
			next[b] = struct{}{}
		}
	}
	o.states = next
}

// decision is what the predicate says of what was judged.
func (o *oracle) decision(s sight) string {
	switch {
	case o.predicate == "gone" && !s.present:
		return "Done absent"
	case o.predicate == "gone":
	case s.present && s.state == doneState(o.generation):
		return "Done"
	case s.present && s.state == "Failed":
		return "Failed"
	case !s.present && s.gone:
		return "Failed absent"
	}
	return ""
}

// settle ends a wait that looks and has a decisive verdict.
func (o *oracle) settle(b belief) belief {
	if b.end == "" && b.looking && b.judged {
		if d := o.decision(b.last); d != "" {
			b.end = fmt.Sprintf("%s @%d", d, b.last.version)
		}
	}
	return b
}

func (o *oracle) judge(b belief, s sight) belief {
	b.floor, b.unseen, b.judged, b.last = max(b.floor, s.version), false, true, s
	if s.present && b.looking {
		b.known = true
		if b.pin == "" {
			b.pin = s.uid
		}
	}
	return o.settle(b)
}

func (o *oracle) absent(b belief, version int) belief {
	return o.judge(b, sight{version: version, gone: b.known && b.counting})
}

func (o *oracle) present(b belief, s sight) belief {
	other := b.pin != "" && s.uid != b.pin
	switch {
	case s.version < b.floor, other && s.version == b.own, other && !(b.known && b.counting):
		return b
	case other:
		return o.absent(b, s.version)
	}
	return o.judge(b, s)
}

// event is what the handler is told. The end of another object than the one
// pinned says nothing; what is there now does.
func (o *oracle) event(b belief, s sight) belief {
	switch {
	case s.present:
		return o.present(b, s)
	case s.version < b.floor:
		return b
	case b.pin != "" && s.uid != b.pin:
		b.owed = true
		return b
	}
	return o.absent(b, s.version)
}

// look is a look at the store, read in one of these ways.
func (o *oracle) look(b belief, views []storeView) []belief {
	b.owed = false
	if len(views) == 0 { // not synced
		return []belief{b}
	}
	var all []belief
	for _, v := range views {
		switch b := b; {
		case v.key.present:
			b.unseen = false
			all = append(all, o.present(b, v.key))
		case v.version < b.floor:
			b.unseen = true
			all = append(all, b)
		default:
			all = append(all, o.absent(b, v.version))
		}
	}
	return all
}

// deliver is a burst of events: all that were delivered, of which mine are about
// the object. An update may merge into the next one of the same object; nothing
// merges across a deletion. shared: others on the object may look; so may whoever was
// told of an absence below the floor. What is owed is looked at in between or at the end.
func (o *oracle) deliver(mine []sight, views []storeView, shared bool) {
	shared = shared || slices.ContainsFunc(mine, func(s sight) bool { return !s.present })
	for i, s := range mine {
		o.each(func(b belief) []belief {
			if s.tombstone {
				return o.look(b, views)
			}
			all := []belief{o.event(b, s)}
			if i+1 < len(mine) && s.present && mine[i+1].present && s.uid == mine[i+1].uid {
				all = append(all, b)
			}
			for _, b := range all {
				if b.end == "" && (b.owed || b.unseen || shared) {
					all = append(all, o.look(b, views)...)
				}
			}
			return all
		})
	}
	o.catchUp(views)
	if shared {
		o.mayLook(views)
	}
}

// catchUp looks for those whom the store had not told enough.
func (o *oracle) catchUp(views []storeView) {
	o.each(func(b belief) []belief {
		if b.owed || b.unseen {
			return o.look(b, views)
		}
		return []belief{b}
	})
}

func (o *oracle) mustLook(views []storeView) {
	o.each(func(b belief) []belief { return o.look(b, views) })
}

// mayLook is a look for the sake of another wait on the same object.
func (o *oracle) mayLook(views []storeView) {
	o.each(func(b belief) []belief { return append(o.look(b, views), b) })
}

func (o *oracle) after(s sight, views []storeView) {
	o.each(func(b belief) []belief {
		b.floor, b.own, b.pin, b.known, b.counting = max(b.floor, s.version), s.version, s.uid, true, true
		b.judged = b.judged && b.last.present && b.last.uid == s.uid && b.last.version >= b.floor
		b.unseen = false
		return o.look(b, views)
	})
}

// wait looks; the newest observation counts, whatever was there before.
func (o *oracle) wait(views []storeView) {
	o.each(func(b belief) []belief {
		b.looking, b.counting = true, true
		all := o.look(b, views)
		for i := range all {
			all[i] = o.settle(all[i])
		}
		return all
	})
}

func (o *oracle) reload(generation int, views []storeView) {
	o.generation = generation
	o.each(func(b belief) []belief {
		if b = o.settle(b); b.end != "" {
			return []belief{b}
		}
		return o.look(b, views)
	})
}

// leave ends it for a reason of the caller's, after a last look if it was waited for.
func (o *oracle) leave(cause string, views []storeView) {
	if views != nil {
		o.mustLook(views)
	}
	o.each(func(b belief) []belief {
		b.end = cause
		return []belief{b}
	})
}
