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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

// TestRandom_AgainstAModel plays random histories of one name on a server, of an
// informer behind it and of waiters, and holds every end against what the server
// knows: nothing ends early, on another object, or not at all.
func TestRandom_AgainstAModel(t *testing.T) {
	runs, first := 400, uint64(1)
	if s := os.Getenv("DONEWHEN_RANDOM_RUNS"); s != "" {
		runs, _ = strconv.Atoi(s)
		first = rand.Uint64()
	}
	for i := range uint64(runs) {
		seed := first + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playRandomly(t, seed) })
		if t.Failed() {
			return
		}
	}
}

// moment is what the server holds of the name at a version.
type moment struct {
	uid   types.UID // empty: no object
	state string
}

// model is a server's history, an informer that follows it, and the waiters.
type model struct {
	*scene
	random  *rand.Rand
	history []moment // by version, from base
	uids    int
	stored  int // the version that the store is at
	queue   []func(cache.ResourceEventHandler)
	waiters []*modelWaiter
	steps   []string
	settled bool // let the engine work off each step before the next
}

// base makes versions grow from two digits to three.
const base = 95

type modelWaiter struct {
	*engine.Waiter
	n         int
	predicate string
	known     types.UID // from the reference or After
	floor     int
	from      int // the server's version at Register
	waiting   *waiting
	cancel    context.CancelFunc
	cancelled bool
	closed    bool
}

func (m *model) now() int              { return base + len(m.history) - 1 }
func (m *model) at(version int) moment { return m.history[version-base] }
func (m *model) step(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *model) object(version int) metav1.Object {
	at := m.at(version)
	// An object keeps the version of its last change.
	for version > base && m.at(version-1) == at {
		version--
	}
	return pod("x", string(at.uid), strconv.Itoa(version), at.state)
}

func (m *model) bad(format string, args ...any) {
	m.Helper()
	var history []string
	for i, at := range m.history {
		history = append(history, fmt.Sprintf("%d:%s/%s", base+i, at.uid, at.state))
	}
	m.Fatalf("%s\nhistory: %s\nsteps:\n  %s", fmt.Sprintf(format, args...), strings.Join(history, " "), strings.Join(m.steps, "\n  "))
}

// write changes the object on the server; every state is another than before.
func (m *model) write(next moment) {
	m.history = append(m.history, next)
	m.step("server %d: %s/%s", m.now(), next.uid, next.state)
}

func (m *model) create() moment {
	m.uids++
	return moment{types.UID(fmt.Sprint("u", m.uids)), m.state()}
}

func (m *model) state() string {
	return []string{"Other", "Other", "Done", "Failed"}[m.random.IntN(4)]
}

func (m *model) serverStep() {
	now := m.at(m.now())
	switch k := m.random.IntN(8); {
	case k == 0:
		m.history = append(m.history, now) // a change of another object
		m.step("server %d: another object", m.now())
	case now.uid == "":
		m.write(m.create())
	case k <= 2:
		m.write(moment{})
	default:
		for next := now; next == now; {
			next.state = m.state()
			if next != now {
				m.write(next)
				return
			}
		}
	}
}

// follow moves the store on: event by event, or by a relist.
func (m *model) follow() {
	if m.stored == m.now() {
		return
	}
	to := m.stored + 1
	relist := m.random.IntN(5) == 0
	if relist {
		to += m.random.IntN(m.now() - m.stored)
	}
	m.step("store at %d (relist %t)", to, relist)
	before, after := m.at(m.stored), m.at(to)
	same := before.uid == after.uid && (before.uid == "" || m.object(m.stored).GetResourceVersion() == m.object(to).GetResourceVersion())
	var old, obj metav1.Object
	if before.uid != "" {
		old = m.object(m.stored)
	}
	if after.uid != "" {
		obj = m.object(to)
	}
	m.informer.mu.Lock()
	if m.informer.version = strconv.Itoa(to); obj != nil {
		m.informer.items["a/x"] = obj
	} else {
		delete(m.informer.items, "a/x")
	}
	m.informer.mu.Unlock()
	var event func(cache.ResourceEventHandler)
	switch {
	case same && !relist:
		event = func(h cache.ResourceEventHandler) { h.OnUpdate(nil, pod("y", "v", strconv.Itoa(to), "")) }
	case same:
	case old == nil:
		event = func(h cache.ResourceEventHandler) { h.OnAdd(obj, false) }
	case obj != nil:
		event = func(h cache.ResourceEventHandler) { h.OnUpdate(old, obj) }
	case relist:
		shapes := []any{
			cache.DeletedFinalStateUnknown{Key: "a/x", Obj: old},
			&cache.DeletedFinalStateUnknown{Key: "a/x", Obj: old},
			cache.DeletedFinalStateUnknown{Key: "a/x"},
		}
		shape := shapes[m.random.IntN(len(shapes))]
		event = func(h cache.ResourceEventHandler) { h.OnDelete(shape) }
	default:
		last := pod("x", string(before.uid), strconv.Itoa(to), before.state)
		event = func(h cache.ResourceEventHandler) { h.OnDelete(last) }
	}
	m.stored = to
	if event != nil {
		m.queue = append(m.queue, event)
	}
}

