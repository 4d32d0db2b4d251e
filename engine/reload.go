package engine

import "fmt"

// Swap replaces the set, atomically: a waiter that is registered meanwhile ends
// up on the new one. No wait is lost.
//
// A waiter in flight that was made by predicate name moves to the new predicate
// of that name; one made with an operation takes over the operation's new
// binding: predicate, constants and timeout; its caller's params stay. The newest
// observation is then judged again at once, and hold times start anew. If the
// predicate's digest and params are what they were, nothing changes.
//
// A waiter stays on what it has if the new binding says InFlight Pin; or, with a
// warning, if the name isn't in the set any more, is about another resource now,
// or its params can't be bound.
func (e *Engine) Swap(set Set) {
	e.swapping.Lock()
	defer e.swapping.Unlock()
	next := &loaded{set: set, lanes: &e.lanes}
	before := e.set.Load()
	if before != nil {
		next.number = before.number + 1
	}
	e.set.Store(next)
	if e.observer != nil && set != nil {
		e.observer.Swapped(set.Digest())
	}
	if before == nil {
		return
	}
	m := mover{next: next, paces: map[*pace]struct{}{}, pinned: map[string]*pinned{}}
	for _, s := range e.allSources() {
		for _, o := range s.all() {
			m.move(o)
		}
	}
	e.lanes.keep(next, m.paces)
	m.report(e)
}

// catchUp moves a waiter that has just been registered to the set of a Swap that
// came between the resolution of its request and its place in the map, where the
// Swap may have missed it.
func (e *Engine) catchUp(w *Waiter) {
	for {
		next := e.set.Load()
		w.object.mu.Lock()
		behind := w.number != next.number
		w.object.mu.Unlock()
		if !behind {
			return
		}
		m := mover{next: next, paces: map[*pace]struct{}{}, pinned: map[string]*pinned{}}
		m.move(w.object)
		m.report(e)
	}
}

// mover moves waiters to a new set. Predicates bind params while no lock is held:
// the informer's handler must not wait for them.
type mover struct {
	next   *loaded
	moved  int
	kept   int // waiters whose predicate and params are what they were
	byPin  int // waiters that stay because their binding says so
	paces  map[*pace]struct{}
	pinned map[string]*pinned // by what and why
}

// pinned is why waiters could not move.
type pinned struct {
	request Request // of the first
	err     error
	count   int
}

// move is a waiter on its way.
type move struct {
	waiter  *Waiter
	request Request
	agreed  agreed
	err     error
}

func (m *mover) move(o *object) {
	moves := m.behind(o)
	for i := range moves {
		v := &moves[i]
		v.agreed, v.err = m.next.agree(&v.request)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range moves {
		v := &moves[i]
		w := v.waiter
		if w.outcome == nil && w.number < m.next.number {
			w.number = m.next.number
			m.apply(w, v)
		}
	}
	for w := range o.all() { // also of those that are on the new set already
		m.paces[w.terms.pace] = struct{}{}
	}
}

// behind returns the waiters of the object that are on an older set.
func (m *mover) behind(o *object) []move {
	o.mu.Lock()
	defer o.mu.Unlock()
	var moves []move
	for w := range o.all() {
		if w.number < m.next.number {
			moves = append(moves, move{waiter: w, request: w.requestLocked()})
		}
	}
	return moves
}

// requestLocked returns what the waiter was made with.
func (w *Waiter) requestLocked() Request {
	return Request{Ref: w.object.ref(), Operation: w.terms.operation, Predicate: w.terms.predicate, Params: w.params}
}

// apply puts the waiter on its new terms, or leaves it; object.mu is held.
func (m *mover) apply(w *Waiter, v *move) {
	// Compared with the judge that it has now: another reload may have overtaken this.
	same := v.err == nil && v.agreed.judge.Key() == w.judge.Key()
	switch {
	case v.err != nil:
		m.pin(v)
		w.setShadows(nil) // they are the old set's
	case v.agreed.inFlight() == Pin && !same:
		m.byPin++
		w.setShadows(v.agreed.shadows.continues(w.rare().shadows))
	default:
		w.setShadows(v.agreed.shadows.continues(w.rare().shadows))
		w.changeTimeout(v.agreed.terms.timeout)
		// The new judge even if it is equal, so that the old one can go.
		w.terms, w.judge = v.agreed.terms, v.agreed.judge
		if same {
			m.kept++
			return
		}
		m.moved++
		w.judgeAnew()
	}
}

// judgeAnew has the newest observation judged again, because the judge is
// another: what the old one said doesn't count any more.
func (w *Waiter) judgeAnew() {
	w.changes++
	w.dropHolds()
	w.dropRetry()
	w.last.judgement, w.again = nil, w.last.valid
	w.object.look = true
	w.object.scheduleLocked()
}

func (m *mover) pin(v *move) {
	why := fmt.Sprint(v.request.Operation, "\x00", v.request.Predicate, "\x00", v.err)
	p := m.pinned[why]
	if p == nil {
		p = &pinned{request: v.request, err: v.err}
		m.pinned[why] = p
	}
	p.count++
}

// report logs what became of the waiters.
func (m *mover) report(e *Engine) {
	for _, p := range m.pinned {
		e.logger.Info("Warning: waits stay on the predicate that they started with", "operation", p.request.Operation, "predicate", p.request.Predicate,
			"reference", p.request.Ref.String(), "waits", p.count, "why", p.err.Error(), "hint", "they end by the old predicate or by their deadlines")
	}
	if m.moved+m.byPin > 0 {
		e.logger.Info("Moved waits to a new set", "moved", m.moved, "unchanged", m.kept, "pinned", m.byPin, "set", m.next.set.Digest())
	}
}
