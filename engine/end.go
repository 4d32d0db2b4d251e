package engine

import (
	"strings"
	"time"
)

// endLocked ends the waiter, once; object.mu is held. The caller detaches it.
func (o *object) endLocked(w *Waiter, outcome *outcome) {
	if done := o.decideLocked(w, outcome); done != nil {
		close(done)
	}
}

// decideLocked is endLocked but for the wake-up: it returns the channel that the
// caller closes, nil if nobody waits.
func (o *object) decideLocked(w *Waiter, outcome *outcome) (done chan struct{}) {
	if w.outcome != nil {
		return nil
	}
	w.unblock()
	x := w.extra
	if x != nil {
		w.stopTimer()
		x.timeout.stop()
		x.patience = stopTimer(x.patience)
	}
	w.outcome = outcome
	if x != nil {
		for m := x.joined; m != nil; m = m.next {
			m.joint.ended(w)
		}
	}
	if observer := o.source.engine.observer; observer != nil {
		observer.WaiterEnded(WaitEnd{Operation: w.terms.operation, Predicate: w.terms.id, Outcome: outcome.kind(), Took: w.age()})
	}
	return w.done
}

// decided makes the outcome of a decisive verdict.
func (w *Waiter) decided(v Verdict, now time.Time) *outcome {
	both := &struct { // in one piece: of many waiters that end at once this is most of the work
		outcome outcome
		result  Result
	}{result: Result{
		Absent:          w.last.object == nil,
		Verdict:         v,
		ResourceVersion: w.last.version,
		Delivered:       w.object.source.engine.born.Add(w.last.at),
		Ended:           now,
		object:          w.last.object,
	}}
	end := &both.outcome
	end.result = &both.result
	switch {
	case v.Decision == Done:
	case v.Cause == CauseJudge:
		end.err = w.waitErrorLocked(ErrJudge, v)
	default:
		end.err = w.waitErrorLocked(ErrFailed, v)
	}
	return end
}

// waitErrorLocked makes the error of a wait that ends now.
func (w *Waiter) waitErrorLocked(cause error, v Verdict) *WaitError {
	e := w.waitErrorAt(w.object.source.engine.sinceBorn(), cause, v)
	if s := w.object.source; s.isBlind() && v.Decision != Failed {
		e.Blind = s.lastBlindness()
	}
	if t := w.rare().timeout; t.hit {
		e.Timeout = t.after
	}
	return e
}

// waitErrorAt makes the error of a wait that ended then, as far as the waiter
// alone says it.
func (w *Waiter) waitErrorAt(ended time.Duration, cause error, v Verdict) *WaitError {
	e := &WaitError{
		Ref:       w.object.ref(),
		Operation: w.terms.operation,
		Predicate: w.terms.id,
		Verdict:   v,
		Cause:     cause,
	}
	e.Ref.UID = w.barrier.pin
	if w.last.valid {
		e.ResourceVersion = w.last.version
		e.Age = ended - w.last.at
	}
	return e
}

// statusLocked returns the verdict that counts now; where nothing was judged, it
// says why.
func (w *Waiter) statusLocked() Verdict {
	v := w.verdictLocked()
	switch {
	case w.last.valid:
	case w.blocked != nil:
		v.Reason, v.Message = ReasonBeforeBarrier, w.blocked.message(w.barrier.floor.String())
	default:
		v.Reason, v.Message = w.object.source.nothingSeen(!w.object.source.listed.Load())
	}
	return v
}

// nothingSeen says of a waiter that has judged nothing why.
func (s *source) nothingSeen(unsynced bool) (reason, message string) {
	if unsynced {
		return ReasonNotSynced, s.unsynced
	}
	return "", "nothing was seen of it yet"
}

// describe returns the waiter's verdict with its texts. The predicate is asked
// for them here, on the way out, and no lock is held meanwhile.
func (w *Waiter) describe(by *worker) Verdict {
	o, engine := w.object, w.object.source.engine
	o.mu.Lock()
	v, last, holds := w.statusLocked(), w.last, w.rare().holds
	terms, judge := w.terms, w.judge
	observation := last.observation(o.ref(), w.barrier.pin)
	o.mu.Unlock()
	if v.Decisive() || !last.valid || last.presence == outOfView {
		return v
	}
	if described := engine.call(by, terms, judge.Describe, PurposeDescribe, *observation).Verdict; !described.Decisive() {
		v = described
	}
	return describeHolds(v, holds, engine.clock.Now(), o.source.lastBlindness())
}

// explanation says in one text what a pending verdict says.
func explanation(v Verdict) string {
	text := v.Message
	switch missing := strings.Join(v.Missing, ", "); {
	case missing == "" || strings.Contains(text, missing):
	case text == "":
		text = "missing " + missing
	default:
		text += " (missing " + missing + ")"
	}
	switch {
	case v.Explanation == "":
	case text == "":
		text = v.Explanation
	default:
		text += "; " + v.Explanation
	}
	return text
}

// endAll ends every waiter of the object with the cause.
func (o *object) endAll(cause error) {
	var ended []*Waiter
	o.mu.Lock()
	for w := range o.all() {
		o.endLocked(w, w.cutShort(cause))
		ended = append(ended, w)
	}
	o.mu.Unlock()
	o.detach(ended...)
}
