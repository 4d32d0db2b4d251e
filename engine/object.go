package engine

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// object is what the engine keeps of an object that has waiters, and only while
// it has: the waiters, and a mailbox of what was delivered and not judged yet.
//
// Locks are taken in the order source.mu, object.mu, source.unseenMu.
//
// Its first waiter, mostly the only one, is in one piece with it, and what an event
// needs of the two comes first: among a great many objects an event's cost is that
// of the cache lines that it touches.
type object struct {
	key    types.NamespacedName
	source *source

	mu        sync.Mutex
	waiters   *Waiter // newest first
	mail      *mail   // nil: none
	delivered uint32  // how many sightings were delivered so far; it may wrap
	unseen    int32   // waiters that wait for the cache to catch up
	look      bool    // look at the store after the inbox
	gone      bool    // a waiter was told by the server itself that there is no such object
	timer     bool    // a waiter's timer has fired
	scheduled bool    // queued or being processed: one worker at a time

	first Waiter // the one that the object was made for
}

// mail is what was delivered of an object and is not judged yet, in the ordinary
// case one sighting.
type mail struct {
	inbox  []sighting // oldest first
	parked *pass      // handed on to the lane of a slow predicate
	first  [1]sighting
}

// box returns the object's mail for writing; object.mu is held.
func (o *object) box() *mail {
	if o.mail == nil {
		o.mail = &mail{}
		o.mail.inbox = o.mail.first[:0]
	}
	return o.mail
}

// ref returns the reference of the object, without a UID.
func (o *object) ref() Reference {
	return Reference{Resource: o.source.gvr, Namespace: o.key.Namespace, Name: o.key.Name}
}

// deliver puts sightings into the mailbox, merging updates of the same object.
func (o *object) deliver(sightings ...sighting) {
	o.mu.Lock()
	defer o.mu.Unlock()
	box := o.box()
	for _, s := range sightings {
		o.delivered++
		s.seq = o.delivered
		if n := len(box.inbox); n > 0 && s.mergesInto(box.inbox[n-1]) {
			box.inbox[n-1] = s
			if observer := o.source.engine.observer; observer != nil {
				observer.Merged(o.source.gvr)
			}
			continue
		}
		box.inbox = append(box.inbox, s)
	}
	o.scheduleLocked()
}

// lookAgain asks for a look at the store.
func (o *object) lookAgain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look = true
	o.scheduleLocked()
}

// schedule has the object processed.
func (o *object) schedule() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = true // if it is being processed: once more
	o.scheduleLocked()
}

func (o *object) scheduleLocked() {
	if !o.scheduled && o.waiters != nil {
		o.scheduled = true
		o.source.engine.dispatch.add(o)
	}
}

// startLooking marks the waiters whose Wait is looking from now on.
func (o *object) startLooking() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.all() {
		if w.begun && !w.gone {
			w.barrier.look()
		}
	}
}

// all yields the waiters that have not ended; object.mu is held. The current one
// may end during the loop.
func (o *object) all() func(yield func(*Waiter) bool) {
	return func(yield func(*Waiter) bool) {
		for w := o.waiters; w != nil; {
			next := w.next
			if w.outcome == nil && !yield(w) {
				return
			}
			w = next
		}
	}
}

// addLocked puts the waiter into the list; source.mu and object.mu are held.
func (o *object) addLocked(w *Waiter) {
	w.next = o.waiters
	if o.waiters != nil {
		o.waiters.prev = w
	}
	o.waiters = w
}

// detach takes ended waiters out of the list, and the object out of the source
// with its last one.
func (o *object) detach(ended ...*Waiter) {
	if len(ended) == 0 {
		return
	}
	s := o.source
	s.mu.Lock()
	defer s.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range ended {
		o.detachLocked(w)
	}
}

// detachLocked is detach for one waiter; source.mu and object.mu are held.
func (o *object) detachLocked(w *Waiter) {
	s := o.source
	if w.extra != nil && w.extra.key != "" {
		s.engine.keys.release(w.extra.key, w)
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case o.waiters == w:
		o.waiters = w.next
	default:
		return // taken out before
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	if o.waiters == nil && s.objects.drop(o) {
		s.waiting.Add(-1)
		if o.mail != nil {
			o.mail.inbox = nil
		}
	}
}
