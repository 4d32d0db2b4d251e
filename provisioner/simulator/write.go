package simulator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// errGone: the object, or the one that was meant, no longer exists.
var errGone = errors.New("the object is gone")

// writeTries bounds the tries of one write: with the pauses between them, some
// two minutes of an API server that doesn't answer.
const writeTries = 20

// customResource is an object that is written, T being a pointer type.
type customResource[T any] interface {
	metav1.Object
	DeepCopy() T
}

// objectClient is what of a typed client is used.
type objectClient[T any] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// writeStatus applies change to a copy of object and writes its status. After a
// conflict change is applied to the live object, so it has to look at what it
// is given. It returns the object as written, or as it is if change left it
// alone; change's own error ends the write.
func writeStatus[T customResource[T]](ctx context.Context, client objectClient[T], object T, change func(T) error) (T, error) {
	return write(ctx, client, client.UpdateStatus, "status", object, change)
}

// writeMain is writeStatus for everything but the status.
func writeMain[T customResource[T]](ctx context.Context, client objectClient[T], object T, change func(T) error) (T, error) {
	return write(ctx, client, client.Update, "object", object, change)
}

func write[T customResource[T]](
	ctx context.Context, client objectClient[T],
	put func(context.Context, T, metav1.UpdateOptions) (T, error), part string,
	object T, change func(T) error,
) (T, error) {
	uid, name := object.GetUID(), object.GetNamespace()+"/"+object.GetName()
	backoff := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: writeTries, Cap: 10 * time.Second}
	live := object
	var attempted T
	var last error
	for range writeTries {
		if last != nil {
			if err := sleep(ctx, backoff.Step()); err != nil {
				return live, err
			}
			got, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
			if err == nil && got.GetUID() != uid || apierrors.IsNotFound(err) {
				return live, errGone
			}
			if err != nil {
				if last = err; !worthRetry(err) {
					return live, fmt.Errorf("read %s again to write its %s: %w", name, part, err)
				}
				continue
			}
			live = got
			if sameButVersion(live, attempted) {
				return live, nil // it was written, and only the answer was lost
			}
		}
		changed := live.DeepCopy()
		if err := change(changed); err != nil {
			return live, err
		}
		if equality.Semantic.DeepEqual(live, changed) {
			return live, nil
		}
		attempted = changed
		written, err := put(ctx, changed, metav1.UpdateOptions{})
		switch {
		case err == nil:
			return written, nil
		case apierrors.IsNotFound(err):
			return live, errGone
		case ctx.Err() != nil:
			return live, ctx.Err()
		case !worthRetry(err):
			return live, fmt.Errorf("write the %s of %s: %w", part, name, err)
		}
		last = err
	}
	return live, fmt.Errorf("write the %s of %s, %d tries: %w", part, name, writeTries, last)
}

// sameButVersion reports whether two objects differ in nothing but what the
// server sets at each write.
func sameButVersion[T customResource[T]](a, b T) bool {
	b = b.DeepCopy()
	b.SetResourceVersion(a.GetResourceVersion())
	b.SetGeneration(a.GetGeneration())
	b.SetManagedFields(a.GetManagedFields())
	return equality.Semantic.DeepEqual(a, b)
}

// worthRetry says whether the same request may succeed later.
func worthRetry(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) {
		return true
	}
	// Not an answer of the server at all: it is down, or was restarted. Its token
	// and certificate stay, but a server that starts may refuse a token for a moment.
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsUnauthorized(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err)
}
