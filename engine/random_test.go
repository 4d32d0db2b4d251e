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
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// TestRandom_AgainstTheOracle plays random histories of a server, of an informer
// behind it and of waits, and holds every wait against the oracle whenever the
// engine has come to rest: nothing ends early, on another object, late or not at
// all. DONEWHEN_RUNS says how many histories, DONEWHEN_SEED which is the first.
func TestRandom_AgainstTheOracle(t *testing.T) { playHistories(t, 10_000) }

func playHistories(t *testing.T, otherwise uint64) {
	runs, first := setting(t, "DONEWHEN_RUNS", otherwise), setting(t, "DONEWHEN_SEED", rand.Uint64N(1<<40))
	t.Logf("%d histories from DONEWHEN_SEED=%d on", runs, first)
	for seed := first; seed < first+runs && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) { playHistory(t, seed) })
	}
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

// doneState is the state that is done for the predicates of that generation.
func doneState(generation int) string { return []string{"Done", "Done2"}[generation%2] }

// generationSet has the predicates "ready" and "held", whose content depends on the
// generation, and "gone". "held" is done once it has held for holdFor. slow (nil:
// none) says of which observations they take 2 ms, so that they get lanes.
func generationSet(generation int, slow func(engine.Observation) bool) *set {
	ready := &judge{predicate: &predicate{name: "ready"}}
	judge := func(o engine.Observation, _ engine.Params) engine.Judgement {
		if slow != nil && slow(o) {
			time.Sleep(2 * time.Millisecond)
		}
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
		return ready.decide(o)
	}
	s := newSet(&predicate{name: "ready"}, &predicate{name: "held"})
	for name, p := range s.predicates {
		if name != "gone" {
			p.digest, p.judge = fmt.Sprint(name, " of generation ", generation), judge
		}
	}
	s.predicates["held"].judge = func(o engine.Observation, p engine.Params) engine.Judgement {
		j := judge(o, p)
		if j.Verdict.Decision == engine.Done {
			j = engine.Judgement{Holding: []engine.Hold{{Rule: "done[0]", For: holdFor * time.Second, Verdict: j.Verdict}}}
		}
		return j
	}
	return s
}

// slowFor says of which observations predicates may be slow: all of them, those of
// one object, and some versions.
var slowFor = []func(engine.Observation) bool{
	func(engine.Observation) bool { return true },
	func(o engine.Observation) bool { return o.Ref.Namespace == "a" },
	func(o engine.Observation) bool {
		return strings.HasSuffix(o.ResourceVersion, "1") || strings.HasSuffix(o.ResourceVersion, "8")
	},
}

// modelWait is a wait, and what is believed of it.
type modelWait struct {
	*engine.Waiter
	*oracle
	number  int
	name    string
	waiting bool
	over    bool   // cancelled or closed
	stood   string // how it has ended
	cancel  context.CancelFunc
}

// owes reports whether the wait may be one that looks at the store.
func (w *modelWait) owes() bool {
	for b := range w.states {
		if b.owed || b.unseen {
			return true
		}
	}
	return false
}

// stands says how a wait stands: empty as long as it has not ended.
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

func (h *history) register() {
	w := &modelWait{number: len(h.waits), name: names[h.random.IntN(len(names))]}
	predicate, ref := []string{"ready", "gone", "held"}[h.random.IntN(3)], refTo(w.name)
	// A UID of the caller's comes without a floor, so the store has to know it.
	if s := h.server[h.stored][w.name]; h.synced && s.present && s.uid == h.newest(w.name).uid && h.one(3) {
		ref.UID = types.UID(s.uid)
	}
	h.step("wait %d: register %s on %s, UID %q", w.number, predicate, w.name, ref.UID)
	w.oracle = &oracle{predicate: predicate, now: h.now, blind: h.offline, generation: h.reloads}
	w.states = map[belief]struct{}{{pin: string(ref.UID), known: ref.UID != "", owed: true}: {}}
	h.during(func() {
		var err error
		w.Waiter, err = h.engine.Register(engine.Request{Ref: ref, Predicate: predicate})
		must(h.T, err)
	})
	h.glance(w.name)
	h.did(func() {}) // a look is owed
	h.waits = append(h.waits, w)
}

// during is a step in the middle of which the store may move: after a look has read
// its version, before it reads the key.
func (h *history) during(f func()) {
	if !h.hurried && h.synced && h.one(3) {
		h.informer.onceBetweenReads(h.follow)
		defer h.informer.onceBetweenReads(nil)
		defer h.idle()
	}
	f()
}

func (h *history) waitStep() {
	if len(h.waits) < 4 && h.one(3) {
		h.register()
		return
	}
	if len(h.waits) == 0 {
		return
	}
	w := h.waits[h.random.IntN(len(h.waits))]
	switch k := h.random.IntN(12); {
	case w.over:
	case k < 4 && (!w.waiting || !h.hurried && h.one(4)):
		h.ownWrite(w)
	case k < 9 && !w.waiting:
		h.step("wait %d: wait", w.number)
		ctx, cancel := context.WithCancel(h.Context())
		w.waiting, w.cancel = true, cancel
		h.during(func() {
			w.Done()
			go func() { _, _ = w.Wait(ctx) }()
		})
		h.glance(w.name)
		h.did(func() {
			w.change(func(b belief) belief { b.looking, b.counting = true, true; return b })
		})
	case k == 10 && w.waiting && h.one(2):
		h.step("wait %d: cancel", w.number)
		w.over = true
		h.during(w.cancel)
		h.glance(w.name)
		h.did(func() {
			w.change(func(b belief) belief { b.leaving = "canceled"; return b })
		})
	case k == 11 && h.one(3):
		h.step("wait %d: close", w.number)
		w.over = true
		w.Close()
		if stands(w.Waiter) == "closed" { // before it got round to what it was told last
			h.did(func() { w.states = map[belief]struct{}{{end: "closed"}: {}} })
		}
	}
}

