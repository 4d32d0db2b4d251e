package engine

import "k8s.io/utils/clock"

// extra is the part of a waiter that few waiters need, made when one does.
type extra struct {
	key     string   // what it supersedes by; empty: nothing
	shadows *shadows // nil: there are none
	retry   *retry   // nil: judging has not failed
	holds   []running
	timer   clock.Timer // for the next hold time that passes, or the next retry
	leaving error       // why a Wait that is on its way out ends, once the newest was judged
	timeout timeout

	patience clock.Timer // for the end of a Wait that is on its way out
	joined   *membership // the joint waits that it is part of
}

// rare returns the waiter's rare part for reading; object.mu is held.
func (w *Waiter) rare() extra {
	if w.extra == nil {
		return extra{}
	}
	return *w.extra
}

// need returns the waiter's rare part for writing; object.mu is held.
func (w *Waiter) need() *extra {
	if w.extra == nil {
		w.extra = &extra{}
	}
	return w.extra
}

// setShadows puts other shadows in the place of those that the waiter has.
func (w *Waiter) setShadows(s *shadows) {
	if w.extra != nil || s != nil {
		w.need().shadows = s
	}
}

// dropRetry forgets that judging has failed.
func (w *Waiter) dropRetry() {
	if w.extra != nil {
		w.extra.retry = nil
	}
}