func (m *model) deliver() {
	if len(m.queue) == 0 {
		return
	}
	m.step("deliver")
	event := m.queue[0]
	m.queue = m.queue[1:]
	m.informer.mu.Lock()
	h := m.informer.handler
	m.informer.mu.Unlock()
	event(h)
}

func (m *model) waiterStep() {
	if len(m.waiters) < 3 && m.random.IntN(3) == 0 {
		w := &modelWaiter{n: len(m.waiters), predicate: []string{"ready", "gone"}[m.random.IntN(2)], from: m.now()}
		ref := refTo("x")
		if now := m.at(m.now()); now.uid != "" && m.random.IntN(3) == 0 {
			// A reference's UID comes without a floor, so the store must know it.
			if m.at(m.stored).uid == now.uid {
				w.known, ref.UID = now.uid, now.uid
			}
		}
		m.step("waiter %d: register %s %s", w.n, w.predicate, ref.UID)
		var err error
		w.Waiter, err = m.engine.Register(engine.Request{Ref: ref, Predicate: w.predicate})
		must(m.T, err)
		m.waiters = append(m.waiters, w)
		return
	}
	if len(m.waiters) == 0 {
		return
	}
	w := m.waiters[m.random.IntN(len(m.waiters))]
	switch k := m.random.IntN(12); {
	case w.closed:
	case k < 5 && w.waiting == nil:
		m.ownWrite(w)
	case k < 10 && w.waiting == nil:
		m.step("waiter %d: wait", w.n)
		ctx, cancel := context.WithCancel(m.Context())
		w.cancel = cancel
		m.Cleanup(cancel)
		w.waiting = &waiting{T: m.T, end: make(chan struct{})}
		go func() {
			w.waiting.result, w.waiting.err = w.Wait(ctx)
			close(w.waiting.end)
		}()
	case k == 10 && w.waiting != nil:
		m.step("waiter %d: cancel", w.n)
		w.cancelled = true
		w.cancel()
	case k == 11 && m.random.IntN(3) == 0:
		m.step("waiter %d: close", w.n)
		w.closed = true
		w.Close()
	}
}

// ownWrite writes, or finds the object as it is, and tells the waiter.
func (m *model) ownWrite(w *modelWaiter) {
	now := m.at(m.now())
	switch {
	case now.uid == "":
		m.write(m.create())
	case m.random.IntN(2) == 0:
		m.write(moment{now.uid, now.state + "'"})
	}
	written := m.object(m.now())
	w.floor, _ = strconv.Atoi(written.GetResourceVersion())
	w.known = written.GetUID()
	for range m.random.IntN(4) { // in most cases the handler runs before the write returns
		if m.random.IntN(3) == 0 {
			m.serverStep()
			m.serverStep()
		}
		m.follow()
		m.deliver()
	}
	m.step("waiter %d: after %s at %d", w.n, w.known, w.floor)
	must(m.T, w.After(written))
}

