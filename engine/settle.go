package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// activity counts the engine's goroutines that have something to do. Whoever
// starts one says begin before it starts, and the goroutine says end when it is
// through: workers, lanes and the callbacks of timers.
type activity struct {
	running atomic.Int64
	waiting atomic.Int64

	mu   sync.Mutex
	idle chan struct{} // made by who waits, closed when nothing runs
}

func (a *activity) begin() { a.running.Add(1) }

func (a *activity) end() {
	if a.running.Add(-1) > 0 || a.waiting.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
}

// wait blocks until nothing runs.
func (a *activity) wait(ctx context.Context) error {
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	for {
		a.mu.Lock()
		if a.running.Load() == 0 {
			a.mu.Unlock()
			return nil
		}
		if a.idle == nil {
			a.idle = make(chan struct{})
		}
		idle := a.idle
		a.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Settle blocks until the engine has nothing left to do about what informers
// delivered, callers asked for and timers fired before the call: it has been
// judged, and the waits that it ends have ended. It is for tests and scripts,
// which look at a wait step by step; a program waits with Wait. The look at the
// store that waits for a cache to catch up take every second is taken at once.
// While events keep coming Settle may never return; the error is the context's.
func (e *Engine) Settle(ctx context.Context) error {
	e.mu.RLock()
	var first []<-chan struct{}
	for _, sources := range e.sources {
		for _, s := range sources {
			if s.handle != nil && isDone(s.handle.HasSyncedChecker().Done()) {
				first = append(first, s.firstLook)
			}
		}
	}
	e.mu.RUnlock()
	for _, looked := range first {
		select {
		case <-looked:
		case <-ctx.Done():
			return fmt.Errorf("settling the engine: %w", ctx.Err())
		}
	}
	if err := e.activity.wait(ctx); err != nil {
		return fmt.Errorf("settling the engine: %w", err)
	}
	for _, s := range e.allSources() {
		s.wakeUnseen()
	}
	if err := e.activity.wait(ctx); err != nil {
		return fmt.Errorf("settling the engine: %w", err)
	}
	return nil
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
