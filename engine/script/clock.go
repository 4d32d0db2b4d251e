package script

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// epoch is when every script begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Clock is a virtual clock that stands still until it is advanced. It is safe
// for concurrent use. Unlike the fake clock of client-go it moves from timer to
// timer, so what is due earlier happens earlier, and at its own time.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	made   int      // timers made so far
	timers []*timer // armed, in the order in which they are due
}

var _ clock.WithDelayedExecution = (*Clock)(nil)

// NewClock returns a clock that shows the beginning of 2026, as in every script.
func NewClock() *Clock { return &Clock{now: epoch} }

// Now returns the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since returns how long ago t was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After returns the channel of a new timer.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// NewTimer returns a timer that sends the time after d.
func (c *Clock) NewTimer(d time.Duration) clock.Timer { return c.arm(d, nil) }

// AfterFunc calls f after d. f is called by Advance and must not block.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer { return c.arm(d, f) }

// Sleep blocks until the clock has been advanced by d.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// Tick returns a channel that gets the time every d, for ever.
func (c *Clock) Tick(d time.Duration) <-chan time.Time {
	ticks := make(chan time.Time, 1)
	var tick func()
	tick = func() {
		select {
		case ticks <- c.Now():
		default:
		}
		c.AfterFunc(d, tick)
	}
	c.AfterFunc(d, tick)
	return ticks
}

// Advance moves the clock by d. It stops at every timer that becomes due, fires
// it, and has settle see to its consequences before it goes on. The error is
// settle's or the context's; the clock then stands where it failed.
func (c *Clock) Advance(ctx context.Context, d time.Duration, settle func(context.Context) error) error {
	c.mu.Lock()
	end := c.now.Add(d)
	c.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := c.next(end)
		if t == nil {
			return nil
		}
		t.fire()
		if err := settle(ctx); err != nil {
			return err
		}
	}
}

// next takes the first timer that is due by end, and moves to its time; without
// one it moves to the end.
func (c *Clock) next(end time.Time) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].due.After(end) {
		c.now = end
		return nil
	}
	t := c.timers[0]
	c.timers = slices.Delete(c.timers, 0, 1)
	if t.due.After(c.now) {
		c.now = t.due
	}
	return t
}

func (c *Clock) arm(d time.Duration, f func()) *timer {
	t := &timer{clock: c, call: f, ticks: make(chan time.Time, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armLocked(t, d)
	return t
}

// armLocked keeps the timers sorted; those due at one time fire in the order in
// which they were armed.
func (c *Clock) armLocked(t *timer, d time.Duration) {
	c.made++
	t.due, t.number = c.now.Add(d), c.made
	at, _ := slices.BinarySearchFunc(c.timers, t, func(a, b *timer) int {
		if n := a.due.Compare(b.due); n != 0 {
			return n
		}
		return a.number - b.number
	})
	c.timers = slices.Insert(c.timers, at, t)
}

// timer is a timer of a Clock.
type timer struct {
	clock  *Clock
	call   func() // nil: the time is sent to ticks
	ticks  chan time.Time
	due    time.Time
	number int
}

func (t *timer) fire() {
	if t.call != nil {
		t.call()
		return
	}
	select {
	case t.ticks <- t.clock.Now():
	default:
	}
}

// C returns the channel that gets the time.
func (t *timer) C() <-chan time.Time { return t.ticks }

// Stop disarms the timer, and reports whether it was armed.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.clock.disarmLocked(t)
}

// Reset arms the timer anew, and reports whether it was armed.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	armed := t.clock.disarmLocked(t)
	t.clock.armLocked(t, d)
	return armed
}

func (c *Clock) disarmLocked(t *timer) bool {
	at := slices.Index(c.timers, t)
	if at < 0 {
		return false
	}
	c.timers = slices.Delete(c.timers, at, at+1)
	return true
}
