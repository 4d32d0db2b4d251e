package engine

import (
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
// time, one that doesn't hold any more loses it. They don't apply to deletion:
// there the first rule decides at once.
func (w *Waiter) updateHolds(at time.Time) {
	j := w.last.judgement
	if j == nil || len(j.Holding) == 0 {
		w.dropHolds()
		return
	}
	before := w.rare().holds
	w.dropHolds()
	if p := w.last.presence; p == Deleted || p == Replaced {
		w.last.judgement = &Judgement{Verdict: j.Holding[0].Verdict}
		return
	}
	x := w.need()
	x.holds = make([]running, 0, len(j.Holding))
	for _, hold := range j.Holding {
		r := running{hold: hold, since: at}
		for _, old := range before {
			if old.hold.Rule == hold.Rule {
				r.since = old.since
			}
		}
		x.holds = append(x.holds, r)
	}
}

// dropHolds forgets the hold times. What it forgot stays readable by who holds
// the slice.
func (w *Waiter) dropHolds() {
	if w.extra != nil {
		w.extra.holds = nil
	}
}

// verdictLocked returns the verdict that counts now; object.mu is held.
func (w *Waiter) verdictLocked() Verdict {
	return w.verdictAt(w.object.source.engine.clock.Now())
}

// verdictAt returns the verdict that counts at that time: the first rule in order
// that has held for its time, else the judgement's own. While the informer is
// blind no time passes for a rule: whether it still holds can't be seen.
func (w *Waiter) verdictAt(t time.Time) Verdict {
	if w.extra != nil && len(w.extra.holds) > 0 && !w.object.source.isBlind() {
		for _, r := range w.extra.holds {
			if r.passed(t) {
				v := r.hold.Verdict
				v.Predicate = w.terms.id
				return v
			}
		}
	}
	return w.last.verdict(w.terms.id)
}

// describeHolds says of a pending verdict which rules are holding; blind is nil if
// the informer sees.
func describeHolds(v Verdict, holds []running, now time.Time, blind *Blindness) Verdict {
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
		seen, waits := now.Sub(r.since), ""
		if blind != nil {
			// Whether it still holds can't be seen, so its time stands still.
			seen, waits = max(0, min(seen, blind.Since.Sub(r.since))), " (stands still until the engine sees the objects again)"
		}
		parts = append(parts, fmt.Sprintf("%s for %s of %s%s: %s", phase, seen.Truncate(100*time.Millisecond), r.hold.For, waits, text))
	}
	if v.Message != "" {
		parts = append(parts, v.Message)
	}
	v.Reason, v.Message = ReasonHolding, strings.Join(parts, "; ")
	return v
}
