package engine

import "slices"

// pass is one run through an object's mailbox: what it holds is judged in order,
// then the store is looked at if asked to, then those go who are leaving. The
// store is never behind what was delivered, so the look comes last.
//
// A worker that meets slow predicates hands the pass on to their lanes, one after
// the other. It is with one worker at a time, so nothing guards it.
type pass struct {
	inbox   []sighting
	gone    []*Waiter // told by the server itself that there is no such object
	again   bool      // judge again what was judged
	look    bool      // look at the store
	stale   bool      // look whether the server's versions went back
	settled bool
	leaving []*Waiter

	seen    sighting // what the jobs are about
	version ranked   // its version
	jobs    []job    // not judged yet
	judged  bool     // by a lane, in this turn: another object's turn is next
}

// process goes on with the object's pass, or begins one. It runs in one worker at
// a time.
func (o *object) process(by *worker) {
	var p pass
	if parked := o.unpark(); parked != nil {
		p = *parked
		p.judged = false
		o.mu.Lock()
		o.overtakeLocked(&p)
		o.mu.Unlock()
	} else {
		p = o.begin()
	}
	for {
		if next := o.work(&p, by); next != nil {
			o.park(p)
			next.add(o)
			return
		}
		if !o.step(&p) {
			break
		}
	}
	o.mu.Lock()
	o.scheduled = false
	if o.mail != nil || o.gone || o.look || o.timer {
		o.scheduleLocked()
	}
	o.mu.Unlock()
}

// park keeps a pass that is handed on.
func (o *object) park(p pass) {
	o.mu.Lock()
	o.box().parked = &p
	o.mu.Unlock()
}

// unpark returns the pass that was handed on, nil if there is none.
func (o *object) unpark() *pass {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mail == nil || o.mail.parked == nil {
		return nil
	}
	p := o.mail.parked
	if o.mail.parked = nil; len(o.mail.inbox) == 0 {
		o.mail = nil
	}
	return p
}

// begin empties the mailbox into a new pass.
func (o *object) begin() pass {
	now := o.source.engine.clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	p := pass{look: o.look}
	if o.mail != nil {
		p.inbox, o.mail = o.mail.inbox, nil
	}
	o.look, o.gone, o.timer = false, false, false
	for w := range o.all() {
		if w.gone {
			p.gone = append(p.gone, w)
		}
		w.flagRetry(now)
		p.again = p.again || w.again
		if w.extra != nil && w.extra.leaving != nil {
			p.leaving = append(p.leaving, w)
		}
	}
	return p
}

// step plans what comes next; false if the pass is through.
func (o *object) step(p *pass) bool {
	switch {
	case len(p.gone) > 0:
		w := p.gone[0]
		p.gone = p.gone[1:]
		p.see(sighting{at: o.source.engine.clock.Now()})
		p.jobs = o.planGone(w, &p.seen)
	case p.stale:
		// Usually an event from before a write. Or the server's versions went back.
		p.stale = false
		o.source.checkVersion()
	case len(p.inbox) > 0:
		s := p.inbox[0]
		p.inbox = p.inbox[1:]
		if s.via == viaTombstone {
			o.lookNow(p, sighting{uid: s.uid, via: viaTombstone, seq: s.seq})
		} else {
			o.planPass(p, s)
		}
	case p.again:
		p.again = false
		p.jobs = o.planAgain()
	case p.look:
		p.look = false
		o.startLooking()
		o.lookNow(p, sighting{via: viaStore})
	case !p.settled:
		p.settled = true
		o.settle(p)
	default:
		return false
	}
	return true
}

// planPass plans what is to be judged of a sighting.
func (o *object) planPass(p *pass, s sighting) {
	if o.source.fromBefore(&s) {
		return
	}
	p.see(s)
	stale, unordered := o.plan(p)
	if unordered {
		o.source.warnUncomparable(s.version)
	}
	p.stale = stale && !s.fromStore()
}

// see says what the jobs that are planned next are about.
func (p *pass) see(s sighting) { p.seen, p.version = s, rank(s.version) }

// lookNow plans what is to be judged of what the store holds. why says what asked
// for the look: of a tombstone also its place, and the UID that it named.
func (o *object) lookNow(p *pass, why sighting) {
	s, ok := o.source.lookAt(o.key)
	if !ok {
		return
	}
	s.via, s.seq = why.via, why.seq
	if !s.present() {
		s.uid = why.uid
	}
	o.planPass(p, s)
}

// work judges the jobs that are planned, and at the end lets those go who are
// leaving. It returns the lane that the pass must be handed on to, nil if what
// was planned is done.
func (o *object) work(p *pass, by *worker) *lane {
	for len(p.jobs) > 0 {
		n, next := p.split(by)
		if n == 0 {
			return next
		}
		here := p.jobs[:n]
		o.evaluate(here, by)
		o.record(p, here)
		o.settleJobs(p, here)
		o.judgeShadows(here, by)
		p.jobs = p.jobs[n:]
	}
	for p.settled && len(p.leaving) > 0 {
		n, next := o.splitLeaving(p.leaving, by)
		if n == 0 {
			return next
		}
		o.letGo(p.leaving[:n], by)
		p.leaving = p.leaving[n:]
	}
	return nil
}

// split puts first those jobs that the worker may judge and returns how many they
// are, and the lane of one of the others. A lane judges one observation for one
// judge in a turn, so that it is fair between objects.
func (p *pass) split(by *worker) (n int, next *lane) {
	var turn *job
	for i := range p.jobs {
		j := &p.jobs[i]
		lane := j.terms.pace.lane.Load()
		here := j.same || lane == nil
		if !here && lane == by.lane && !p.judged {
			if turn == nil {
				one := *j
				turn = &one
			}
			here = turn.alike(j)
		}
		if here {
			if i != n {
				p.jobs[i], p.jobs[n] = p.jobs[n], p.jobs[i]
			}
			n++
		} else {
			next = lane
		}
	}
	p.judged = p.judged || turn != nil
	return n, next
}

// splitLeaving is split for those who are leaving: their predicates are asked for
// words.
func (o *object) splitLeaving(leaving []*Waiter, by *worker) (n int, next *lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, w := range leaving {
		if lane := w.terms.pace.lane.Load(); lane == nil || lane == by.lane {
			leaving[i], leaving[n] = leaving[n], leaving[i]
			n++
		} else {
			next = lane
		}
	}
	return n, next
}

// overtakeLocked drops the jobs that have waited for a lane so long that nobody
// needs them any more: their waiters have ended, or a newer update of the same
// object has come, which is judged instead; object.mu is held.
func (o *object) overtakeLocked(p *pass) {
	p.jobs = slices.DeleteFunc(p.jobs, func(j job) bool { return j.waiter.outcome != nil })
	p.leaving = slices.DeleteFunc(p.leaving, func(w *Waiter) bool { return w.outcome != nil })
	if len(p.jobs) == 0 || p.jobs[0].replay || len(p.inbox) > 0 || o.mail == nil || len(o.mail.inbox) == 0 || o.source.rolledBack.Load() {
		return
	}
	newer := o.mail.inbox[0]
	if p.seen.present() && newer.present() && newer.via == viaEvent && newer.uid == p.seen.uid && compareVersions(newer.version, p.seen.version) == above {
		p.jobs, p.inbox, o.mail = nil, o.mail.inbox, nil
	}
}
