package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

// names are two objects of one name.
var names = []string{"a/x", "b/x"}

// history is a random history of a server, and of an informer that follows it: its
// store first, what it tells later.
type history struct {
	*testing.T
	seed     uint64
	random   *rand.Rand
	engine   *engine.Engine
	informer *informer
	waits    []*modelWait

	server  []map[string]sight // by version
	uids    int
	stored  int   // the version that the store is at
	trail   []int // the versions that it was at since the engine was last at rest
	queue   []delivery
	synced  bool
	offline bool
	slow    func(engine.Observation) bool
	hurried bool // seldom lets the engine come to rest between two steps
	now     int  // seconds
	reloads int  // the generation of the set
	steps   []step

	happened []func() // since the engine was last at rest
}

// delivery is what the handler will be told.
type delivery struct {
	name  string // empty: another object
	sees  []sight
	event func(cache.ResourceEventHandler)
}

// step is something that happened; in words only if somebody asks.
type step struct {
	format string
	args   []any
}

func (h *history) step(format string, args ...any) { h.steps = append(h.steps, step{format, args}) }

// one is true once in n times.
func (h *history) one(n int) bool { return h.random.IntN(n) == 0 }

// bad fails the test, and tells the whole history.
func (h *history) bad(format string, args ...any) {
	var told strings.Builder
	for _, s := range h.steps {
		fmt.Fprintf(&told, "\n  "+s.format, s.args...)
	}
	h.Fatalf("DONEWHEN_SEED=%d: %s\nafter%s", h.seed, fmt.Sprintf(format, args...), told.String())
}

func (h *history) version() int { return len(h.server) - 1 }

// newest is the object as the server has it.
func (h *history) newest(name string) sight { return h.server[h.version()][name] }

func (h *history) write(name string, s sight) {
	next := maps.Clone(h.server[h.version()])
	h.server = append(h.server, next)
	s.version = h.version()
	next[name] = s
	h.step("server %d: %s is %s/%s", s.version, name, s.uid, s.state)
}

// create makes a new object of that name.
func (h *history) create(name string) {
	h.uids++
	h.write(name, sight{present: true, uid: fmt.Sprint("u", h.uids), state: h.state()})
}

func (h *history) update(name string) {
	h.write(name, sight{present: true, uid: h.newest(name).uid, state: h.state()})
}

func (h *history) state() string {
	return []string{"Other", "Other2", "Done", "Done2", "Failed"}[h.random.IntN(5)]
}

func (h *history) serverStep() {
	name := names[h.random.IntN(len(names))]
	switch k := h.random.IntN(8); {
	case k == 0:
		h.write("another", sight{present: true})
	case !h.newest(name).present:
		h.create(name)
	case k <= 2:
		h.write(name, sight{})
	default:
		h.update(name)
	}
}

// views is what a look may show: the store's version is read before the key, and the
// store may move between the two.
func (h *history) views(name string) []sight {
	if !h.synced {
		return []sight{{version: -1}}
	}
	views := make([]sight, 0, len(h.trail))
	for i, read := range h.trail {
		for _, then := range h.trail[i:] {
			s := h.server[then][name]
			if !s.present {
				s = sight{version: read}
			}
			if !slices.Contains(views, s) {
				views = append(views, s)
			}
		}
	}
	return views
}

// follow moves the store on, by one event or by a relist.
func (h *history) follow() {
	if h.stored == h.version() || h.offline {
		return
	}
	relist := h.one(4)
	to := h.stored + 1
	if relist {
		to += h.random.IntN(h.version() - h.stored)
	}
	h.move(to, relist)
}

func (h *history) move(to int, relist bool) {
	h.step("store at %d (relist %t)", to, relist)
	before, after := h.server[h.stored], h.server[to]
	h.stored, h.trail = to, append(h.trail, to)
	h.informer.mu.Lock() // all at once, as a store does
	h.informer.version = strconv.Itoa(to)
	for _, name := range names {
		if old, now := before[name], after[name]; old != now {
			h.store(name, now)
			h.tell(name, old, now, relist)
		}
	}
	h.informer.mu.Unlock()
	if before["another"] != after["another"] {
		h.queue = append(h.queue, delivery{event: func(c cache.ResourceEventHandler) { c.OnUpdate(nil, pod("y", "v", strconv.Itoa(to), "")) }})
	}
}

func shown(name string, s sight) any {
	return pod(name, s.uid, strconv.Itoa(s.version), s.state)
}

// store puts one object into the store, or takes it out; the informer is locked.
func (h *history) store(name string, now sight) {
	delete(h.informer.items, name)
	if now.present {
		h.informer.items[name] = shown(name, now)
	}
}

