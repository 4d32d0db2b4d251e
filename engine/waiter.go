package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Waiter is one caller's interest in one reference and one predicate, made by
// Engine.Register and given back by Close. Its methods are safe for concurrent
// use. It ends exactly once: by a verdict, the context's error, the binding's
// timeout, the engine's stop or Close; then it keeps what ended it.
type Waiter struct {
	// All but the caller's part is guarded by object.mu. It is small, because a
	// program may have a great many waiters: what few of them need is in extra, and
	// what all of one kind share is in terms. What an event needs comes first.

	outcome *outcome
	next    *Waiter  // in the object's list
	extra   *extra   // nil: nothing of it is needed
	blocked *blocked // why nothing is judged yet; nil: nothing to say

	again   bool   // the newest sighting is to be judged again
	begun   bool   // Wait or Done was called; they look at the next look or delivery
	gone    bool   // the server itself said that there is no such object; not judged yet
	begunAt uint32 // what had been delivered of the object when it began (object.delivered)
	epoch   uint32 // raised when barrier or last change under an evaluation that runs
	changes uint32 // raised when the judge changes under an evaluation that runs

	barrier barrier
	judge   Judge
	terms   *terms
	last    judged // the newest sighting judged

	prev   *Waiter       // in the object's list
	done   chan struct{} // made when somebody wants it
	turned time.Duration // when Wait or Done was called or, once it was cut short, when that was; as born
	number uint32        // of the set that it has been moved to, or left behind by

	// The caller's, which doesn't change.
	object *object
	params Params
	born   time.Duration // when it was registered, since the engine was made
}

// After says that the caller has written the object: written is what the server
// returned. From now on no older observation and no other object of the name
// counts, and if the object is gone it is Deleted, not never there. It replaces
// the barrier of an earlier After. An object of another namespace, name or kind
// is an error, and so is After on a waiter that has ended.
func (w *Waiter) After(written metav1.Object) error {
	o := w.object
	if err := o.checkWritten(written); err != nil {
		return fmt.Errorf("barrier of the wait on %s: %w: give the object that the write returned", o.ref(), err)
	}
	version, uid := written.GetResourceVersion(), written.GetUID()
	o.mu.Lock()
	if w.outcome != nil {
		o.mu.Unlock()
		return fmt.Errorf("barrier of the wait on %s: the wait has ended: %w", o.ref(), w.endedAs())
	}
	w.barrier.after(version, uid)
	w.keepAfter()
	w.epoch++
	o.look = true
	o.scheduleLocked()
	o.mu.Unlock()
	if !comparableVersion(version) {
		o.source.warnUncomparable(version)
	}
	return nil
}

// keepAfter forgets what was judged before After unless it is our object at or
// above the floor: then the handler was told before the write returned.
func (w *Waiter) keepAfter() {
	l, b := &w.last, &w.barrier
	ours := l.valid && l.uid != "" && l.uid == b.pin
	if ours && l.presence == Present && compareVersions(l.version, b.floor.String()) >= at {
		b.reached = true
		return
	}
	// Its deletion was delivered, so the informer has been past our write; the
	// look that After asks for judges it as such.
	b.reached = ours && l.presence != Present
	w.forget()
}

// forget drops what was judged, and the hold times with it.
func (w *Waiter) forget() {
	w.last = judged{}
	w.again = false
	w.dropRetry()
	w.unblock()
	w.dropHolds()
}

// Wait blocks until the wait ends. The newest observation delivered is judged
// before the context is looked at: a verdict that is there by then wins, even
// over a context that has ended before. So Wait can outlast its context, by no
// more than one second: if a predicate hasn't judged by then, the wait ends with
// what was judged last, and the error says so (ReasonNotJudged). The binding's
// timeout, which ends a wait in the same way, runs from the first call of Wait or
// Done.
//
// The result is not nil if and only if a verdict ended the wait, and the error
// is nil if and only if that verdict is Done; otherwise it is a *WaitError. The
// end of the context ends the waiter: a later Wait returns the same error.
func (w *Waiter) Wait(ctx context.Context) (*Result, error) {
	done := w.begin()
	logger := klog.FromContext(ctx).V(4)
	if logger.Enabled() {
		logger.Info("Waiting", w.logged()...)
	}
	select {
	case <-done:
	case <-ctx.Done():
		w.leave(ctx.Err())
		<-done
	}
	if logger.Enabled() {
		logger.Info("Wait ended", w.logged()...)
	}
	return w.Result()
}

// Done begins the wait, as Wait does but without a context, and returns a
// channel that is closed when it has ended. Call After before it.
func (w *Waiter) Done() <-chan struct{} { return w.begin() }

// Result returns what Wait returned or would return. Before the end it is
// (nil, ErrUnfinished).
func (w *Waiter) Result() (*Result, error) {
	w.object.mu.Lock()
	defer w.object.mu.Unlock()
	if w.outcome == nil {
		return nil, ErrUnfinished
	}
	return w.outcome.result, w.errLocked()
}

// Close gives the waiter back; a Wait that is running ends with ErrClosed. An
// ended waiter keeps its result. Close may be called any number of times.
func (w *Waiter) Close() { w.end(ErrClosed) }

// begin has the waiter look, and arms the binding's timeout, once.
func (w *Waiter) begin() <-chan struct{} {
	o := w.object
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.done == nil {
		w.done = make(chan struct{})
		if w.outcome != nil {
			close(w.done)
		}
	}
	if w.outcome == nil && !w.begun {
		w.begun, w.begunAt = true, o.delivered
		w.armTimeout()
		o.look = true
		o.scheduleLocked()
	}
	return w.done
}

// endedAs returns the error of an ended waiter, or says that it was done.
func (w *Waiter) endedAs() error {
	if _, err := w.Result(); err != nil {
		return err
	}
	return errors.New("the operation is done")
}

// checkWritten refuses a written object that can't be the one awaited.
func (o *object) checkWritten(written metav1.Object) error {
	if written == nil || reflect.ValueOf(written).Kind() == reflect.Pointer && reflect.ValueOf(written).IsNil() {
		return errors.New("the written object is nil")
	}
	if written.GetNamespace() != o.key.Namespace || written.GetName() != o.key.Name {
		return fmt.Errorf("the written object is %s/%s", written.GetNamespace(), written.GetName())
	}
	return o.source.checkKind(written)
}
