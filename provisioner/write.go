package provisioner

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

const (
	writeTries = 5
	firstPause = 10 * time.Millisecond // before the third try; the second comes at once
)

// write calls attempt until it isn't refused for a conflict. attempt decides on
// the object that it is given, and on nothing else; nil means that the object
// doesn't exist. It returns the object that the wait's barrier is taken from: the
// one it wrote, or the one it decided on if there was nothing to write.
//
// After a 409 the object is read again from the server, and once it is known to
// be gone attempt is asked again with nil. Five tries, the second at once, the
// others after 10 ms, 20 ms and 40 ms with jitter, then Aborted.
func write[T any](
	ctx context.Context, clock clock.Clock, what string, current *T,
	attempt func(context.Context, *T) (*T, error), live func(context.Context) (*T, error),
) (*T, error) {
	for try := 1; ; try++ {
		written, err := attempt(ctx, current)
		gone := objectNotFound(err)
		conflict := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
		if !gone && !conflict {
			return written, asError(ctx, err, what)
		}
		if try == writeTries {
			return nil, wrapError(codes.Aborted, err, "%s: still refused after %d tries, call again", what, writeTries)
		}
		if try > 1 {
			if err := pause(ctx, clock, firstPause<<(try-2)); err != nil {
				return nil, asError(ctx, err, what)
			}
		}
		if gone {
			current = nil // the server itself has said so
			continue
		}
		if current, err = live(ctx); err != nil {
			return nil, asError(ctx, err, what)
		}
	}
}

// pause waits for d, give or take a fifth, or until the context ends.
func pause(ctx context.Context, clock clock.Clock, d time.Duration) error {
	jittered := d*4/5 + rand.N(d*2/5)
	timer := clock.NewTimer(jittered)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
