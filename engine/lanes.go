package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// slowAfter is how long an evaluation may take before its predicate is slow.
	slowAfter = time.Millisecond
	// quickRuns is how many quick evaluations in a row make a predicate quick again.
	quickRuns = 16
	// maxLanes is how many slow predicates have a lane of their own; further ones
	// share one more.
	maxLanes = 16
)

// pace is what is known of how fast a predicate judges. Waiters of equal digest
// share one.
type pace struct {
	id    PredicateID
	lanes *lanes
	lane  atomic.Pointer[lane] // nil: it is quick
	quick atomic.Int32         // quick evaluations in a row, while it is slow
	// silent is how many callers were not told what is pending in time, and still aren't.
	silent atomic.Int32
}

// took takes note of an evaluation.
func (p *pace) took(d time.Duration) {
	switch {
	case d > slowAfter:
		p.slow()
	case p.lane.Load() != nil && p.quick.Add(1) >= quickRuns:
		p.lanes.leave(p)
	}
}

// slow gives the predicate a lane, if it has none, until it is quick again.
func (p *pace) slow() {
	p.quick.Store(0)
	if p.lane.Load() == nil {
		p.lanes.enter(p)
	}
}

// lane judges a slow predicate, one object after the other, in a goroutine of its
// own that exists only while there is something to judge.
type lane struct{ dispatcher }

// lanes are the lanes of an engine, and the paces of its predicates by digest.
type lanes struct {
	engine *Engine
	start  time.Time // slowness is measured by the real clock, whatever the engine's is

	mu     sync.Mutex
	paces  map[string]*pace
	own    map[*pace]*lane
	shared *lane // of those that came when there were maxLanes
	guests map[*pace]struct{}
}

// now returns the time since the engine was made.
func (l *lanes) now() time.Duration { return time.Since(l.start) }

// pace returns the pace of a predicate.
func (l *lanes) pace(id PredicateID) *pace {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.paces[id.Digest]
	if p == nil {
		p = &pace{id: id, lanes: l}
		if l.paces == nil {
			l.paces = map[string]*pace{}
		}
		l.paces[id.Digest] = p
	}
	return p
}

// keep forgets the paces that neither the set's bindings nor the waiters use. One that
// a request came by while it was being forgotten is known to it alone; its lane goes
// with the next reload.
func (l *lanes) keep(set *loaded, used map[*pace]struct{}) {
	bound := map[string]struct{}{}
	if set.set != nil {
		for _, b := range set.set.Bindings() {
			bound[b.Predicate.ID().Digest] = struct{}{}
		}
	}
	var gone []*pace
	l.mu.Lock()
	for digest, p := range l.paces {
		_, isBound := bound[digest]
		if _, isUsed := used[p]; !isBound && !isUsed {
			delete(l.paces, digest)
			gone = append(gone, p)
		}
	}
	for _, p := range slices.AppendSeq(slices.Collect(maps.Keys(l.own)), maps.Keys(l.guests)) {
		if _, isUsed := used[p]; !isUsed && l.paces[p.id.Digest] != p {
			gone = append(gone, p)
		}
	}
	l.mu.Unlock()
	for _, p := range gone {
		l.leave(p)
	}
}

// enter gives a slow predicate its lane.
func (l *lanes) enter(p *pace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.lane.Load() != nil {
		return
	}
	if l.own == nil {
		l.own, l.guests = map[*pace]*lane{}, map[*pace]struct{}{}
	}
	var own *lane
	if len(l.own) < maxLanes {
		own = l.open()
		l.own[p] = own
	} else {
		if l.shared == nil {
			l.shared = l.open()
		}
		own = l.shared
		l.guests[p] = struct{}{}
	}
	p.lane.Store(own)
	l.tell(p, "Judging a slow predicate in a lane of its own")
}

func (l *lanes) open() *lane {
	own := &lane{dispatcher{activity: &l.engine.activity, max: 1}}
	own.lane = own
	return own
}

// leave takes a predicate's lane away; what is queued in it is still judged.
func (l *lanes) leave(p *pace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.lane.Swap(nil) == nil {
		return
	}
	delete(l.own, p)
	delete(l.guests, p)
	if len(l.guests) == 0 {
		l.shared = nil
	}
	l.tell(p, "A slow predicate is quick again")
}

func (l *lanes) tell(p *pace, what string) {
	l.engine.logger.V(2).Info(what, "predicate", p.id.String(), "lanes", len(l.own))
	if l.engine.observer != nil {
		l.engine.observer.Lanes(len(l.own))
	}
}

// Lane is where slow predicates are judged, apart from the others.
type Lane struct {
	// Predicates are those judged in it: one, or all for which there was no lane
	// of their own any more.
	Predicates []PredicateID
	// Queued is how many objects wait for it, besides the one being judged.
	Queued int
}

// Lanes returns the lanes in which slow predicates are judged now, ordered by
// predicate name; the shared one, if there is one, comes last.
func (e *Engine) Lanes() []Lane {
	l := &e.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Lane
	byName := func(a, b PredicateID) int {
		return strings.Compare(a.Name+"\x00"+a.Digest, b.Name+"\x00"+b.Digest)
	}
	for p, own := range l.own {
		all = append(all, Lane{Predicates: []PredicateID{p.id}, Queued: own.queued()})
	}
	slices.SortFunc(all, func(a, b Lane) int { return byName(a.Predicates[0], b.Predicates[0]) })
	if len(l.guests) > 0 {
		shared := Lane{Queued: l.shared.queued()}
		for p := range l.guests {
			shared.Predicates = append(shared.Predicates, p.id)
		}
		slices.SortFunc(shared.Predicates, byName)
		all = append(all, shared)
	}
	return all
}
