package engine

import (
	"errors"
	"sync"
)

// keys knows the newest waiter of each key that requests supersede by. A key is
// held only while its waiter has not ended.
type keys struct {
	mu     sync.Mutex
	newest map[string]*Waiter
}

// take makes w the newest of its key and returns the one before.
func (k *keys) take(key string, w *Waiter) *Waiter {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.newest[key]
	if k.newest == nil {
		k.newest = map[string]*Waiter{}
	}
	k.newest[key] = w
	return old
}

// release forgets the key of a waiter that has ended, unless a newer one has it.
func (k *keys) release(key string, w *Waiter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.newest[key] != w {
		return
	}
	delete(k.newest, key)
	if len(k.newest) == 0 {
		k.newest = nil
	}
}

// supersede ends the older waiter of the same key, at once.
func (e *Engine) supersede(w *Waiter, key string) {
	if old := e.keys.take(key, w); old != nil {
		old.end(ErrSuperseded)
	}
	// It may have ended, and given its key back, before it took it.
	if _, err := w.Result(); !errors.Is(err, ErrUnfinished) {
		e.keys.release(key, w)
	}
}

// end ends the waiter with a cause, at once.
func (w *Waiter) end(cause error) {
	o := w.object
	s := o.source
	s.mu.Lock()
	defer s.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if w.outcome == nil {
		o.endLocked(w, w.cutShort(cause))
	}
	o.detachLocked(w)
}
