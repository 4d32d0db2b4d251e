package engine

import "slices"

// shadows are the shadow bindings of a waiter's operation, with its params.
type shadows struct {
	all []*shadow
	// Guarded by object.mu.
	disagreements int
}

// shadow is one of them: judged beside the binding that decides, and never decides.
type shadow struct {
	binding string
	terms   *terms
	judge   Judge
	busy    bool // being judged in a lane; guarded by object.mu
}

// bindShadows makes judges of the offer's shadows for a request. One that can't
// be bound is left out, with a warning: it is no reason to refuse the wait.
func (f *offer) bindShadows(r *Request) *shadows {
	if len(f.shadows) == 0 {
		return nil
	}
	s := &shadows{}
	for _, offered := range f.shadows {
		b := offered.binding
		var judge Judge
		params, err := mergeParams(r.Params, b)
		if err == nil {
			judge, err = bind(b.Predicate, params)
		}
		if err != nil || b.Resource != r.Ref.Resource || !slices.Contains(b.Predicate.Resources(), r.Ref.Resource) {
			offered.warn(err)
			continue
		}
		s.all = append(s.all, &shadow{binding: b.Name, terms: offered.terms, judge: judge})
	}
	return s
}

func (o *shadowOffer) warn(err error) {
	o.warned.Do(func() {
		o.terms.pace.lanes.engine.logger.Info("Warning: a shadow binding is not judged beside waits on its operation: its predicate can't judge their objects or params",
			"operation", o.terms.operation, "binding", o.binding.Name, "predicate", o.terms.id.String(), "err", err)
	})
}

// continues takes over the count of those that these replace.
func (s *shadows) continues(before *shadows) *shadows {
	if before == nil || before.disagreements == 0 {
		return s
	}
	if s == nil {
		s = &shadows{}
	}
	s.disagreements = before.disagreements
	return s
}

// Disagreements returns on how many observations a shadow binding's verdict was
// another than the one that counts, for this waiter: the one is decisive and the
// other says something else, or both fail with different codes. Hold times are
// taken as passed on both sides.
func (w *Waiter) Disagreements() int {
	w.object.mu.Lock()
	defer w.object.mu.Unlock()
	shadows := w.rare().shadows
	if shadows == nil {
		return 0
	}
	return shadows.disagreements
}

// Disagreements returns how often shadow bindings and those that decide have
// disagreed since the engine was made. Waiters that share an evaluation count once.
func (e *Engine) Disagreements() int64 { return e.disagreements.Load() }

// beside is a shadow's evaluation beside one that has decided, or not.
type beside struct {
	object   *object
	job      job // the shadow's
	binding  string
	shadow   *shadow
	enforced job
}

// judgeShadows has the shadows of the jobs' waiters judge what was judged. Slow
// ones do so in their lanes, the newest that they have time for.
func (o *object) judgeShadows(jobs []job, by *worker) {
	if !o.hasShadows(jobs) {
		return
	}
	var here []*beside
	o.mu.Lock()
	for i := range jobs {
		j := &jobs[i]
		if j.waiter.rare().shadows == nil || j.same || j.retried || j.observation.Presence == outOfView {
			continue
		}
		for _, s := range j.waiter.rare().shadows.all {
			b := &beside{object: o, shadow: s, binding: s.binding, enforced: *j, job: job{
				waiter: j.waiter, judge: s.judge, terms: s.terms, observation: j.observation,
			}}
			lane := s.terms.pace.lane.Load()
			switch {
			case lane == nil || lane == by.lane:
				here = append(here, b)
			case !s.busy:
				s.busy = true
				lane.add(b)
			}
		}
	}
	o.mu.Unlock()
	for i, b := range here {
		b.judge(here[:i], by)
	}
}

func (o *object) hasShadows(jobs []job) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range jobs {
		if x := jobs[i].waiter.extra; x != nil && x.shadows != nil {
			return true
		}
	}
	return false
}

// process judges in a lane.
func (b *beside) process(by *worker) {
	b.judge(nil, by)
	b.object.mu.Lock()
	b.shadow.busy = false
	b.object.mu.Unlock()
}

// judge judges by the shadow, or shares what one of those before it has judged,
// and compares.
func (b *beside) judge(before []*beside, by *worker) {
	for _, other := range before {
		if other.job.alike(&b.job) {
			b.job.judgement = other.job.judgement
			if other.enforced.alike(&b.enforced) {
				b.count(b.differs())
				return // told already
			}
			b.compare(by)
			return
		}
	}
	b.object.run(&b.job, PurposeShadow, by)
	b.compare(by)
}

func (b *beside) compare(by *worker) {
	differs := b.differs()
	b.count(differs)
	if !differs {
		return
	}
	e := b.object.source.engine
	e.disagreements.Add(1)
	if e.observer != nil {
		e.observer.ShadowDisagreed(b.job.terms.operation, b.binding)
	}
	enforced, shadow := b.object.inWords(&b.enforced, by), b.object.inWords(&b.job, by)
	e.logger.Info("A shadow binding disagrees", "reference", b.job.observation.Ref.String(), "resourceVersion", b.job.observation.ResourceVersion,
		"operation", b.job.terms.operation, "binding", b.binding,
		"predicate", b.enforced.terms.id.String(), "verdict", enforced.Decision.String(), "reason", enforced.Reason, "message", enforced.Message,
		"shadowPredicate", b.job.terms.id.String(), "shadowVerdict", shadow.Decision.String(), "shadowReason", shadow.Reason, "shadowMessage", shadow.Message)
}

func (b *beside) count(differs bool) {
	if !differs {
		return
	}
	o, w := b.object, b.job.waiter
	o.mu.Lock()
	defer o.mu.Unlock()
	x := w.need()
	if x.shadows == nil {
		x.shadows = &shadows{}
	}
	x.shadows.disagreements++
}

func (b *beside) differs() bool {
	enforced, shadow := eventually(b.enforced.judgement), eventually(b.job.judgement)
	if enforced.Decision != shadow.Decision {
		return true // one of them is decisive
	}
	return enforced.Decision == Failed && (enforced.Code != shadow.Code || enforced.Cause != shadow.Cause)
}

// eventually returns what a judgement says once its hold times have passed.
func eventually(j *Judgement) Verdict {
	switch {
	case j == nil:
		return Verdict{}
	case len(j.Holding) > 0:
		return j.Holding[0].Verdict
	}
	return j.Verdict
}

// inWords returns a job's verdict with its texts.
func (o *object) inWords(j *job, by *worker) Verdict {
	v := eventually(j.judgement)
	if v.Decisive() || j.observation.Presence == outOfView {
		return v
	}
	described := o.source.engine.call(by, j.terms, j.judge.Describe, PurposeDescribe, *j.observation)
	return eventually(&described)
}