// tell queues what the handler will be told of a change.
func (h *history) tell(name string, old, now sight, relist bool) {
	d := delivery{name: name, sees: []sight{now}}
	gone := sight{uid: old.uid, version: now.version}
	switch {
	case !old.present && !now.present:
		return
	case !old.present:
		d.event = func(c cache.ResourceEventHandler) { c.OnAdd(shown(name, now), false) }
	case now.present:
		if old.uid != now.uid {
			d.sees = []sight{gone, now}
		}
		d.event = func(c cache.ResourceEventHandler) { c.OnUpdate(shown(name, old), shown(name, now)) }
	case relist:
		shape := []any{
			cache.DeletedFinalStateUnknown{Key: name, Obj: shown(name, old)},
			&cache.DeletedFinalStateUnknown{Key: name, Obj: shown(name, old)},
			cache.DeletedFinalStateUnknown{Key: name},
		}[h.random.IntN(3)]
		d.sees = []sight{{tombstone: true}}
		d.event = func(c cache.ResourceEventHandler) { c.OnDelete(shape) }
	default:
		last := old
		last.version = now.version
		d.sees = []sight{gone}
		d.event = func(c cache.ResourceEventHandler) { c.OnDelete(shown(name, last)) }
	}
	h.queue = append(h.queue, d)
}

// deliver tells the handler of up to n changes, in one go.
func (h *history) deliver(n int) {
	n = min(n, len(h.queue))
	for _, d := range h.queue[:n] {
		h.step("deliver %q %+v", d.name, d.sees)
		d.event(h.informer.handler)
		h.told(d.name, nil)
		for _, s := range d.sees {
			h.told(d.name, &s)
		}
	}
	h.queue = h.queue[n:]
}

// told is what the handler was told of an object, or (nil) that it was told something.
func (h *history) told(name string, s *sight) {
	h.foresee(func(w *modelWait) {
		if !h.looks(w.name) {
			w.views = nil
		}
		if s == nil || w.name == name {
			w.told(s)
		}
	})
}

// resync tells the handler of what it knows.
func (h *history) resync() {
	name := names[h.random.IntN(len(names))]
	if s := h.server[h.stored][name]; s.present && len(h.queue) == 0 {
		h.queue = []delivery{{name, []sight{s}, func(c cache.ResourceEventHandler) { c.OnUpdate(shown(name, s), shown(name, s)) }}}
		h.deliver(1)
	}
}

// sync is the end of the first list.
func (h *history) sync() {
	h.step("the first list ends at %d", h.version())
	h.move(h.version(), false)
	h.deliver(len(h.queue))
	h.rest()
	h.synced = true
	close(h.informer.synced)
	h.foresee(func(w *modelWait) { w.change(func(b belief) belief { return b }) })
	h.rest()
}

// foresee notes what has happened to the waits. The oracle is told only when the
// engine is at rest: it may have got round to it after the store had moved.
func (h *history) foresee(f func(*modelWait)) {
	n := len(h.waits)
	h.happened = append(h.happened, func() {
		for _, w := range h.waits[:n] {
			w.views = h.views(w.name)
			f(w)
		}
	})
}

// did is foresee for one of them.
func (h *history) did(f func()) { h.happened = append(h.happened, f) }

// glance notes that the object has been looked at, or will be: one look is everybody's.
func (h *history) glance(name string) {
	h.foresee(func(w *modelWait) {
		if w.name == name {
			w.each(func(b belief) []belief { return append(w.look(b), b) })
		}
	})
}

// looks reports whether anybody looks at the object in the store while events come:
// one look is everybody's.
func (h *history) looks(name string) bool {
	return h.hurried || slices.ContainsFunc(h.waits, func(w *modelWait) bool { return w.name == name && w.owes() })
}

// idle lets the engine work off everything; slow predicates take their time.
func (h *history) idle() {
	synctest.Wait()
	for h.engine.Busy() {
		time.Sleep(time.Millisecond)
		synctest.Wait()
	}
}

// rest lets the engine work off everything, and holds every wait against the oracle.
func (h *history) rest() {
	h.idle()
	stirred := len(h.trail) > 1 || len(h.happened) > 0
	for _, f := range h.happened {
		f()
	}
	h.happened = h.happened[:0]
	for _, w := range h.waits {
		if w.stood != "" {
			continue
		}
		before := w.states
		if stirred {
			w.views = h.views(w.name)
			w.oracle.rest()
		}
		if w.stood = stands(w.Waiter); (stirred || w.stood != "") && !w.saw(w.stood) {
			h.bad("wait %d stands at %q; allowed is only\n  %s\nbefore it came to rest\n  %s", w.number, w.stood, inWords(w.states), inWords(before))
		}
	}
	h.trail = append(h.trail[:0], h.stored)
}

func inWords(states map[belief]struct{}) string {
	var all []string
	for b := range states {
		all = append(all, fmt.Sprintf("%+v", b))
	}
	return strings.Join(all, "\n  ")
}
