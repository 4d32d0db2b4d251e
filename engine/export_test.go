package engine

// Kept counts what the engine keeps: objects with waiters, waiters that wait for
// the cache to catch up, workers and queued tasks.
func (e *Engine) Kept() (objects, unseen, workers, tasks int) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, sources := range e.sources {
		for _, s := range sources {
			s.mu.RLock()
			objects += len(s.objects)
			s.mu.RUnlock()
			s.unseenMu.Lock()
			unseen += len(s.unseen)
			if s.unseenTimer != nil {
				unseen++
			}
			s.unseenMu.Unlock()
		}
	}
	e.keys.mu.Lock()
	objects += len(e.keys.newest)
	e.keys.mu.Unlock()
	e.dispatch.mu.Lock()
	defer e.dispatch.mu.Unlock()
	return objects, unseen, len(e.dispatch.workers), len(e.dispatch.queue)
}
