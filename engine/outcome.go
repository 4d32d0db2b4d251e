package engine

import (
	"context"
	"errors"
	"time"
)

// outcome is how a waiter ended. It isn't changed once it is made.
type outcome struct {
	result *Result
	err    error

	// Of a wait that was cut short the error is made when somebody asks for it, from
	// the waiter, which doesn't change any more: most callers that close one don't.
	cause    error // nil: err is as it is
	unsynced bool  // the informer had shown nothing yet
}

// cuts are the outcomes of waits that were cut short, which these share.
type cuts struct{ closed, superseded, stopped [2]outcome }

func newCuts() cuts {
	both := func(cause error) [2]outcome { return [2]outcome{{cause: cause}, {cause: cause, unsynced: true}} }
	return cuts{closed: both(ErrClosed), superseded: both(ErrSuperseded), stopped: both(ErrEngineStopped)}
}

func (c *cuts) of(cause error, unsynced bool) *outcome {
	both := &c.closed
	switch cause {
	case ErrSuperseded:
		both = &c.superseded
	case ErrEngineStopped:
		both = &c.stopped
	}
	if unsynced {
		return &both[1]
	}
	return &both[0]
}

// cutShort makes the outcome of a waiter that ends now without a verdict, by one
// of the causes that cuts has; object.mu is held.
func (w *Waiter) cutShort(cause error) *outcome {
	s := w.object.source
	x := w.extra
	if w.blocked != nil || s.isBlind() || x != nil && (x.holds != nil || x.timeout.hit) {
		// What is said of these changes with the time, or is forgotten at the end.
		return &outcome{err: w.waitErrorLocked(cause, w.statusLocked())}
	}
	if w.last.valid {
		w.turned = s.engine.sinceBorn()
	}
	return s.engine.cuts.of(cause, !s.listed.Load())
}

// errLocked returns the error that the waiter has ended with; object.mu is held.
func (w *Waiter) errLocked() error {
	if out := w.outcome; out.cause != nil {
		v := w.last.verdict(w.terms.id)
		if !w.last.valid {
			v.Reason, v.Message = w.object.source.nothingSeen(out.unsynced)
		}
		w.outcome = &outcome{err: w.waitErrorAt(w.turned, out.cause, v)}
	}
	return w.outcome.err
}

// kind says how the waiter ended.
func (o *outcome) kind() Outcome {
	cause := o.cause
	if cause == nil {
		cause = o.err
	}
	switch {
	case cause == nil:
		return OutcomeDone
	case o.result != nil && o.result.Verdict.Cause == CauseJudge:
		return OutcomeJudge
	case o.result != nil:
		return OutcomeFailed
	case errors.Is(cause, context.DeadlineExceeded):
		return OutcomeDeadline
	case errors.Is(cause, ErrClosed):
		return OutcomeClosed
	case errors.Is(cause, ErrSuperseded):
		return OutcomeSuperseded
	case errors.Is(cause, ErrEngineStopped):
		return OutcomeStopped
	}
	return OutcomeCanceled
}

// age is how long ago the waiter was registered.
func (w *Waiter) age() time.Duration {
	e := w.object.source.engine
	return e.clock.Since(e.born) - w.born
}

// logged is what a log says of the waiter, and of its end if it has ended.
func (w *Waiter) logged() []any {
	o := w.object
	o.mu.Lock()
	defer o.mu.Unlock()
	values := []any{
		"reference", o.ref().String(), "uid", w.barrier.pin, "operation", w.terms.operation,
		"predicate", w.terms.id.String(), "floor", w.barrier.floor.String(), "age", w.age(),
	}
	if w.outcome != nil {
		values = append(values, "outcome", w.outcome.kind(), "resourceVersion", w.last.version, "reason", w.verdictLocked().Reason)
	}
	return values
}
