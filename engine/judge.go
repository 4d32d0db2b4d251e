package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"
)

// job is one waiter's evaluation of one sighting.
type job struct {
	waiter      *Waiter
	judge       Judge
	epoch       uint32
	same        bool // judged before: judgement is what came of it
	observation Observation
	judgement   *Judgement // nil: pending without texts
}

// judge judges one sighting for every waiter that admits it.
func (o *object) judge(s sighting) {
	if o.source.fromBefore(s) {
		return
	}
	jobs, stale, unordered := o.plan(s)
	if unordered {
		o.source.warnUncomparable(s.version)
	}
	if len(jobs) > 0 {
		o.evaluate(jobs)
		o.record(s, jobs)
		o.settle()
	}
	if stale && !s.fromStore() {
		// Usually an event from before a write. Or the server's versions went back.
		o.source.checkVersion()
	}
}

// plan asks every waiter's barrier, and returns what is to be judged. stale says
// that somebody's floor is above the sighting, unordered that one can't be compared.
func (o *object) plan(s sighting) (jobs []job, stale, unordered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ref := o.ref()
	for w := range o.all() {
		order := w.barrier.order(s.version)
		stale, unordered = stale || order == below, unordered || order == unknown
		presence, admission := w.barrier.admit(s)
		if admission != admitted {
			w.block(s, admission)
			o.look = o.look || admission == lookup
			continue
		}
		presence = o.source.inView(presence, s)
		jobs = append(jobs, job{
			waiter:      w,
			judge:       w.judge,
			epoch:       w.epoch,
			same:        w.last.same(s, presence),
			observation: observationOf(ref, presence, s, w.barrier.pin),
			judgement:   w.last.judgement,
		})
	}
	return jobs, stale, unordered
}

// evaluate runs each distinct judge once for what has not been judged before. No
// lock is held.
func (o *object) evaluate(jobs []job) {
	for i := range jobs {
		j := &jobs[i]
		if j.same {
			continue
		}
		if j.observation.Presence == outOfView {
			j.judgement = o.outOfView(j.waiter.id)
			continue
		}
		if shared := j.sharedBy(jobs, i); shared != nil {
			j.judgement = shared.judgement
			continue
		}
		j.judgement = nil
		if judgement := o.source.engine.judge(j.waiter.id, j.judge.Judge, j.observation); !plain(judgement) {
			j.judgement = &judgement
		}
	}
}

// sharedBy finds a job whose judgement is at hand and also this one's: of an
// equal judge and observation, judged before or earlier in the list.
func (j *job) sharedBy(jobs []job, n int) *job {
	if len(jobs) == 1 {
		return nil
	}
	key := j.judge.Key()
	for i := range jobs {
		other := &jobs[i]
		if (other.same || i < n) && other.judge.Key() == key &&
			other.observation.Presence == j.observation.Presence && other.observation.UID == j.observation.UID {
			return other
		}
	}
	return nil
}

// plain reports whether the judgement says nothing but Pending.
func plain(j Judgement) bool {
	v := &j.Verdict
	return v.Decision == Pending && v.Cause == CauseOperation && v.Reason == "" && v.Message == "" && len(v.Missing) == 0 && len(j.Holding) == 0
}

// judge calls one of a judge's functions. What breaks in it is a verdict, and
// every verdict names its predicate.
func (e *Engine) judge(id PredicateID, f func(context.Context, Observation) Judgement, o Observation) (j Judgement) {
	defer func() {
		if r := recover(); r != nil {
			e.logger.Error(nil, "Predicate panicked", "predicate", id.String(), "reference", o.Ref.String(), "resourceVersion", o.ResourceVersion, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			j = Judgement{Verdict: Verdict{
				Decision:  Failed,
				Cause:     CauseJudge,
				Code:      codes.Internal,
				Reason:    ReasonEvaluationError,
				Message:   fmt.Sprintf("predicate %s panicked: %v", id, r),
				Predicate: id,
			}}
		}
	}()
	j = f(e.ctx, o)
	j.Verdict.Predicate = id
	return j
}

// record takes what was judged into the waiters, unless their barrier has
// changed meanwhile: then a look has been asked for, which judges anew.
func (o *object) record(s sighting, jobs []job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range jobs {
		j := &jobs[i]
		w := j.waiter
		if w.outcome != nil || w.epoch != j.epoch {
			continue
		}
		presence, uid := j.observation.Presence, s.uid
		w.barrier.judged(s, presence)
		w.unblock()
		delivered := w.last.at
		if !j.same {
			delivered = s.at
			var holding []Hold
			if j.judgement != nil {
				holding = j.judgement.Holding
			}
			w.updateHolds(holding, s.at)
		} else if uid == "" {
			uid = w.last.uid // whose absence it is was told before
		}
		w.last = judged{valid: true, presence: presence, object: s.object, uid: uid, version: s.version, at: delivered, judgement: j.judgement}
	}
}

// settle ends the waiters that are looking and have a decisive verdict, and arms
// the timers of those that wait for a hold time.
func (o *object) settle() {
	var ended []*Waiter
	now := o.source.engine.clock.Now()
	o.mu.Lock()
	for w := range o.all() {
		if !w.barrier.looking {
			continue
		}
		if v := w.verdictLocked(); v.Decisive() {
			o.endLocked(w, w.decided(v, now))
			ended = append(ended, w)
		} else if len(w.holds) > 0 {
			w.armHoldTimer(now)
		}
	}
	o.mu.Unlock()
	o.detach(ended...)
}

// contextWithLogger is what judges are called with.
func contextWithLogger(logger klog.Logger) (context.Context, context.CancelFunc) {
	return context.WithCancel(klog.NewContext(context.Background(), logger))
}