// ownWrite writes, or finds the object as it is, and tells the waiter; mostly the
// informer has been told before the write returns.
func (h *history) ownWrite(w *modelWait) {
	switch {
	case !h.newest(w.name).present:
		h.create(w.name)
	case h.one(2):
		h.update(w.name)
	}
	written := h.newest(w.name)
	for range h.random.IntN(4) {
		if h.one(3) {
			h.serverStep()
		}
		if h.synced {
			h.follow()
			h.deliver(1)
			h.mayRest()
		}
	}
	h.step("wait %d: after %s at %d", w.number, written.uid, written.version)
	var err error
	h.during(func() { err = w.After(pod(w.name, written.uid, strconv.Itoa(written.version), written.state)) })
	if err != nil {
		if stands(w.Waiter) == "" {
			h.bad("After: %v", err)
		}
		return
	}
	h.glance(w.name)
	h.did(func() {
		w.saw("") // else After had said so
		w.after(written)
	})
}

func (h *history) reload() {
	h.rest()
	h.reloads++
	h.step("reload: done means %s", doneState(h.reloads))
	h.during(func() { h.engine.Swap(generationSet(h.reloads, h.slow)) })
	h.foresee(func(w *modelWait) {
		if w.predicate != "gone" { // which is what it was
			w.reload()
		}
	})
	h.rest()
}

// second lets a second go by: those who wait for the cache look, and hold times pass.
func (h *history) second() {
	h.rest()
	h.step("a second")
	h.now++
	seconds(1)
	h.foresee(func(w *modelWait) {
		w.now = h.now
		w.told(nil)
	})
	h.rest()
}

// disconnect has the informer's watch fail; reconnect has it list anew.
func (h *history) disconnect() {
	if h.offline = h.synced; h.offline {
		h.rest()
		h.step("the watch fails")
		h.engine.GoBlind(pods)
		h.foresee(func(w *modelWait) { w.blind = true })
	}
}

func (h *history) reconnect() {
	h.rest()
	h.write("another", sight{present: true})
	h.step("the watch is back")
	h.offline = false
	h.move(h.version(), true)
	h.foresee(func(w *modelWait) { w.blind = false })
	h.second()
}

// mayRest is rest, unless this is a history in a hurry.
func (h *history) mayRest() {
	if !h.hurried || len(h.trail) > 3 || h.one(4) {
		h.rest()
	} else if h.slow != nil {
		time.Sleep(time.Duration(h.random.IntN(4)) * time.Millisecond) // some have been judged by then
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
	h := &history{T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), informer: newInformer(), stored: base, trail: []int{base}}
	h.server = make([]map[string]sight, base+1)
	h.server[base] = map[string]sight{}
	h.informer.bookmark(strconv.Itoa(base))
	workers := 2
	if h.one(3) {
		h.slow, workers = slowFor[h.random.IntN(len(slowFor))], 1+h.random.IntN(2)
	}
	h.engine = engine.New(generationSet(0, h.slow), engine.WithLogger(klog.Logger{}), engine.WithWorkers(workers))
	must(t, h.engine.Watch(pods, h.informer))
	must(t, h.engine.Start(ctx))
	h.hurried = h.one(3)
	if !h.one(4) {
		h.sync()
	}
	lag := h.random.IntN(3)
	for range 16 + h.random.IntN(32) {
		h.randomStep(lag)
		h.mayRest()
	}
	if !h.synced {
		h.sync()
	}
	if h.offline {
		h.reconnect()
	}
	for h.stored < h.version() {
		h.follow()
		h.deliver(3)
		h.mayRest()
	}
	h.deliver(len(h.queue))
	for range holdFor + 1 {
		h.second()
	}
	for _, w := range h.waits {
		if end := stands(w.Waiter); end != w.stood {
			h.bad("wait %d stood at %q and stands at %q now", w.number, w.stood, end)
		}
		w.Close()
	}
	h.idle()
	if objects, unseen, workers, tasks := h.engine.Kept(); objects+unseen+workers+tasks != 0 {
		h.bad("the engine keeps %d objects, %d unseen, %d workers, %d tasks", objects, unseen, workers, tasks)
	}
}

// randomStep does one thing. lag is how far the informer falls behind.
func (h *history) randomStep(lag int) {
	switch k := h.random.IntN(8 + lag); {
	case !h.synced && k <= 2:
		if h.one(6) {
			h.sync()
		}
	case h.offline && k <= 1:
		if h.one(3) {
			h.reconnect()
		}
	case k == 0:
		h.follow()
	case k <= 2:
		h.deliver(1 + h.random.IntN(4))
	case k <= 4:
		h.serverStep()
	case k == 5 && h.one(4):
		h.reload()
	case k == 5 && h.one(4):
		h.resync()
	case k == 6 && h.one(3):
		h.second()
	case k == 6 && h.one(6):
		h.disconnect()
	default:
		h.waitStep()
	}
}
