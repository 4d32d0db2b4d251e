package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// TestRandom_AgainstTheOracle plays random histories of a server, of an informer
// behind it and of waits, and holds every wait against the oracle after every
// step: nothing ends early, on another object, late or not at all.
// DONEWHEN_RUNS says how many histories, DONEWHEN_SEED which is the first.
func TestRandom_AgainstTheOracle(t *testing.T) {
	runs, seed := setting(t, "DONEWHEN_RUNS", historiesByDefault), setting(t, "DONEWHEN_SEED", rand.Uint64N(1<<40))
	t.Logf("%d histories from DONEWHEN_SEED=%d on", runs, seed)
	playHistories(t, seed, runs)
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	must(t, err)
	return n
}

func playHistories(t *testing.T, first, runs uint64) {
	for seed := first; seed < first+runs && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) { playHistory(t, seed) })
	}
}

// generationSet has the predicates "ready", whose content depends on the
// generation, and "gone".
func generationSet(generation int) *set {
	s := newSet()
	s.predicates["ready"] = &predicate{
		name: "ready", digest: fmt.Sprint("ready of generation ", generation),
		judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
			if o.Presence == engine.Present {
				state := o.Object.GetAnnotations()["state"]
				switch state {
				case doneState(generation):
					state = "Done"
				case "Failed":
				default:
					state = "Other"
				}
				o.Object = pod("x", "u", "1", state)
			}
			return (&judge{predicate: &predicate{name: "ready"}}).decide(o)
		},
	}
	return s
}

// names are two objects of one name.
var names = []string{"a/x", "b/x"}

type delivery struct {
	name  string // empty: another object
	sees  []sight
	event func(cache.ResourceEventHandler)
}

type history struct {
	*testing.T
	seed       uint64
	random     *rand.Rand
	engine     *engine.Engine
	informer   *informer
	version    int
	server     []map[string]sight // by version
	uids       int
	stored     int
	queue      []delivery
	waits      []*modelWait
	generation int
	synced     bool
	moved      bool // the store moved in the middle of a look
	steps      []string
}

type modelWait struct {
	*engine.Waiter
	*oracle
	name    string
	waiting bool
	over    bool
	cancel  context.CancelFunc
}

