package engine

import (
	"fmt"
	"time"
)

// leaveWithin is how long a wait may outlast the end of its context, or of its
// binding's timeout, to have its newest observation judged and explained.
const leaveWithin = time.Second

// silent is said where the predicate was asked what is still false, in vain.
const silent = "what is still false is not known: the predicate did not say it within 1s"

// leave has the waiter end with the cause once the newest observation was judged,
// and after leaveWithin in any case: a predicate that never returns holds nobody.
func (w *Waiter) leave(cause error) {
	o := w.object
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.outcome == nil && w.rare().leaving == nil {
		x := w.need()
		x.leaving = cause
		x.patience = o.source.engine.afterFunc(leaveWithin, w.leaveNow)
		o.look = true
		o.scheduleLocked()
	}
}

// letGo ends those who are leaving and have no verdict, with the predicate's own
// explanation of what was still false. One whose predicate has become another
// meanwhile stays until that has judged.
func (o *object) letGo(leaving []*Waiter, by *worker) {
	var gone []*Waiter
	for _, w := range leaving {
		v := w.describe(by)
		o.source.blindness() // may find that it sees again
		o.mu.Lock()
		if now := w.verdictLocked(); !w.again && now.Decisive() { // a hold time has passed meanwhile
			o.endLocked(w, w.decided(now, o.source.engine.clock.Now()))
		} else if w.outcome == nil && !w.again {
			e := w.waitErrorLocked(w.rare().leaving, v)
			e.Explanation = explanation(v)
			o.endLocked(w, &outcome{err: e})
		}
		if w.outcome != nil {
			gone = append(gone, w)
		}
		o.mu.Unlock()
	}
	o.detach(gone...)
}

// leaveNow ends a waiter that is leaving by what was judged last, because a
// predicate on its object takes too long.
func (w *Waiter) leaveNow() {
	o := w.object
	s := o.source
	newest, shown := s.lookAt(o.key)
	s.blindness() // may find that it sees again
	s.mu.Lock()
	defer s.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.outcome != nil {
		return
	}
	o.endLocked(w, w.leftLocked(&newest, shown))
	o.detachLocked(w)
}

// leftLocked makes the outcome of leaveNow; newest is what the store shows.
func (w *Waiter) leftLocked(newest *sighting, shown bool) *outcome {
	v, now := w.statusLocked(), w.object.source.engine.clock.Now()
	unjudged := w.unjudged(newest, shown)
	if v.Decisive() && !unjudged {
		return w.decided(v, now)
	}
	why := silent
	if unjudged {
		why = "the newest observation" + atVersion(newest.version) + " was not judged within " + leaveWithin.String() + ": a predicate on this object is slow"
		if v.Decisive() {
			v = Verdict{Predicate: v.Predicate} // of an older one: it may be revoked
		}
	}
	v = describeHolds(v, w.rare().holds, now, w.object.source.lastBlindness())
	if unjudged && v.Reason == "" {
		v.Reason = ReasonNotJudged
	}
	v.Message = joined(v.Message, why)
	e := w.waitErrorLocked(w.extra.leaving, v)
	e.Explanation = explanation(v)
	return &outcome{err: e}
}

// joined is two texts in one, the first of which may be empty.
func joined(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}

// unjudged reports whether what the store shows would be judged, and has not been.
func (w *Waiter) unjudged(newest *sighting, shown bool) bool {
	if w.gone || w.again {
		return true
	}
	if !shown {
		return false
	}
	w.barrier.look()
	version := rank(newest.version)
	order := w.barrier.order(&version)
	presence, admission := w.barrier.admit(newest, order)
	return admission == admitted && !w.last.same(newest, &version, w.object.source.inView(presence, newest), w.barrier.newer(order))
}

func atVersion(version string) string {
	if version == "" {
		return ""
	}
	return fmt.Sprintf(" (resourceVersion %s)", version)
}
