package engine_test

import (
	"fmt"
	"maps"
	"slices"
)

// The oracle says how a wait may stand, by the rules of what is judged (events, looks
// at the store, floor, pin, unseen, hold times) and without the engine: it keeps every
// state that they allow, and drops what the wait contradicts. None left: one is broken.

// holdFor is for how many seconds the predicate "held" has to hold.
const holdFor = 2

// sight is an object of a name, or its absence, at a version.
type sight struct {
	present    bool
	uid, state string // of an absence: whose it is, where known
	version    int
	tombstone  bool // of no known version: the store says what is there
	gone       bool // as judged: a known object is gone
}

// belief is one state that a wait may be in.
type belief struct {
	floor, own                       int // own is the version of our own write
	pin                              string
	known, counting, looking, judged bool
	owed, unseen                     bool   // a look is due; it will be at the next event or second
	merged                           string // UID of an update that was passed over for a later one, which must come
	last                             sight
	since                            int // since when the predicate holds of it
	leaving, end                     string
}

// oracle is all that is believed of one wait.
type oracle struct {
	predicate       string
	generation, now int
	blind           bool
	views           []sight // what a look at the store may show now; none: nobody looks
	states          map[belief]struct{}
}

// each replaces every state that has not ended by what may become of it.
func (o *oracle) each(f func(b belief) []belief) {
	next := make(map[belief]struct{}, 2*len(o.states))
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

// holds reports whether the predicate holds, and has to for a time.
func (o *oracle) holds(s sight) bool {
	return o.predicate == "held" && s.present && s.state == doneState(o.generation)
}

// settle ends a wait that looks and has a decisive verdict. No hold time passes
// while the informer is blind.
func (o *oracle) settle(b belief) belief {
	end, s := "", b.last
	switch {
	case b.end != "", !b.looking, !b.judged:
	case o.predicate == "gone" && !s.present:
		end = "Done absent"
	case o.predicate == "gone", o.holds(s) && (o.blind || o.now-b.since < holdFor):
	case s.present && s.state == doneState(o.generation):
		end = "Done"
	case s.present && s.state == "Failed":
		end = "Failed"
	case s.gone:
		end = "Failed absent"
	}
	if end != "" {
		b = belief{end: fmt.Sprintf("%s @%d", end, s.version)}
	}
	return b
}

// see judges what an event or a look shows, if floor and pin let it.
func (o *oracle) see(b belief, s sight) belief {
	gone, other := b.known && b.counting, b.pin != "" && s.uid != b.pin
	switch {
	case !s.present:
		s = sight{version: s.version, gone: gone}
	case s.version < b.floor, other && (s.version == b.own || !gone):
		return b
	case other:
		s = sight{version: s.version, gone: true}
	case b.looking:
		b.known, b.pin = true, s.uid
	}
	if !o.holds(s) {
		b.since = 0
	} else if !b.judged || !o.holds(b.last) || b.last.uid != s.uid {
		b.since = o.now
	}
	b.floor, b.unseen, b.judged, b.last = max(b.floor, s.version), false, true, s
	return o.settle(b)
}

// look is a look at the store. It may come at any time: the store is ahead of the events.
func (o *oracle) look(b belief) (all []belief) {
	b.owed = false
	for _, s := range o.views {
		b := b
		if b.unseen = !s.present && s.version < b.floor; !b.unseen {
			b = o.see(b, s)
		}
		if b = o.settle(b); b.end == "" && b.leaving != "" {
			b = belief{end: b.leaving}
		}
		all = append(all, b)
	}
	return all
}

// told is an event of the object, or (nil) of another or a second that has passed. An
// update may be passed over for the next one of the same object. An absence below the
// floor, of another object or of no version says only that the store will tell.
func (o *oracle) told(s *sight) {
	o.each(func(b belief) (all []belief) {
		b.owed = b.owed || b.unseen
		if s == nil && b.owed {
			return append(o.look(b), b)
		} else if s == nil {
			return append(o.look(b), o.settle(b))
		}
		if b.merged != "" && (!s.present || s.uid != b.merged) {
			return nil
		}
		b.merged = ""
		for _, b := range append(o.look(b), b) {
			switch {
			case b.end != "":
			case s.tombstone, !s.present && (s.version < b.floor || b.pin != "" && s.uid != b.pin):
				b.owed = true
			case s.present:
				passed := b
				passed.merged = s.uid
				all = append(all, passed)
				fallthrough
			default:
				b = o.see(b, *s)
			}
			all = append(all, b)
		}
		return all
	})
}

// rest is when nothing is left to do: what is due was looked at.
func (o *oracle) rest() {
	o.each(func(b belief) (all []belief) {
		if all = o.look(b); !b.owed {
			all = append(all, b)
		}
		return slices.DeleteFunc(all, func(b belief) bool { return b.merged != "" })
	})
}

// change is what the caller does; then the store is looked at.
func (o *oracle) change(f func(b belief) belief) {
	o.each(func(b belief) []belief { b.owed = true; return []belief{f(b)} })
}

// after is the caller's own write. What was judged counts if it is ours and not older.
func (o *oracle) after(s sight) {
	o.change(func(b belief) belief {
		b.floor, b.own, b.pin, b.known, b.counting = max(b.floor, s.version), s.version, s.uid, true, true
		b.judged = b.judged && b.last.present && b.last.uid == s.uid && b.last.version >= b.floor
		b.unseen, b.merged = false, ""
		return b
	})
}

// reload is another predicate, which judges the newest observation at once.
func (o *oracle) reload() {
	o.generation++
	o.change(func(b belief) belief { b.since = o.now; return o.settle(b) })
}

// saw keeps the states that agree with what is seen; false if there are none.
func (o *oracle) saw(end string) bool {
	seen := maps.Clone(o.states)
	if maps.DeleteFunc(seen, func(b belief, _ struct{}) bool { return b.end != end }); len(seen) > 0 {
		o.states = seen
	}
	return len(seen) > 0
}
