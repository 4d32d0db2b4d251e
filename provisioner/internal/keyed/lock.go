// Package keyed lets one caller at a time hold a key, and turns the others away
// at once.
//
//	var busy keyed.Lock
//	release, ok := busy.TryHold("volume/pvc-1")
//	if !ok {
//		return errBusy
//	}
//	defer release()
package keyed

import "sync"

// Lock holds keys. The zero value holds none and is ready for use. It is safe
// for concurrent use and keeps nothing of a key that is released.
type Lock struct {
	mu   sync.Mutex
	held map[string]struct{}
}

// TryHold takes the key if nobody holds it, and never blocks. Call release once;
// further calls do nothing. It is nil if the key is taken.
func (l *Lock) TryHold(key string) (release func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.held[key]; taken {
		return nil, false
	}
	if l.held == nil {
		l.held = map[string]struct{}{}
	}
	l.held[key] = struct{}{}
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, key)
	}), true
}
