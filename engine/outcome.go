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