func (h *history) step(format string, args ...any) {
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

func (h *history) one(n int) bool { return h.random.IntN(n) == 0 }

// view is how the store looks now.
func (h *history) view(name string) storeView {
	return storeView{h.stored, h.server[h.stored][name]}
}

// views is in how many ways a look may have read the store in the step that f is.
func (h *history) during(f func()) func(name string) []storeView {
	before := h.stored
	h.moved = false
	if h.one(3) && h.synced {
		h.informer.mu.Lock()
		h.informer.between = func() { h.moved = h.follow() }
		h.informer.mu.Unlock()
	}
	f()
	synctest.Wait()
	h.informer.mu.Lock()
	h.informer.between = nil
	h.informer.mu.Unlock()
	return func(name string) []storeView {
		if !h.synced {
			return nil
		}
		old, now := storeView{before, h.server[before][name]}, h.view(name)
		if !h.moved {
			return []storeView{now}
		}
		return []storeView{old, {before, now.key}, now}
	}
}

func (h *history) write(name string, s sight) {
	next := map[string]sight{}
	for n, s := range h.server[h.version] {
		next[n] = s
	}
	h.version++
	s.version = h.version
	next[name] = s
	h.server = append(h.server, next)
	h.step("server %d: %s is %s/%s", h.version, name, s.uid, s.state)
}

func (h *history) state() string {
	return []string{"Other", "Other2", "Done", "Done2", "Failed"}[h.random.IntN(5)]
}

func (h *history) serverStep() {
	name := names[h.random.IntN(len(names))]
	now := h.server[h.version][name]
	switch k := h.random.IntN(8); {
	case k == 0:
		h.write("another", sight{present: true})
	case !now.present:
		h.uids++
		h.write(name, sight{present: true, uid: fmt.Sprint("u", h.uids), state: h.state()})
	case k <= 2:
		h.write(name, sight{})
	default:
		h.write(name, sight{present: true, uid: now.uid, state: h.state()})
	}
}

// follow moves the store on, by one event or by a relist.
func (h *history) follow() bool {
	if h.stored == h.version {
		return false
	}
	to, relist := h.stored+1, h.one(4)
	if relist {
		to += h.random.IntN(h.version - h.stored)
	}
	h.step("store at %d (relist %t)", to, relist)
	before, after := h.server[h.stored], h.server[to]
	h.stored = to
	h.informer.bookmark(strconv.Itoa(to))
	for _, name := range names {
		h.change(name, before[name], after[name], relist)
	}
	if before["another"] != after["another"] {
		h.queue = append(h.queue, delivery{event: func(c cache.ResourceEventHandler) { c.OnUpdate(nil, pod("y", "v", strconv.Itoa(to), "")) }})
	}
	return true
}

func shown(name string, s sight) any {
	return pod(name, s.uid, strconv.Itoa(s.version), s.state)
}

func (h *history) change(name string, old, now sight, relist bool) {
	if old == now {
		return
	}
	h.informer.mu.Lock()
	delete(h.informer.items, name)
	if now.present {
		h.informer.items[name] = shown(name, now)
	}
	h.informer.mu.Unlock()
	d := delivery{name: name, sees: []sight{now}}
	switch {
	case !old.present && !now.present:
		return
	case !old.present:
		d.event = func(c cache.ResourceEventHandler) { c.OnAdd(shown(name, now), false) }
	case now.present:
		if old.uid != now.uid {
			d.sees = []sight{{uid: old.uid, version: now.version}, now}
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
		d.sees = []sight{{uid: old.uid, version: now.version}}
		d.event = func(c cache.ResourceEventHandler) { c.OnDelete(shown(name, last)) }
	}
	h.queue = append(h.queue, d)
}

// deliver tells the handler of up to n changes, in one go.
func (h *history) deliver(n int) {
	n = min(n, len(h.queue))
	if n == 0 {
		return
	}
	sees := map[string][]sight{}
	for _, d := range h.queue[:n] {
		h.step("deliver %q %+v", d.name, d.sees)
		sees[d.name] = append(sees[d.name], d.sees...)
		d.event(h.informer.handler)
	}
	h.queue = h.queue[n:]
	synctest.Wait()
	owing := map[string]bool{} // a wait on the object may look, and others with it
	for _, w := range h.waits {
		owing[w.name] = owing[w.name] || w.mayOwe()
	}
	for _, w := range h.waits {
		var views []storeView
		if h.synced {
			views = []storeView{h.view(w.name)}
		}
		w.deliver(sees[w.name], views, owing[w.name])
	}
	h.check()
}

// looked tells the other waits on the object that somebody has looked.
func (h *history) looked(by *modelWait, views func(string) []storeView) {
	for _, w := range h.waits {
		if w != by && w.name == by.name {
			w.mayLook(views(w.name))
		}
	}
	h.check()
}

func (h *history) register() {
	w := &modelWait{name: names[h.random.IntN(len(names))]}
	predicate, ref := []string{"ready", "gone"}[h.random.IntN(2)], refTo(w.name)
	// A UID of the caller's comes without a floor, so the store has to know it.
	if now := h.server[h.version][w.name]; h.synced && now.present && h.view(w.name).key.uid == now.uid && h.one(3) {
		ref.UID = types.UID(now.uid)
	}
	h.step("wait %d: register %s on %s, UID %q", len(h.waits), predicate, w.name, ref.UID)
	w.oracle = newOracle(predicate, string(ref.UID), h.generation)
	views := h.during(func() {
		var err error
		w.Waiter, err = h.engine.Register(engine.Request{Ref: ref, Predicate: predicate})
		must(h.T, err)
	})
	h.waits = append(h.waits, w)
	w.mustLook(views(w.name))
	h.looked(w, views)
}

func (h *history) waitStep() {
	if len(h.waits) < 4 && h.one(3) {
		h.register()
		return
	}
	if len(h.waits) == 0 {
		return
	}
	n := h.random.IntN(len(h.waits))
	w := h.waits[n]
	switch k := h.random.IntN(12); {
	case w.over:
	case k < 4 && !w.waiting:
		h.ownWrite(n, w)
	case k < 9 && !w.waiting:
		h.step("wait %d: wait", n)
		ctx, cancel := context.WithCancel(h.Context())
		w.waiting, w.cancel = true, cancel
		views := h.during(func() { go func() { _, _ = w.Wait(ctx) }() })
		w.wait(views(w.name))
		h.looked(w, views)
	case k == 10 && w.waiting && h.one(2):
		h.step("wait %d: cancel", n)
		w.over = true
		views := h.during(w.cancel)
		w.leave("canceled", views(w.name))
		h.looked(w, views)
	case k == 11 && h.one(3):
		h.step("wait %d: close", n)
		w.over = true
		w.Close()
		w.leave("closed", nil)
		h.check()
	}
}

// ownWrite writes, or finds the object as it is, and tells the waiter; mostly the
// informer has been told before the write returns.
func (h *history) ownWrite(n int, w *modelWait) {
	now := h.server[h.version][w.name]
	switch {
	case !now.present:
		h.uids++
		h.write(w.name, sight{present: true, uid: fmt.Sprint("u", h.uids), state: h.state()})
	case h.one(2):
		h.write(w.name, sight{present: true, uid: now.uid, state: h.state()})
	}
	written := h.server[h.version][w.name]
	for range h.random.IntN(4) {
		if h.one(3) {
			h.serverStep()
		}
		if h.synced {
			h.follow()
			h.deliver(1)
		}
	}
	h.step("wait %d: after %s at %d", n, written.uid, written.version)
	var err error
	views := h.during(func() { err = w.After(pod(w.name, written.uid, strconv.Itoa(written.version), written.state)) })
	if _, ended := w.Result(); err != nil && errors.Is(ended, engine.ErrUnfinished) {
		h.Fatal(err)
	}
	w.after(written, views(w.name))
	h.looked(w, views)
}

func (h *history) reload() {
	h.generation++
	h.step("reload: done means %s", doneState(h.generation))
	views := h.during(func() { h.engine.Swap(generationSet(h.generation)) })
	for _, w := range h.waits {
		if w.predicate == "gone" { // is what it was
			w.mayLook(views(w.name))
		} else {
			w.reload(h.generation, views(w.name))
		}
	}
	h.check()
}

// sync is the end of the first list.
func (h *history) sync() {
	h.step("the first list ends at %d", h.version)
	for h.stored < h.version {
		h.follow()
	}
	h.deliver(len(h.queue))
	h.synced = true
	h.informer.bookmark(strconv.Itoa(h.stored))
	close(h.informer.synced)
	synctest.Wait()
	for _, w := range h.waits {
		w.mustLook([]storeView{h.view(w.name)})
	}
	h.check()
}

// pass lets a second go by: those who wait for the cache look.
func (h *history) pass() {
	h.step("a second")
	seconds(1)
	for _, w := range h.waits {
		if h.synced {
			w.catchUp([]storeView{h.view(w.name)})
			w.mayLook([]storeView{h.view(w.name)})
		}
	}
	h.check()
}

func stands(w *engine.Waiter) string {
	r, err := w.Result()
	switch {
	case errors.Is(err, engine.ErrUnfinished):
		return ""
	case r != nil && r.Absent:
		return fmt.Sprintf("%s absent @%s", r.Verdict.Decision, r.ResourceVersion)
	case r != nil:
		return fmt.Sprintf("%s @%s", r.Verdict.Decision, r.ResourceVersion)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, engine.ErrClosed):
		return "closed"
	}
	return err.Error()
}

func (h *history) check() {
	h.Helper()
	for n, w := range h.waits {
		before := fmt.Sprintf("%+v", w.states)
		if end := stands(w.Waiter); !w.saw(end) {
			h.Fatalf("DONEWHEN_SEED=%d: wait %d stands at %q; allowed is only\n  %s\nafter\n  %s", h.seed, n, end,
				strings.ReplaceAll(before, "} {", "}\n  {"), strings.Join(h.steps, "\n  "))
		}
	}
}

func playHistory(t *testing.T, seed uint64) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// Versions grow from one digit to two, and from two to three.
	base := 6
	if seed%2 == 0 {
		base = 94
	}
	h := &history{T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), informer: newInformer(), version: base, stored: base}
	h.server = make([]map[string]sight, base+1)
	h.server[base] = map[string]sight{}
	h.engine = engine.New(generationSet(0), engine.WithLogger(klog.Logger{}))
	must(t, h.engine.Watch(pods, h.informer))
	must(t, h.engine.Start(ctx))
	if h.one(4) {
		h.step("not synced yet")
	} else {
		h.sync()
	}
	lag := h.random.IntN(3)
	for range 20 + h.random.IntN(40) {
		switch k := h.random.IntN(8 + lag); {
		case !h.synced && k <= 2:
			if h.one(6) {
				h.sync()
			}
		case k == 0:
			h.follow()
		case k <= 2:
			h.deliver(1 + h.random.IntN(4))
		case k <= 4:
			h.serverStep()
		case k == 5 && h.one(4):
			h.reload()
		case k == 6 && h.one(3):
			h.pass()
		default:
			h.waitStep()
		}
	}
	if !h.synced {
		h.sync()
	}
	for h.follow() {
		h.deliver(3)
	}
	h.deliver(len(h.queue))
	h.pass()
	for _, w := range h.waits {
		w.Close()
	}
	synctest.Wait()
	if objects, unseen, workers, tasks := h.engine.Kept(); objects+unseen+workers+tasks != 0 {
		h.Fatalf("DONEWHEN_SEED=%d: the engine keeps %d objects, %d unseen, %d workers, %d tasks", seed, objects, unseen, workers, tasks)
	}
}

// mayOwe reports whether the wait may be one that looks while events come.
func (o *oracle) mayOwe() bool {
	for b := range o.states {
		if b.end == "" && (b.unseen || b.pin != "") {
			return true
		}
	}
	return false
}

// saw keeps the states that agree with what is seen; false if none does.
func (o *oracle) saw(end string) bool {
	for b := range o.states {
		if b.end != end {
			delete(o.states, b)
		}
	}
	return len(o.states) > 0
}

func doneState(generation int) string { return []string{"Done", "Done2"}[generation%2] }
