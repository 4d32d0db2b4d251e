package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"
)

// job is one waiter's evaluation of one sighting.
type job struct {
	waiter      *Waiter
	judge       Judge
	terms       *terms
	epoch       uint32
	changes     uint32
	same        bool         // judged before: judgement is what came of it
	replay      bool         // judged before, and to be judged again
	retried     bool         // because judging failed
	observation *Observation // shared with other jobs of the pass
	judgement   *Judgement   // nil: pending without texts
}

// jobLocked returns the waiter's evaluation of an observation; object.mu is held.
func (w *Waiter) jobLocked(o *Observation) job {
	return job{waiter: w, judge: w.judge, terms: w.terms, epoch: w.epoch, changes: w.changes, observation: o}
}

// plan asks every waiter's barrier about the sighting of the pass, and plans what is
// to be judged. stale says that somebody's floor is above the sighting, unordered
// that one can't be compared.
func (o *object) plan(p *pass) (stale, unordered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ref, s := o.ref(), &p.seen
	var shared *Observation // of the job before
	p.jobs = nil
	for w := range o.all() {
		if w.begun && !w.gone && int32(s.seq-w.begunAt) > 0 {
			w.barrier.look() // it came after Wait had begun, though before its look at the store
		}
		order := w.barrier.order(&p.version)
		stale, unordered = stale || order == below, unordered || order == unknown
		presence, admission := w.barrier.admit(s, order)
		if admission != admitted {
			w.block(s, admission)
			o.look = o.look || admission == lookup
			continue
		}
		presence = o.source.inView(presence, s)
		if shared == nil || shared.Presence != presence || presence != Present && shared.UID != w.barrier.pin {
			shared = observationOf(ref, presence, s, w.barrier.pin)
		}
		j := w.jobLocked(shared)
		j.same, j.judgement = !w.again && w.last.same(s, &p.version, presence, w.barrier.newer(order)), w.last.judgement
		p.jobs = append(p.jobs, j)
	}
	return stale, unordered
}

// evaluate runs each distinct judge once for what has not been judged before. No
// lock is held.
func (o *object) evaluate(jobs []job, by *worker) {
	if len(jobs) == 1 {
		o.evaluateOne(&jobs[0], by)
		return
	}
	var at hand
	for i := range jobs {
		if jobs[i].same {
			at.add(&jobs[i])
		}
	}
	for i := range jobs {
		switch j := &jobs[i]; {
		case j.same:
		case at.find(j) != nil:
			j.judgement = at.find(j).judgement
		default:
			o.evaluateOne(j, by)
			at.add(j)
		}
	}
}

// evaluateOne runs the job's judge, unless there is nothing to judge.
func (o *object) evaluateOne(j *job, by *worker) {
	switch {
	case j.same:
	case j.observation.Presence == outOfView:
		j.judgement = o.outOfView(j.terms.id)
	default:
		o.run(j, PurposeJudge, by)
	}
}

// run calls the job's judge.
func (o *object) run(j *job, purpose Purpose, by *worker) {
	j.judgement = nil
	if judgement := o.source.engine.call(by, j.terms, j.judge.Judge, purpose, *j.observation); !plain(judgement) {
		j.judgement = &judgement
	}
}

// plain reports whether the judgement says nothing but Pending.
func plain(j Judgement) bool {
	v := &j.Verdict
	return v.Decision == Pending && v.Cause == CauseOperation && v.Reason == "" && v.Message == "" && len(v.Missing) == 0 && len(j.Holding) == 0
}

