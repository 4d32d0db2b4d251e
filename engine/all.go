package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
)

// Joint is several waiters waited for together, made by All or Any. It owns
// nothing: whoever registered the waiters closes them. It is safe for concurrent
// use.
type Joint struct {
	waiters []*Waiter
	any     bool
}

// All joins waiters so that one Wait, with one deadline, waits until all of them
// are done.
func All(waiters ...*Waiter) *Joint { return &Joint{waiters: waiters} }

// Any joins waiters so that one Wait waits until the first of them is done.
func Any(waiters ...*Waiter) *Joint { return &Joint{waiters: waiters, any: true} }

// Wait blocks until all of the waiters are done, or until one has ended in
// another way: that ends the whole at once. Of Any it blocks until one is done or
// all have ended in another way. The other waiters then go on.
//
// The end of the context ends every waiter, as it does in Waiter.Wait, each once
// its newest observation was judged; a verdict that is there by then wins.
//
// Result i is that of waiter i, nil unless a verdict has ended it. The error is
// nil if and only if all of them (of Any: at least one) are done; otherwise it is
// a *JointError that lists every waiter that is not.
func (j *Joint) Wait(ctx context.Context) ([]*Result, error) {
	if len(j.waiters) == 0 && j.any {
		return nil, errors.New("waiting for any of no waits: give at least one")
	}
	t := &tally{wake: make(chan struct{}, 1)}
	for _, w := range j.waiters {
		w.join(t)
	}
	defer func() {
		for _, w := range j.waiters {
			w.quit(t)
		}
	}()
	for _, w := range j.waiters {
		w.begin()
	}
	canceled := false
	for !j.over(t) {
		select {
		case <-t.wake:
		case <-ctx.Done():
			canceled = true
			for _, w := range j.waiters {
				w.leave(ctx.Err())
			}
			for _, w := range j.waiters {
				<-w.begin()
			}
		}
	}
	return j.results(t, canceled)
}

// over reports whether the whole has ended.
func (j *Joint) over(t *tally) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.any {
		return t.done > 0 || t.done+t.others == len(j.waiters)
	}
	return t.others > 0 || t.done == len(j.waiters)
}

// results collects how the waiters ended, and how those stand that did not.
func (j *Joint) results(t *tally, canceled bool) ([]*Result, error) {
	results := make([]*Result, len(j.waiters))
	for i, w := range j.waiters {
		results[i], _ = w.Result()
	}
	t.mu.Lock()
	first, done := t.first, t.done
	t.mu.Unlock()
	if j.any && done > 0 || first == nil {
		return results, nil
	}
	e := &JointError{Any: j.any, Total: len(j.waiters)}
	said := j.describe()
	for _, w := range j.waiters {
		unfinished := w.unfinished(said)
		if unfinished == nil {
			continue
		}
		e.Unfinished = append(e.Unfinished, unfinished)
		if w == first {
			e.First = unfinished
		}
	}
	if canceled && e.First.Verdict.Decision != Failed {
		e.First = e.Unfinished[0] // the context has ended them in no order
	}
	return results, e
}

// tally counts the ends of joined waiters.
type tally struct {
	wake chan struct{}

	mu           sync.Mutex
	done, others int
	first        *Waiter // the first that ended without Done
}

// ended counts an end; the waiter's object.mu is held.
func (t *tally) ended(w *Waiter) {
	t.mu.Lock()
	if w.outcome.kind() == OutcomeDone {
		t.done++
	} else if t.others++; t.first == nil {
		t.first = w
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// membership is a waiter's part in one joint wait.
type membership struct {
	joint *tally
	next  *membership
}

// join has the tally told of the waiter's end, at once if that was before.
func (w *Waiter) join(t *tally) {
	w.object.mu.Lock()
	defer w.object.mu.Unlock()
	if w.outcome != nil {
		t.ended(w)
		return
	}
	x := w.need()
	x.joined = &membership{joint: t, next: x.joined}
}

// quit undoes join.
func (w *Waiter) quit(t *tally) {
	w.object.mu.Lock()
	defer w.object.mu.Unlock()
	if w.extra == nil {
		return
	}
	for m := &w.extra.joined; *m != nil; {
		if (*m).joint == t {
			*m = (*m).next
		} else {
			m = &(*m).next
		}
	}
}

// unfinished says how a waiter ended other than with Done, or where it stands;
// nil if it is done. said is what the predicates said of those that go on.
func (w *Waiter) unfinished(said map[*Waiter]Verdict) *WaitError {
	o := w.object
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.outcome != nil {
		var e *WaitError
		errors.As(w.errLocked(), &e)
		return e
	}
	v, ok := said[w]
	if !ok {
		v = w.statusLocked()
		v.Message = joined(v.Message, silent)
	}
	e := w.waitErrorLocked(ErrUnfinished, v)
	e.Explanation = explanation(v)
	return e
}

// describe asks the predicates of the waiters that go on for words, and waits for
// them no longer than leaveWithin: one that never returns holds nobody.
func (j *Joint) describe() map[*Waiter]Verdict {
	var pending []*Waiter
	for _, w := range j.waiters {
		if _, err := w.Result(); errors.Is(err, ErrUnfinished) {
			pending = append(pending, w)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	type answer struct {
		waiter  *Waiter
		verdict Verdict
	}
	answers := make(chan answer, len(pending))
	go func() {
		for _, w := range pending {
			answers <- answer{w, w.describeWithin()} // so that this goroutine ends
		}
	}()
	patience := pending[0].object.source.engine.clock.NewTimer(leaveWithin)
	defer patience.Stop()
	said := map[*Waiter]Verdict{}
	for range pending {
		select {
		case a := <-answers:
			said[a.waiter] = a.verdict
		case <-patience.C():
			return said
		}
	}
	return said
}

// JointError says how a Joint ended other than with success. It is one line.
type JointError struct {
	// Any says that one done waiter would have been enough.
	Any bool
	// First is how the waiter ended that ended the whole (of several, the first).
	First *WaitError
	// Unfinished are all that are not done, in the waiters' order, First among
	// them; the Cause of one that still goes on is ErrUnfinished.
	Unfinished []*WaitError
	// Total is how many waiters there are.
	Total int
}

// listed is how many unfinished waits the text names; Unfinished has them all.
const listed = 100

// Error returns one line: how many are done, what ended the whole, and the last
// reason of each that is not done.
func (e *JointError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d waits done: %v", e.Total-len(e.Unfinished), e.Total, e.First)
	rest := 0
	for _, u := range e.Unfinished {
		if u == e.First {
			continue
		}
		if rest++; rest > listed {
			continue
		}
		if rest == 1 {
			b.WriteString("; not done either: ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(u.short())
	}
	if rest > listed {
		fmt.Fprintf(&b, " and %d more", rest-listed)
	}
	return b.String()
}

// short names the object and says the last reason.
func (e *WaitError) short() string {
	text := e.Explanation
	if text == "" {
		text = e.Verdict.Message
	}
	if text == "" {
		text = strings.ToLower(e.Verdict.Decision.String())
	}
	if e.Blind != nil {
		text += "; " + e.Blind.String()
	}
	if e.Verdict.Reason != "" {
		text += ", reason " + e.Verdict.Reason
	}
	return e.Ref.String() + " (" + oneLine(text) + ")"
}

// Unwrap returns First.
func (e *JointError) Unwrap() error { return e.First }

// Code returns the gRPC code of First.
func (e *JointError) Code() codes.Code { return e.First.Code() }
