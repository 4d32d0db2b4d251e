package engine

import (
	"context"
	"errors"
	"time"
)

// kind says how the waiter ended.
func (o *outcome) kind() Outcome {
	switch err := o.err; {
	case err == nil:
		return OutcomeDone
	case o.result != nil && o.result.Verdict.Cause == CauseJudge:
		return OutcomeJudge
	case o.result != nil:
		return OutcomeFailed
	case errors.Is(err, context.DeadlineExceeded):
		return OutcomeDeadline
	case errors.Is(err, ErrClosed):
		return OutcomeClosed
	case errors.Is(err, ErrSuperseded):
		return OutcomeSuperseded
	case errors.Is(err, ErrEngineStopped):
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
		"predicate", w.terms.id.String(), "floor", w.barrier.floor, "age", w.age(),
	}
	if w.outcome != nil {
		values = append(values, "outcome", w.outcome.kind(), "resourceVersion", w.last.version, "reason", w.verdictLocked().Reason)
	}
	return values
}
