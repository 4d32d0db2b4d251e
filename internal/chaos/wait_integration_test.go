//go:build integration

package chaos_test

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"

	"github.com/donewhen/donewhen/engine"
)

const (
	// patience is how long a wait may take to end after its object has changed. An informer that was refused for a minute
	// tries again after another one.
	patience = 2 * time.Minute
	// allowed is how much later than the plain handler a wait may end, and usually how much most of them may: both handlers
	// wait for processors that every test of the module shares.
	allowed, usually = time.Second, 50 * time.Millisecond
	// unseenInterval is how often the engine looks at the store for an object of which no event has told.
	unseenInterval = time.Second
)

// wait is a wait that runs.
type wait struct {
	*kind
	name   string
	waiter *engine.Waiter
	pin    types.UID
	floor  string
	end    <-chan struct{}
}

// await registers a wait on the object and begins it, after the write.
func (k *kind) await(predicate string, after written) *wait {
	k.Helper()
	w := k.register(predicate, after.GetName())
	w.begin(after)
	return w
}

// register registers a wait, before a write.
func (k *kind) register(predicate, name string) *wait {
	k.Helper()
	waiter, err := k.engine.Register(engine.Request{
		Ref:       engine.Reference{Resource: k.gvr, Namespace: k.namespace, Name: name},
		Predicate: predicate,
	})
	must(k.T, err)
	k.Cleanup(waiter.Close)
	return &wait{kind: k, name: name, waiter: waiter}
}

// begin sets the barrier and begins the wait.
func (w *wait) begin(after written) {
	w.Helper()
	must(w.T, w.waiter.After(after))
	w.pin, w.floor = after.GetUID(), after.GetResourceVersion()
	w.end = w.waiter.Done()
}

// pending checks that the wait goes on.
func (w *wait) pending() {
	w.Helper()
	select {
	case <-w.end:
		result, err := w.waiter.Result()
		w.Errorf("early: the wait on %s %s has ended: %+v, error %v", w.gvr.Resource, w.name, result, err)
	default:
	}
}

// ended returns the result once the wait has ended. It is never one from before the write that decides it.
func (w *wait) ended(by written) (*engine.Result, error) {
	w.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.end:
	case <-timer.C:
		w.Fatalf("lost: the wait on %s %s goes on %v after its object has changed: %+v", w.gvr.Resource, w.name, patience, w.waiter.Status())
	}
	result, err := w.waiter.Result()
	if result == nil {
		w.Fatalf("the wait on %s %s ended without a verdict: %v", w.gvr.Resource, w.name, err)
	}
	if result.Ended.Before(by.begun) {
		w.Errorf("early: the wait on %s %s ended %v before the write that decides it", w.gvr.Resource, w.name, by.begun.Sub(result.Ended))
	}
	if result.Absent && !atLeast(result.ResourceVersion, w.floor) {
		w.Errorf("early: the wait on %s %s ended on an absence at %s, below its floor %s", w.gvr.Resource, w.name, result.ResourceVersion, w.floor)
	}
	return result, err
}

// endsReady expects Done on the object that the write made, or on a later state of it.
func (w *wait) endsReady(by written) {
	w.Helper()
	result, err := w.ended(by)
	if err != nil || result.Absent || result.Peek().GetUID() != w.pin || !atLeast(result.ResourceVersion, by.GetResourceVersion()) {
		w.Errorf("the wait on %s %s ended with %+v, error %v, want Done at %s", w.gvr.Resource, w.name, result, err, by.GetResourceVersion())
		return
	}
	w.inTime(result, func(t told) bool {
		return !t.gone && t.uid == w.pin && t.state == ready && atLeast(t.version, w.floor)
	})
}

// endsGone expects Done on the absence of the object.
func (w *wait) endsGone(by written) {
	w.Helper()
	if result, err := w.ended(by); err != nil || !result.Absent {
		w.Errorf("the wait on %s %s ended with %+v, error %v, want its absence", w.gvr.Resource, w.name, result, err)
	} else {
		w.inTime(result, w.vanished)
	}
}

// endsFailed expects Failed and Aborted for the reason.
func (w *wait) endsFailed(reason string, by written) {
	w.Helper()
	result, err := w.ended(by)
	if v := result.Verdict; err == nil || v.Decision != engine.Failed || v.Code != codes.Aborted || v.Reason != reason || v.Cause != engine.CauseOperation {
		w.Errorf("the wait on %s %s ended with %+v, error %v, want Failed, Aborted, %s", w.gvr.Resource, w.name, result, err, reason)
		return
	}
	w.inTime(result, w.vanished)
}

// vanished reports whether the plain handler was told that the object is gone.
func (w *wait) vanished(t told) bool {
	if t.gone {
		return t.uid == w.pin
	}
	return t.uid != w.pin && atLeast(t.version, w.floor)
}

// inTime checks that the wait ended as soon as the plain handler was told what decides it; or, if it wasn't, when the
// engine has looked at the store for the next time since that had reached the floor.
func (w *wait) inTime(result *engine.Result, decides func(told) bool) {
	w.Helper()
	var since time.Time
	bound := allowed
	// The two handlers are called in no order: the plain one may not have been yet.
	w.eventually("the plain handler is told of "+w.name, func() error {
		if t, ok := w.seen.first(w.name, decides); ok {
			since, bound = t.at, allowed
			return nil
		}
		if _, known := w.seen.first(w.name, func(told) bool { return true }); known {
			return errNotYet
		}
		reached, ok := w.seen.reached(w.floor)
		if !ok {
			return errNotYet
		}
		since, bound = reached, unseenInterval+allowed
		return nil
	})
	by := result.Ended.Sub(since)
	w.late.note(late{by, w.gvr.Resource + " " + w.name, result.Verdict}, bound > allowed)
	if by > bound {
		w.Errorf("late: the wait on %s %s ended %v after the informer knew, at most %v are allowed", w.gvr.Resource, w.name, by, bound)
	}
}

// late is by how much a wait ended after the informer knew; often it is less than nothing.
type late struct {
	by      time.Duration
	name    string
	verdict engine.Verdict
}

// lateness collects what is after the plain handler was told, and what is after the store had reached the floor.
type lateness struct {
	mu           sync.Mutex
	told, unseen []late
}

func (l *lateness) note(one late, unseen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if unseen {
		l.unseen = append(l.unseen, one)
	} else {
		l.told = append(l.told, one)
	}
}

// report logs the distributions, and checks what is usual.
func (r *rig) report() {
	r.Helper()
	r.late.mu.Lock()
	defer r.late.mu.Unlock()
	report := func(all []late, what string) (median time.Duration) {
		r.Helper()
		if len(all) == 0 {
			return 0
		}
		slices.SortFunc(all, func(a, b late) int { return cmp.Compare(a.by, b.by) })
		median = all[len(all)/2].by
		last := all[len(all)-1]
		r.Logf("%d waits ended after %s by: median %v, p99 %v, at most %v (%s: %s %s)",
			len(all), what, median, all[len(all)*99/100].by, last.by, last.name, last.verdict.Decision, last.verdict.Reason)
		return median
	}
	if median := report(r.late.told, "the plain handler was told"); median > usually {
		r.Errorf("late: most waits end more than %v after the plain handler was told, %v are allowed", median, usually)
	}
	report(r.late.unseen, "the store knew what no event tells")
	if len(r.late.told)+len(r.late.unseen) == 0 {
		r.Error("no wait has ended")
	}
}
