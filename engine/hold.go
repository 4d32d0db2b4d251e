package engine

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// running is a rule that holds, and since when it has held without a break.
type running struct {
	hold  Hold
	since time.Time
}

func (r running) passed(now time.Time) bool { return now.Sub(r.since) >= r.hold.For }

// updateHolds takes over the rules that hold now: one that held before keeps its
// time, one that doesn't hold any more loses it.
func (w *Waiter) updateHolds(now []Hold, at time.Time) {
	before := w.holds
	w.dropHolds()
	for _, hold := range now {
		r := running{hold: hold, since: at}
		for _, old := range before {
			if old.hold.Rule == hold.Rule {
				r.since = old.since
			}
		}
		w.holds = append(w.holds, r)
	}
}

// dropHolds forgets the hold times and stops their timer. What it forgot stays
// readable by who holds the slice.
func (w *Waiter) dropHolds() {
	w.holds = nil
	w.stopHoldTimer()
}

func (w *Waiter) stopHoldTimer() {
	if w.holdTimer != nil {
		w.holdTimer.Stop()
		w.holdTimer = nil
	}
}

// verdictLocked returns the verdict that counts now: the first rule in order
// that has held for its time, else the judgement's own.
func (w *Waiter) verdictLocked() Verdict {
	if len(w.holds) > 0 {
		now := w.object.source.engine.clock.Now()
		for _, r := range w.holds {
			if r.passed(now) {
				v := r.hold.Verdict
				v.Predicate = w.id
				return v
			}
		}
	}
	return w.last.verdict(w.id)
}

// armHoldTimer has the object processed again when the next hold time passes. It
// asks for a look, because that is remembered if the object is being processed
// just then, past the point where hold times are looked at.
func (w *Waiter) armHoldTimer(now time.Time) {
	w.stopHoldTimer()
	next := w.holds[0].since.Add(w.holds[0].hold.For)
	for _, r := range w.holds[1:] {
		if due := r.since.Add(r.hold.For); due.Before(next) {
			next = due
		}
	}
	w.holdTimer = w.object.source.engine.afterFunc(next.Sub(now), w.object.lookAgain)
}

// describeHolds says of a pending verdict which rules are holding.
func describeHolds(v Verdict, holds []running, now time.Time) Verdict {
	if len(holds) == 0 || v.Decisive() {
		return v
	}
	parts := make([]string, 0, len(holds)+1)
	for _, r := range holds {
		phase, _, _ := strings.Cut(r.hold.Rule, "[")
		text := r.hold.Verdict.Message
		if text == "" {
			text = r.hold.Rule
		}
		parts = append(parts, fmt.Sprintf("%s for %s of %s: %s", phase, now.Sub(r.since).Truncate(100*time.Millisecond), r.hold.For, text))
	}
	if v.Message != "" {
		parts = append(parts, v.Message)
	}
	v.Reason, v.Message = ReasonHolding, strings.Join(parts, "; ")
	return v
}

// timeout is the binding's cap on a wait. It runs from Wait.
type timeout struct {
	after time.Duration
	timer interface{ Stop() bool }
	hit   bool
}

func (t *timeout) arm(w *Waiter) {
	if t.after <= 0 {
		return
	}
	t.timer = w.object.source.engine.afterFunc(t.after, func() {
		w.object.mu.Lock()
		t.hit = w.leaving == nil
		w.object.mu.Unlock()
		w.leave(context.DeadlineExceeded)
	})
}

func (t *timeout) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
