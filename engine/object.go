package engine

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// object is what the engine keeps of an object that has waiters, and only while
// it has: the waiters, and a mailbox of what was delivered and not judged yet.
//
// Locks are taken in the order source.mu, object.mu, source.unseenMu.
type object struct {
	source *source
	key    types.NamespacedName

	mu        sync.Mutex
	inbox     []sighting // oldest first
	gone      []*Waiter  // told by the server itself that there is no such object
	look      bool       // look at the store after the inbox
	scheduled bool       // queued or being processed: one worker at a time
	waiters   *Waiter    // newest first
	unseen    int        // waiters that wait for the cache to catch up
}

// ref returns the reference of the object, without a UID.
func (o *object) ref() Reference {
	return Reference{Resource: o.source.gvr, Namespace: o.key.Namespace, Name: o.key.Name}
}

// deliver puts sightings into the mailbox, merging updates of the same object.
func (o *object) deliver(sightings ...sighting) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range sightings {
		if n := len(o.inbox); n > 0 && s.mergesInto(o.inbox[n-1]) {
			o.inbox[n-1] = s
			continue
		}
		o.inbox = append(o.inbox, s)
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

func (o *object) scheduleLocked() {
	if !o.scheduled && o.waiters != nil {
		o.scheduled = true
		o.source.engine.dispatch.add(o)
	}
}

// process judges what the mailbox holds, in order, then looks at the store if
// asked to, then lets those go who are leaving. The store is never behind what
// was delivered, so the look comes last. It runs in one worker at a time.
func (o *object) process() {
	o.mu.Lock()
	inbox, gone, look := o.inbox, o.gone, o.look
	o.inbox, o.gone, o.look = nil, nil, false
	leaving := o.leavingLocked()
	o.mu.Unlock()

	o.judgeGone(gone)
	for _, s := range inbox {
		if s.via == viaTombstone {
			o.lookNow(s.uid, viaTombstone)
			continue
		}
		o.judge(s)
	}
	if look {
		o.startLooking()
		o.lookNow("", viaStore)
	}
	o.settle()
	o.letGo(leaving)

	o.mu.Lock()
	o.scheduled = false
	if len(o.inbox) > 0 || len(o.gone) > 0 || o.look {
		o.scheduleLocked()
	}
	o.mu.Unlock()
}

// lookNow judges what the store holds. gone is the UID that a tombstone named.
func (o *object) lookNow(gone types.UID, via via) {
	s, ok := o.source.lookAt(o.key)
	if !ok {
		o.mu.Lock()
		for w := range o.all() {
			if !w.last.valid {
				w.blocked.reason = ReasonNotSynced
			}
		}
		o.mu.Unlock()
		return
	}
	s.via = via
	if !s.present() {
		s.uid = gone
	}
	o.judge(s)
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
		switch {
		case w.prev != nil:
			w.prev.next = w.next
		case o.waiters == w:
			o.waiters = w.next
		default:
			continue // taken out before
		}
		if w.next != nil {
			w.next.prev = w.prev
		}
		w.next, w.prev = nil, nil
	}
	if o.waiters == nil && s.objects[o.key] == o {
		delete(s.objects, o.key)
		s.waiting.Add(-1)
		o.inbox, o.gone = nil, nil
	}
}