// check holds an end against the server's history.
func (m *model) check(w *modelWaiter) {
	r, err := w.waiting.result, w.waiting.err
	if r == nil {
		if !w.cancelled && !w.closed || !errors.Is(err, context.Canceled) && !errors.Is(err, engine.ErrClosed) {
			m.bad("waiter %d ended without a verdict: %v", w.n, err)
		}
		return
	}
	version, convErr := strconv.Atoi(r.ResourceVersion)
	if convErr != nil || version > m.now() || version < w.floor {
		m.bad("waiter %d ended at version %q, its floor is %d", w.n, r.ResourceVersion, w.floor)
	}
	if !r.Absent {
		at := m.at(version)
		if r.Peek().GetUID() != at.uid || r.Peek().GetAnnotations()["state"] != at.state {
			m.bad("waiter %d ended on what never was: %v", w.n, r.Peek())
		}
	}
	switch r.Verdict.Decision {
	case engine.Done:
		if w.predicate == "ready" {
			if at := m.at(version); at.state != "Done" || w.known != "" && at.uid != w.known {
				m.bad("waiter %d is done at %d, where there is %s/%s", w.n, version, at.uid, at.state)
			}
			return
		}
		m.checkGone(w, version)
	case engine.Failed:
		if r.Verdict.Reason == "StateFailed" {
			if at := m.at(version); !strings.HasPrefix(at.state, "Failed") || w.known != "" && at.uid != w.known {
				m.bad("waiter %d failed at %d, where there is %s/%s", w.n, version, at.uid, at.state)
			}
			return
		}
		m.checkGone(w, version)
	default:
		m.bad("waiter %d ended with %s", w.n, r.Verdict.Decision)
	}
}

// checkGone holds the end on an absence against the history: what was known is
// gone at the version; of an unknown one there was a time without it by then. A
// store that moves on between the two reads of a look gives an absence an older
// version, which can only be while things happen at once.
func (m *model) checkGone(w *modelWaiter, version int) {
	last := version
	if !m.settled {
		last = m.now()
	}
	first := m.at(version).uid
	for v := last; v >= base; v-- {
		at := m.at(v).uid
		switch {
		case w.known != "" && v < version:
			m.bad("waiter %d ended on the absence of %s at %d, where it exists", w.n, w.known, version)
		case w.known != "" && at != w.known, w.known == "" && (at != first || at == ""):
			return
		}
	}
	m.bad("waiter %d ended on an absence at %d, there was none so far", w.n, version)
}

// checkEnded says what must have ended when everything was delivered.
func (m *model) checkEnded(w *modelWaiter) {
	now := m.at(m.now())
	must := ""
	switch {
	case now.uid == "" && w.predicate == "gone":
		must = "the object is gone"
	case now.uid == "" && w.known != "":
		must = "the object that it knew is gone"
	case now.uid == "":
	case w.known != "" && w.known != now.uid:
		must = "the object that it knew was replaced"
	case w.predicate == "ready" && (now.state == "Done" || strings.HasPrefix(now.state, "Failed")):
		must = "the state is decisive"
	}
	if must != "" {
		m.bad("waiter %d hangs: %s", w.n, must)
	}
}

func playRandomly(t *testing.T, seed uint64) {
	play(t, func(s *scene) {
		m := &model{
			scene: s, random: rand.New(rand.NewPCG(seed, 1)), history: []moment{{}}, stored: base,
		}
		m.settled = m.random.IntN(2) == 0
		s.informer.bookmark(strconv.Itoa(base))
		lag := m.random.IntN(3) // how far the informer lags behind
		for range 20 + m.random.IntN(40) {
			switch m.random.IntN(5 + lag) {
			case 0:
				m.follow()
			case 1, 2:
				m.deliver()
			case 3:
				m.serverStep()
			default:
				m.waiterStep()
			}
			if m.settled {
				synctest.Wait()
			}
			if m.random.IntN(20) == 0 {
				time.Sleep(time.Second)
			}
		}
		for m.stored < m.now() || len(m.queue) > 0 {
			m.follow()
			m.deliver()
		}
		seconds(3)
		for _, w := range m.waiters {
			if w.waiting == nil {
				w.Close()
				continue
			}
			select {
			case <-w.waiting.end:
				m.check(w)
			default:
				m.checkEnded(w)
				w.Close()
				synctest.Wait()
			}
		}
		s.nothingKept()
	})
}