// call calls one of a judge's functions. What breaks in it is a verdict, and
// every verdict names its predicate.
func (e *Engine) call(by *worker, t *terms, f func(context.Context, Observation) Judgement, purpose Purpose, o Observation) (j Judgement) {
	start := by.enters(t.pace)
	defer func() {
		took := by.returns(t.pace, start)
		if r := recover(); r != nil {
			e.logger.Error(nil, "Predicate panicked", "predicate", t.id.String(), "reference", o.Ref.String(), "resourceVersion", o.ResourceVersion, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			j = broken(ReasonEvaluationError, fmt.Sprintf("predicate %s panicked: %v", t.id, r))
			j.Verdict.Predicate = t.id
		}
		if e.observer != nil {
			e.observer.Evaluated(Evaluation{Predicate: t.id, Purpose: purpose, Verdict: j.Verdict, Took: took, Cost: j.Cost})
		}
	}()
	j = f(e.ctx, o)
	if what := j.unsound(); what != "" {
		e.logger.Error(nil, "Predicate returned what means nothing", "predicate", t.id.String(), "reference", o.Ref.String(), "resourceVersion", o.ResourceVersion, "what", what)
		j = broken(ReasonBadResult, fmt.Sprintf("predicate %s returned what means nothing: %s", t.id, what))
	}
	j.Verdict.Predicate = t.id
	return j
}

// broken is what is judged by a predicate that broke.
func broken(reason, message string) Judgement {
	return Judgement{Verdict: Verdict{Decision: Failed, Cause: CauseJudge, Code: codes.Internal, Reason: reason, Message: message}}
}

// record takes what was judged into the waiters, unless their barrier has
// changed meanwhile: then a look has been asked for, which judges anew. If their
// judge has changed, they have seen the observation and judge it again.
func (o *object) record(p *pass, jobs []job) {
	engine := o.source.engine
	now := engine.clock.Now()
	at := p.seen.at.Sub(engine.born)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range jobs {
		j := &jobs[i]
		w := j.waiter
		switch {
		case w.outcome != nil || w.epoch != j.epoch:
		case j.replay:
			w.rejudged(j, now)
		default:
			w.judged(p, j, at, now)
		}
	}
}

// judged takes in what was judged of a sighting, which had reached the engine at
// that time since it was made; object.mu is held.
func (w *Waiter) judged(p *pass, j *job, at time.Duration, now time.Time) {
	s := &p.seen
	presence, uid := j.observation.Presence, s.uid
	w.barrier.judged(&p.version, uid, presence)
	w.unblock()
	if w.extra != nil && s.present() && w.last.uid != uid {
		w.dropHolds() // they were another object's
	}
	if j.same {
		at = w.last.at
		if uid == "" {
			uid = w.last.uid // whose absence it is was told before
		}
	}
	w.last = judged{valid: true, presence: presence, object: j.observation.Object, uid: uid, version: s.version, at: at, judgement: j.judgement}
	switch {
	case w.changes != j.changes:
		w.judgeAnew()
	case !j.same:
		w.again = false
		w.updateHolds(s.at)
		w.noteRetry(false, now)
	}
}

// rejudged takes in what was judged of the newest observation again; object.mu is held.
func (w *Waiter) rejudged(j *job, now time.Time) {
	if w.changes != j.changes {
		w.judgeAnew()
		return
	}
	w.last.judgement, w.again = j.judgement, false
	w.updateHolds(now)
	w.noteRetry(true, now)
}

// settle ends the waiters that are looking and have a decisive verdict, and arms
// the timers of those that wait for a hold time or for another try. p is the pass
// that goes on.
func (o *object) settle(p *pass) {
	var ends endings
	o.mu.Lock()
	now, horizon := o.horizonLocked(p)
	for w := range o.all() {
		o.settleLocked(w, now, horizon, &ends)
	}
	o.mu.Unlock()
	o.letOut(&ends)
}

// settleJobs is settle for the waiters of these jobs only.
func (o *object) settleJobs(p *pass, jobs []job) {
	var ends endings
	o.mu.Lock()
	now, horizon := o.horizonLocked(p)
	for i := range jobs {
		if w := jobs[i].waiter; w.outcome == nil {
			o.settleLocked(w, now, horizon, &ends)
		}
	}
	o.mu.Unlock()
	o.letOut(&ends)
}

// endings are waiters that a verdict has ended, and what wakes up those who wait.
type endings struct {
	waiters []*Waiter
	wakes   []chan struct{}
}

// letOut gives the waiters back and then wakes up who waits, with no lock held:
// whoever runs at once, on another processor, doesn't meet one.
func (o *object) letOut(e *endings) {
	o.detach(e.waiters...)
	for _, done := range e.wakes {
		close(done)
	}
}

// horizonLocked returns the time, and up to when hold times may be taken as
// passed: not beyond what was delivered and has not been judged yet.
func (o *object) horizonLocked(p *pass) (now, horizon time.Time) {
	now = o.source.engine.clock.Now()
	switch {
	case len(p.inbox) > 0:
		return now, p.inbox[0].at
	case o.mail != nil && len(o.mail.inbox) > 0:
		return now, o.mail.inbox[0].at
	}
	return now, now
}

// settleLocked ends the waiter if there is a verdict; object.mu is held.
func (o *object) settleLocked(w *Waiter, now, horizon time.Time, ends *endings) {
	if w.barrier.looking {
		if v := w.verdictAt(horizon); v.Decisive() {
			if done := o.decideLocked(w, w.decided(v, now)); done != nil {
				ends.wakes = append(ends.wakes, done)
			}
			ends.waiters = append(ends.waiters, w)
			return
		}
	}
	switch x := w.extra; {
	case x == nil:
	case len(x.holds) > 0 || x.retry != nil:
		w.armTimer(now)
	default:
		w.stopTimer()
	}
}

// contextWithLogger is what judges are called with.
func contextWithLogger(logger klog.Logger) (context.Context, context.CancelFunc) {
	return context.WithCancel(klog.NewContext(context.Background(), logger))
}
