package engine

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kept counts what the engine keeps: objects with waiters, waiters that wait for
// the cache to catch up, workers and queued tasks.
func (e *Engine) Kept() (objects, unseen, workers, tasks int) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, sources := range e.sources {
		for _, s := range sources {
			s.mu.RLock()
			objects += s.objects.len()
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
	workers, tasks = e.dispatch.kept()
	e.lanes.mu.Lock()
	defer e.lanes.mu.Unlock()
	for _, l := range e.lanes.own {
		w, t := l.kept()
		workers, tasks = workers+w, tasks+t
	}
	return objects, unseen, workers, tasks
}

func (d *dispatcher) kept() (workers, tasks int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.workers), len(d.queue)
}

// GoBlind has the engine know that a watch of the resource fails.
func (e *Engine) GoBlind(gvr schema.GroupVersionResource) {
	for _, s := range e.sources[gvr] {
		s.goBlind("watch", "connection refused")
	}
}

// Paces returns of how many predicates the engine knows how fast they are.
func (e *Engine) Paces() int {
	e.lanes.mu.Lock()
	defer e.lanes.mu.Unlock()
	return len(e.lanes.paces)
}

// Busy reports whether anything goes on.
func (e *Engine) Busy() bool { return e.activity.running.Load() > 0 }
