package engine

import "sync/atomic"

// Who looks at waits, as the live list does, is held by no predicate: it is asked for
// words on a goroutine of its own, and waited for no longer than leaveWithin. One
// that never returns keeps that goroutine, so it isn't asked again before it has.

// describeWithin is describe for a caller who isn't on the way out of a wait.
func (w *Waiter) describeWithin() Verdict {
	o := w.object
	clock := o.source.engine.clock
	o.mu.Lock()
	v, holds, pace := w.statusLocked(), w.rare().holds, w.terms.pace
	asked := !v.Decisive() && w.last.valid && w.last.presence != outOfView
	o.mu.Unlock()
	if !asked {
		return v
	}
	if pace.silent.Load() == 0 {
		const returned, late = 1, 2
		var state atomic.Int32
		said := make(chan Verdict, 1)
		go func() {
			said <- w.describe(nil)
			if !state.CompareAndSwap(0, returned) {
				pace.silent.Add(-1)
			}
		}()
		patience := clock.NewTimer(leaveWithin)
		defer patience.Stop()
		select {
		case v := <-said:
			return v
		case <-patience.C():
		}
		pace.silent.Add(1)
		if !state.CompareAndSwap(0, late) {
			pace.silent.Add(-1) // it has returned after all
			return <-said
		}
	}
	v = describeHolds(v, holds, clock.Now(), o.source.lastBlindness())
	v.Message = joined(v.Message, silent)
	return v
}
