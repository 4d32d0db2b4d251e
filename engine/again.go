package engine

import "time"

// An observation whose judging failed without a decision is judged again after
// retryFirst, then after twice that and so on up to retryMost.
const (
	retryFirst = time.Second
	retryMost  = 5 * time.Minute
)

// retry is when an observation whose judging failed is judged again.
type retry struct {
	delay time.Duration
	due   time.Time
}

// noteRetry plans the next try if judging has failed without a decision, and
// forgets it if not; object.mu is held. replayed says that this was a try.
func (w *Waiter) noteRetry(replayed bool, now time.Time) {
	j := w.last.judgement
	if j == nil || j.Verdict.Cause != CauseJudge {
		w.dropRetry()
		return
	}
	delay := retryFirst
	x := w.need()
	if replayed && x.retry != nil {
		delay = min(2*x.retry.delay, retryMost)
	}
	x.retry = &retry{delay: delay, due: now.Add(delay)}
}

// flagRetry has the newest observation judged again if its time has come;
// object.mu is held.
func (w *Waiter) flagRetry(now time.Time) {
	if x := w.extra; x != nil && x.retry != nil && !now.Before(x.retry.due) {
		w.again = true
	}
}

// planAgain plans what is to be judged again: the newest observation of those
// whose judge broke on it, or is another now.
func (o *object) planAgain() []job {
	o.mu.Lock()
	defer o.mu.Unlock()
	var jobs []job
	ref := o.ref()
	for w := range o.all() {
		if !w.again {
			continue
		}
		if !w.last.valid {
			w.again = false
			continue
		}
		j := w.jobLocked(w.last.observation(ref, w.barrier.pin))
		j.replay, j.retried = true, w.rare().retry != nil
		jobs = append(jobs, j)
	}
	return jobs
}

// armTimer has the object processed when the waiter's next hold time passes or
// its next try is due; object.mu is held. While the informer is blind no hold
// time passes; the object is processed when it sees again.
func (w *Waiter) armTimer(now time.Time) {
	w.stopTimer()
	var next time.Time
	earlier := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	x := w.need()
	if x.retry != nil {
		earlier(x.retry.due)
	}
	if w.barrier.looking && !w.object.source.isBlind() {
		for _, r := range x.holds {
			earlier(r.since.Add(r.hold.For))
		}
	}
	if !next.IsZero() {
		x.timer = w.object.source.engine.afterFunc(next.Sub(now), w.object.schedule)
	}
}

func (w *Waiter) stopTimer() {
	if w.extra != nil {
		w.extra.timer = stopTimer(w.extra.timer)
	}
}
