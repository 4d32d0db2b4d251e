package engine

import "sync"

// task is something that workers do. A task in the queue isn't added again by
// its owner, so no two workers have the same one.
type task interface{ process() }

// dispatcher runs tasks on a bounded number of workers. A worker exists only
// while there is something to do.
type dispatcher struct {
	mu      sync.Mutex
	queue   []task
	running int
	max     int

	activity *activity
}

// add queues a task, and starts a worker if one more may run.
func (d *dispatcher) add(t task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, t)
	if d.running < d.max {
		d.running++
		d.activity.begin()
		go d.work()
	}
}

func (d *dispatcher) work() {
	defer d.activity.end()
	for {
		d.mu.Lock()
		if len(d.queue) == 0 {
			d.running--
			d.queue = nil // a burst's buffer isn't kept
			d.mu.Unlock()
			return
		}
		t := d.queue[0]
		d.queue[0] = nil
		d.queue = d.queue[1:]
		d.mu.Unlock()
		t.process()
	}
}
