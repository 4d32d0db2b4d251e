package engine

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Do registers, writes and waits: the ordinary path of a caller. It returns what
// Wait returns.
//
// What write returns sets the barrier. It is the object as the server returned
// it, of several writes the last one's. If nothing had to be written, or the
// object was found to exist, it is the object that the decision was made on; for
// a DELETE the object that was deleted. (nil, ErrGone) says that the server
// itself had no such object: Do then ends at once on its absence, as the
// predicate judges that. With any other error Do returns that error unchanged,
// and no wait is left behind.
func (e *Engine) Do(ctx context.Context, req Request, write func(context.Context) (metav1.Object, error)) (*Result, error) {
	w, err := e.Register(req)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	written, err := write(ctx)
	switch {
	case errors.Is(err, ErrGone):
		w.serverGone()
	case err != nil:
		return nil, err
	case written == nil:
		return nil, fmt.Errorf("waiting for %s on %s: the write returned neither an object nor an error: return the written object, or ErrGone", orPredicate(req), req.Ref)
	default:
		if err := w.After(written); err != nil {
			return nil, err
		}
	}
	return w.Wait(ctx)
}

func orPredicate(req Request) string {
	if req.Operation != "" {
		return req.Operation
	}
	return "predicate " + req.Predicate
}

// serverGone says that the server itself had no such object: before anything else it
// is judged as deleted, whatever the cache still shows.
func (w *Waiter) serverGone() {
	o := w.object
	o.mu.Lock()
	defer o.mu.Unlock()
	w.gone = true
	o.gone = true
	o.scheduleLocked()
}

// planGone plans the judgement of the absence that the server itself told of.
func (o *object) planGone(w *Waiter, s *sighting) []job {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.gone = false
	if w.outcome != nil {
		return nil
	}
	w.barrier.look()
	w.barrier.known = true
	w.forget()
	return []job{w.jobLocked(observationOf(o.ref(), Deleted, s, w.barrier.pin))}
}
