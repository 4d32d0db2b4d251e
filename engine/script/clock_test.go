package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/donewhen/donewhen/engine/script"
)

// The clock goes from timer to timer: each fires at its own time, and may arm or
// stop others.
func TestClockAdvance(t *testing.T) {
	c := NewClock()
	start := c.Now()
	var fired []string
	note := func(name string) { fired = append(fired, name+" "+c.Since(start).String()) }
	c.AfterFunc(3*time.Second, func() { note("three") })
	c.AfterFunc(time.Second, func() {
		note("one")
		c.AfterFunc(time.Second, func() { note("one and one") })
	})
	stopped := c.AfterFunc(2*time.Second, func() { note("stopped") })
	c.AfterFunc(time.Second, func() { note("also one"); stopped.Stop() })
	reset := c.AfterFunc(time.Second/2, func() { note("reset") })
	if !reset.Reset(4*time.Second) || !reset.Stop() {
		t.Error("an armed timer says that it isn't")
	}
	if reset.Stop() {
		t.Error("a stopped timer says that it is armed")
	}
	c.AfterFunc(10*time.Second, func() { note("too late") })
	ticks := c.Tick(2 * time.Second)
	after := c.After(5 * time.Second)
	settled := 0
	settle := func(context.Context) error { settled++; return nil }
	if err := c.Advance(t.Context(), 5*time.Second, settle); err != nil {
		t.Fatal(err)
	}
	want := []string{"one 1s", "also one 1s", "one and one 2s", "three 3s"}
	if diff := cmp.Diff(want, fired); diff != "" {
		t.Errorf("fired (- want, + got):\n%s", diff)
	}
	if settled != 7 { // those four, two ticks, and After
		t.Errorf("settled %d times, want 7", settled)
	}
	if got := (<-ticks).Sub(start); got != 2*time.Second {
		t.Errorf("tick at %s, want 2s", got)
	}
	if got := (<-after).Sub(start); got != 5*time.Second {
		t.Errorf("After sent %s, want 5s", got)
	}
}

// Whoever interrupts a long time gets it stopped.
func TestClockIsInterrupted(t *testing.T) {
	c := NewClock()
	start := c.Now()
	ctx, cancel := context.WithCancel(t.Context())
	c.AfterFunc(time.Second, cancel)
	c.AfterFunc(2*time.Second, func() { t.Error("it went on") })
	err := c.Advance(ctx, time.Hour, func(context.Context) error { return nil })
	if !errors.Is(err, context.Canceled) || c.Since(start) != time.Second {
		t.Errorf("error %v at %s, want the context's at 1s", err, c.Since(start))
	}
}

// What can't settle stops the clock where it is.
func TestClockStopsWhereItFails(t *testing.T) {
	c := NewClock()
	start, broken := c.Now(), errors.New("broken")
	c.AfterFunc(time.Second, func() {})
	err := c.Advance(t.Context(), time.Minute, func(context.Context) error { return broken })
	if !errors.Is(err, broken) || c.Since(start) != time.Second {
		t.Errorf("error %v at %s, want broken at 1s", err, c.Since(start))
	}
}
