package engine

import "k8s.io/apimachinery/pkg/types"

// barrier keeps a waiter from being decided by what came before its caller's own
// write (the floor) or by another object of the same name (the pin).
type barrier struct {
	// floor is the version below which nothing is judged, inclusive; a judged
	// version raises it. Zero: none, or (written) one that is empty.
	floor level
	// pin is the UID of the one object that the wait is about, empty until known.
	pin types.UID
	// known: the reference, After or Wait has met the object, so that its absence
	// means that it is gone.
	known bool
	// written: After gave the floor.
	written bool
	// own: the floor is the version that After gave. Nothing else has that one; a
	// version judged may be that of a deletion and of the object that took the
	// name, in one update.
	own bool
	// looking: Wait has looked.
	looking bool
	// counting: After or Wait has been called; before, nothing counts as gone.
	counting bool
	// reached: the informer has been seen at or past the floor. It stands in for
	// the comparison where versions can't be compared.
	reached bool
}

// admission is what the barrier says of a sighting.
type admission int8

const (
	dropped  admission = iota // not ours, or older than our write
	lookup                    // not ours, but the store may tell of ours
	unseen                    // the store has not caught up with the floor
	admitted                  // to be judged
)

// order relates a version to the floor; without a floor everything is above it.
func (b *barrier) order(v *ranked) order {
	if b.floor == (level{}) && !b.written {
		return above
	}
	return v.to(b.floor)
}

// newer reports whether a version in that order to the floor is above all that
// were judged: these have raised the floor, if they could be compared.
func (b *barrier) newer(order order) bool { return order == above && b.floor.number != 0 }

// counts reports whether an absence or another UID may mean that the object is gone.
func (b *barrier) counts() bool { return b.known && b.counting }

// admit says whether the sighting may be judged, and as what. order is that of its
// version.
func (b *barrier) admit(s *sighting, order order) (Presence, admission) {
	// What the store doesn't hold isn't there, whoever was there before.
	absentInStore := !s.present() && s.fromStore()
	other := b.pin != "" && s.uid != "" && s.uid != b.pin
	switch {
	case order == below && absentInStore:
		return 0, unseen
	case order == below && !s.present():
		return 0, lookup // from now on no event need come: wait for the store
	case order == below:
		return 0, dropped
	case order == unknown && !b.reached:
		if a := b.admitUnordered(s, other); a != admitted {
			return 0, a
		}
	case other && !s.present() && !absentInStore:
		return 0, lookup // the end of another: what is there now?
	case other && order == at && b.own && !absentInStore:
		return 0, dropped // older than our write, which has this version
	}
	switch {
	case s.present() && !other:
		return Present, admitted
	case s.present() && !b.counts():
		return 0, dropped
	case s.present():
		return Replaced, admitted
	case !b.counts():
		return NeverExisted, admitted
	case s.replaced:
		return Replaced, admitted
	}
	return Deleted, admitted
}

// admitUnordered decides where versions can't be compared and the informer has
// not been seen past the floor yet: the floor counts as reached at the first
// delivery of our object after After. The unseen timer sees to it that a
// delivery that came before doesn't leave the wait hanging.
func (b *barrier) admitUnordered(s *sighting, other bool) admission {
	switch {
	case s.via == viaEvent && !other:
		return admitted
	case s.via == viaEvent:
		return dropped
	case s.via == viaTombstone && b.pin != "" && s.uid == b.pin:
		return admitted // gone for good, whatever the version
	case s.present() && !other && s.version != "" && s.version == b.floor.String():
		return admitted // our own write
	}
	return unseen
}

// judged raises the floor to a version judged, and pins the first object that
// Wait judged present.
func (b *barrier) judged(version *ranked, uid types.UID, p Presence) {
	if version.comparable {
		if order := version.to(b.floor); order == above || order == unknown {
			b.floor, b.own = version.level(), false
		}
	}
	b.reached = true
	if p == Present && b.looking {
		b.known = true
		if b.pin == "" {
			b.pin = uid
		}
	}
}

// look says that Wait looks from now on.
func (b *barrier) look() { b.looking, b.counting = true, true }

// after sets the barrier of the caller's own write. A version judged already
// stays the floor if it is the newer one.
func (b *barrier) after(written string, uid types.UID) {
	own := rank(written)
	if own.to(b.floor) != below {
		b.floor, b.own = own.level(), true
	} else {
		b.own = false
	}
	b.written, b.known, b.counting, b.reached = true, true, true, false
	if uid != "" {
		b.pin = uid
	}
}

// dropFloor forgets the floor, because the server's versions went back.
func (b *barrier) dropFloor() {
	b.floor, b.own, b.written, b.reached = level{}, false, false, false
}
