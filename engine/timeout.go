package engine

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// timeout is the binding's cap on a wait. It runs from Wait.
type timeout struct {
	after time.Duration // 0: none
	timer clock.Timer
	hit   bool
}

// armTimeout starts it; object.mu is held.
func (w *Waiter) armTimeout() {
	w.turned = w.object.source.engine.sinceBorn()
	w.startTimeout()
}

func (w *Waiter) startTimeout() {
	if w.rare().timeout.after <= 0 {
		return
	}
	t, e := &w.extra.timeout, w.object.source.engine
	after := t.after
	t.timer = e.afterFunc(after-(e.sinceBorn()-w.turned), func() { w.timedOut(after) })
}

// timedOut has the waiter end, unless its timeout has become another meanwhile.
func (w *Waiter) timedOut(after time.Duration) {
	w.object.mu.Lock()
	x := w.need()
	current := x.timeout.after == after && w.outcome == nil
	if current {
		x.timeout.hit = x.leaving == nil
	}
	w.object.mu.Unlock()
	if current {
		w.leave(context.DeadlineExceeded)
	}
}

// changeTimeout makes it another, still counted from Wait; object.mu is held.
func (w *Waiter) changeTimeout(after time.Duration) {
	if w.rare().timeout.after == after {
		return
	}
	t := &w.need().timeout
	t.stop()
	t.after = after
	if w.begun {
		w.startTimeout()
	}
}

func (t *timeout) stop() { t.timer = stopTimer(t.timer) }
