package provisioner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// tries counts what a write did.
type tries struct {
	attempts, reads int
	refuse          int // how many attempts are refused
	err             error
	live            *int
}

func (w *tries) write(ctx context.Context, current *int) (*int, error) {
	return write(ctx, clock.RealClock{}, "write it", current, func(_ context.Context, current *int) (*int, error) {
		w.attempts++
		if w.attempts <= w.refuse {
			return nil, w.err
		}
		return current, nil
	}, func(context.Context) (*int, error) {
		w.reads++
		return w.live, nil
	})
}

func conflict() error {
	return apierrors.NewConflict(v1beta2.Resource("azvolumes"), "v", errors.New("version"))
}

// X1–X3: retried at once on the live object, five tries in all, one read after
// each 409, never past the context.
func TestX1_X2_X3_WriteRetriesConflicts(t *testing.T) {
	cached, live := 1, 2
	for _, row := range []struct {
		name            string
		refuse          int
		err             error
		attempts, reads int
		got             *int
		code            codes.Code
		least, most     time.Duration
	}{
		{"no conflict", 0, nil, 1, 0, &cached, codes.OK, 0, 0},
		{"one conflict", 1, conflict(), 2, 1, &live, codes.OK, 0, 0},
		{"exists already", 1, apierrors.NewAlreadyExists(v1beta2.Resource("azvolumes"), "v"), 2, 1, &live, codes.OK, 0, 0},
		{"four conflicts", 4, conflict(), 5, 4, &live, codes.OK, 56 * time.Millisecond, 84 * time.Millisecond},
		{"for ever", 9, conflict(), 5, 4, nil, codes.Aborted, 56 * time.Millisecond, 84 * time.Millisecond},
		{"gone", 1, apierrors.NewNotFound(v1beta2.Resource("azvolumes"), "v"), 2, 0, nil, codes.OK, 0, 0},
		{"other errors", 9, apierrors.NewServiceUnavailable("starting"), 1, 0, nil, codes.Unavailable, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &tries{refuse: row.refuse, err: row.err, live: &live}
				started := time.Now()
				got, err := w.write(t.Context(), &cached)
				if took := time.Since(started); took < row.least || took > row.most {
					t.Errorf("took %s, want %s to %s", took, row.least, row.most)
				}
				if Code(err) != row.code || got != row.got || w.attempts != row.attempts || w.reads != row.reads {
					t.Errorf("%v, %v after %d attempts and %d reads", got, err, w.attempts, w.reads)
				}
			})
		})
	}
}

func TestX3_WriteStopsAtTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		live := 1
		w := &tries{refuse: 9, err: conflict(), live: &live}
		started := time.Now()
		_, err := w.write(ctx, nil)
		if Code(err) != codes.DeadlineExceeded || time.Since(started) != 5*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(started))
		}
	})
}

// The engine is told of an absence by the error itself.
func TestWritePassesErrGoneOn(t *testing.T) {
	w := &tries{refuse: 1, err: engine.ErrGone}
	if _, err := w.write(t.Context(), nil); err != engine.ErrGone || w.attempts != 1 {
		t.Errorf("%v after %d attempts", err, w.attempts)
	}
}
