package engine

import (
	"iter"
	"time"
)

// WaiterStatus is one line of the live list: a waiter that has not ended, and
// where it stands.
type WaiterStatus struct {
	// Ref is what it waits for; with a UID once that is pinned.
	Ref Reference
	// Operation is empty for a wait made by predicate name.
	Operation string
	Predicate PredicateID
	// Waiting: Wait or Done has been called; before, the caller is still writing.
	Waiting bool
	// Age is how long ago it was registered.
	Age time.Duration
	// Verdict is the one that counts now, with its reason and message.
	Verdict Verdict
	// ResourceVersion is the version judged last, empty if none was.
	ResourceVersion string
	// Judged is how long ago that version had reached the engine; 0 if none was judged.
	Judged time.Duration
	// Blind says why the engine can't see the resource, nil if it can.
	Blind *Blindness
}

// Waiters yields every waiter that has not ended, in no order. It may be called
// at any time and holds nothing up: no lock is held while a waiter is yielded.
// Each is as it stands when it is yielded, so the whole is no snapshot. The texts
// of a pending verdict come from the predicate (PurposeDescribe) as the list goes
// on, once per object, predicate and params; stop early to keep a long list cheap. One
// that doesn't return within a second is done without.
func (e *Engine) Waiters() iter.Seq[WaiterStatus] {
	return func(yield func(WaiterStatus) bool) {
		for _, s := range e.allSources() {
			blind := s.blindness()
			for _, o := range s.all() {
				for _, status := range o.statuses(blind) {
					if !yield(status) {
						return
					}
				}
			}
		}
	}
}

// statuses returns where the object's waiters stand.
func (o *object) statuses(blind *Blindness) []WaiterStatus {
	o.mu.Lock()
	var waiters []*Waiter
	for w := range o.all() {
		waiters = append(waiters, w)
	}
	o.mu.Unlock()
	said := map[described]Verdict{}
	statuses := make([]WaiterStatus, 0, len(waiters))
	for _, w := range waiters {
		if status, ok := w.liveStatus(said); ok {
			status.Blind = blind
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// described is what a predicate's texts depend on, for one object.
type described struct {
	judge    string
	presence Presence
	version  string
	pin      string
}

// liveStatus returns where the waiter stands; false if it has ended. said keeps
// the texts that waiters without hold times may share.
func (w *Waiter) liveStatus(said map[described]Verdict) (WaiterStatus, bool) {
	o, clock := w.object, w.object.source.engine.clock
	o.mu.Lock()
	status := WaiterStatus{
		Ref: o.ref(), Operation: w.terms.operation, Predicate: w.terms.id,
		Waiting: w.begun, Age: w.age(), ResourceVersion: w.last.version,
	}
	status.Ref.UID = w.barrier.pin
	if w.last.valid {
		status.Judged = clock.Since(o.source.engine.born.Add(w.last.at))
	}
	key := described{w.judge.Key(), w.last.presence, w.last.version, string(w.barrier.pin)}
	shareable, ended := w.last.valid && w.rare().holds == nil && !w.verdictLocked().Decisive(), w.outcome != nil
	o.mu.Unlock()
	if ended {
		return status, false
	}
	if v, ok := said[key]; ok && shareable {
		status.Verdict = v
		return status, true
	}
	status.Verdict = w.describeWithin()
	if shareable && !status.Verdict.Decisive() {
		said[key] = status.Verdict
	}
	return status, true
}
