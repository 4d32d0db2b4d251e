package engine

import (
	"errors"
	"time"
)

// Status is where a wait stands, with its texts.
type Status struct {
	// Verdict is the one that counts now, or the last one of an ended wait.
	Verdict Verdict
	// For is how long the rule behind the verdict has to hold: the one that has
	// decided, or of several that are holding the first. 0: none has to.
	For time.Duration
	// ResourceVersion is the version judged, empty if nothing was.
	ResourceVersion string
	// Ended reports whether the wait has ended, Err how: nil for Done.
	Ended bool
	Err   error
}

// Status returns where the wait stands. While it is pending the predicate is
// asked for its texts, which costs about one evaluation; one that doesn't return
// within a second is done without. It is safe for concurrent use and changes nothing.
func (w *Waiter) Status() Status {
	o := w.object
	o.mu.Lock()
	s := Status{ResourceVersion: w.last.version}
	if w.outcome != nil {
		s.Ended, s.Err = true, w.errLocked()
		if w.outcome.result != nil {
			s.Verdict, s.ResourceVersion = w.outcome.result.Verdict, w.outcome.result.ResourceVersion
		} else if e := (*WaitError)(nil); errors.As(s.Err, &e) {
			s.Verdict, s.ResourceVersion = e.Verdict, e.ResourceVersion
		}
		s.For = holdTime(s.Verdict, w.rare().holds)
		o.mu.Unlock()
		return s
	}
	holds := w.rare().holds
	o.mu.Unlock()
	s.Verdict = w.describeWithin()
	s.For = holdTime(s.Verdict, holds)
	return s
}

// holdTime returns how long the rule behind the verdict has to hold.
func holdTime(v Verdict, holds []running) time.Duration {
	for _, r := range holds {
		if v.Reason == ReasonHolding && !v.Decisive() || v.Decisive() && r.hold.Rule == v.Rule {
			return r.hold.For
		}
	}
	return 0
}
