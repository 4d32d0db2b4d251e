package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// task is something that workers do. A task in a queue isn't added again by its
// owner, so no two workers have the same one; it may put itself into the queue of
// another dispatcher as the last thing that it does.
type task interface{ process(by *worker) }

// dispatcher runs tasks on a bounded number of workers. A worker exists only
// while there is something to do.
type dispatcher struct {
	activity *activity
	lane     *lane // nil: the general workers
	max      int

	mu       sync.Mutex
	queue    []task
	workers  []*worker // those that count
	watching bool      // a look at workers that are stuck in a predicate is due
}

// worker is one goroutine of a dispatcher. A general one notes which predicate it
// is in, so that it can be replaced when that takes too long.
type worker struct {
	lane  *lane // nil: a general one
	pace  atomic.Pointer[pace]
	since atomic.Int64 // when it called the predicate, by lanes.now
}

// add queues a task, and starts a worker if one more may run.
func (d *dispatcher) add(t task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, t)
	d.startLocked()
}

// startLocked starts a worker if one may run. Where all are busy, it has them
// looked at soon: what is queued must not wait for a slow predicate that one of
// them has met unawares.
func (d *dispatcher) startLocked() {
	switch {
	case len(d.workers) < d.max:
		w := &worker{lane: d.lane}
		d.workers = append(d.workers, w)
		d.activity.begin()
		go d.work(w)
	case d.lane == nil && !d.watching:
		d.watching = true
		time.AfterFunc(slowAfter, d.replaceStuck)
	}
}

func (d *dispatcher) work(w *worker) {
	defer d.activity.end()
	makeRoom(0)
	for {
		t, ok := d.next(w)
		if !ok {
			return
		}
		t.process(w)
	}
}

// makeRoom has the goroutine's stack grow to 16 KiB at once, while there is nothing
// on it. A worker lives for as long as there is something to do, often for one
// event, and a predicate's evaluation goes deep: otherwise the stack is copied again
// and again on the way down.
//
//go:noinline
func makeRoom(at int) byte {
	var room [8 << 10]byte
	return room[at]
}

// next returns the worker's next task; false if there is none, or if the worker
// has been replaced.
func (d *dispatcher) next(w *worker) (task, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.workers, w)
	if i < 0 {
		return nil, false
	}
	if len(d.queue) == 0 {
		d.workers = slices.Delete(d.workers, i, i+1)
		d.queue = nil // a burst's buffer isn't kept
		return nil, false
	}
	t := d.queue[0]
	d.queue[0] = nil
	d.queue = d.queue[1:]
	return t, true
}

// replaceStuck gives the predicates that general workers are stuck in a lane of
// their own, and starts other workers in place of these: they finish what they
// are at and go.
func (d *dispatcher) replaceStuck() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watching = false
	if len(d.queue) == 0 {
		return
	}
	d.workers = slices.DeleteFunc(d.workers, func(w *worker) bool {
		p := w.pace.Load()
		if p == nil || p.lanes.now()-time.Duration(w.since.Load()) < slowAfter {
			return false
		}
		p.slow()
		return true
	})
	for range min(len(d.queue), d.max-len(d.workers)) {
		d.startLocked()
	}
	if len(d.workers) == d.max {
		d.startLocked() // looks again
	}
}

// queued returns how many tasks wait.
func (d *dispatcher) queued() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue)
}

// enters notes that the worker is in a predicate of that pace from now on. A nil
// worker is the caller's own goroutine.
func (w *worker) enters(p *pace) (start time.Duration) {
	start = p.lanes.now()
	if w != nil {
		w.since.Store(int64(start))
		w.pace.Store(p)
	}
	return start
}

// returns notes that the worker is out of it, and for how long it was in.
func (w *worker) returns(p *pace, start time.Duration) time.Duration {
	if w != nil {
		w.pace.Store(nil)
	}
	took := p.lanes.now() - start
	p.took(took)
	return took
}
