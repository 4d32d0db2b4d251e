package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// errLate: what was to be done didn't come to its end in time.
var errLate = errors.New("out of time")

// panicError is what panicked, and where.
type panicError struct {
	reason any
	stack  []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.reason) }

// timed returns what f returns if it does so before the time is over and before ctx
// ends, and without a panic. Otherwise f is left behind: it must share nothing with
// its caller that either still writes.
func timed[T any](ctx context.Context, limit time.Duration, f func(context.Context) T) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil {
				o.err = &panicError{r, debug.Stack()}
			}
			ended <- o
		}()
		o.value = f(ctx)
	}()
	var none T
	select {
	case o := <-ended:
		if o.err != nil {
			return none, o.err
		}
		// What gave up because the time was over has judged nothing.
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		return o.value, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
