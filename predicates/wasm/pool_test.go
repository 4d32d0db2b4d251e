package wasm

import (
	"context"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// TestStateless asks about the same objects in random order across instances: each
// always gives the same, for the same fuel.
func TestStateless(t *testing.T) {
	rt := newRuntime(t, WithInstances(4))
	guests := map[string]*Guest{"attached": guest(t, rt, "attached", Use{}), "hostile/counter": guest(t, rt, "hostile/counter", Use{})}
	states := []string{"", "Attached", "AttachmentFailed", "Attaching", "Unknown"}
	type question struct{ guest, state string }
	var mu sync.Mutex
	first := map[question]Result{}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 1_000 {
				for name, g := range guests {
					q := question{name, states[random.IntN(len(states))]}
					got, err := evaluate(t, g, map[string]any{"state": q.state})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if want, ok := first[q]; ok && got != want {
						t.Errorf("%+v gives %+v, at first it gave %+v", q, got, want)
					}
					first[q] = got
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

func TestNoAllocations(t *testing.T) {
	g := guest(t, newRuntime(t), "attached", Use{Settings: map[string]any{"strict": true}})
	ctx := context.Background()
	d := &Document{Object: object(map[string]any{"state": "Attaching"}), Params: map[string]any{"a": "b"}}
	if n := testing.AllocsPerRun(200, func() {
		if _, err := g.Evaluate(ctx, d, false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per evaluation", n)
	}
}

// TestParking: five faults in a row park a guest; after the time it gets one try,
// and twice the time if that fails too.
func TestParking(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	rt := newRuntime(t, WithClock(clock))
	// It divides by what isn't there: with a path it is well.
	g := guest(t, rt, "echo", Use{})
	ask := func(path any) error {
		_, err := g.Evaluate(context.Background(), &Document{Params: map[string]any{"path": path}}, true)
		return err
	}
	for range 2 {
		for range faultsToPark - 1 {
			if err := ask("bad"); ReasonOf(err) != BadPointer || err.(*Error).Parked {
				t.Fatal(err)
			}
		}
		if err := ask("/object"); err != nil {
			t.Fatalf("not five in a row: %v", err)
		}
	}
	for range faultsToPark {
		if err := ask("bad"); ReasonOf(err) != BadPointer || err.(*Error).Parked {
			t.Fatal(err)
		}
	}
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		err := ask("/object")
		if ReasonOf(err) != BadPointer || !err.(*Error).Parked {
			t.Fatalf("before %ds: %v", wait, err)
		}
		if until, ok := g.Parked(); !ok || until.Sub(clock.Now()) != wait*time.Second {
			t.Fatalf("parked for %v, want %ds", until.Sub(clock.Now()), wait)
		}
		clock.Step(wait * time.Second)
		if err := ask("bad"); ReasonOf(err) != BadPointer || err.(*Error).Parked {
			t.Fatalf("after %ds: %v", wait, err)
		}
	}
	clock.Step(longestPark)
	for range 2 {
		if err := ask("/object"); err != nil {
			t.Fatal(err)
		}
	}
	if _, parked := g.Parked(); parked {
		t.Error("a guest that is well is parked")
	}
}

// TestIdleInstancesClose: five minutes without a call and the memory is free.
func TestIdleInstancesClose(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	rt := newRuntime(t, WithClock(clock))
	g := guest(t, rt, "attached", Use{})
	clock.Step(4 * time.Minute)
	if _, err := evaluate(t, g, nil); err != nil {
		t.Fatal(err)
	}
	clock.Step(4 * time.Minute)
	if rt.Memory() != 65536 {
		t.Errorf("%d bytes after four minutes", rt.Memory())
	}
	clock.Step(time.Minute)
	waitFor(t, "the instance to be closed", func() bool { return rt.Memory() == 0 || stepped(clock, time.Minute) && rt.Memory() == 0 })
	if _, err := evaluate(t, g, nil); err != nil {
		t.Fatal(err)
	}
}

func stepped(clock *clocktesting.FakeClock, d time.Duration) bool {
	clock.Step(d)
	return true
}

// waitFor polls until it is so.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); goruntime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// TestK57_TimeoutOnAndOff: a timeout of the predicate, of the context, both, and
// neither. That of the context doesn't end an evaluation: the fuel does.
func TestK57_TimeoutOnAndOff(t *testing.T) {
	rt := newRuntime(t)
	for _, timeout := range []time.Duration{0, time.Nanosecond} {
		for _, cancelled := range []bool{false, true} {
			g := guest(t, rt, "attached", Use{Limits: Limits{Timeout: timeout}})
			ctx, cancel := context.WithCancel(context.Background())
			if cancelled {
				cancel()
			}
			_, err := g.Evaluate(ctx, &Document{}, true)
			if want := timeout > 0; (ReasonOf(err) == LimitExceeded) != want || !want && err != nil {
				t.Errorf("timeout %v, context cancelled %t: %v", timeout, cancelled, err)
			}
			cancel()
		}
	}
}

// TestMemoryOfAll: idle instances of other modules make room, busy ones don't.
func TestMemoryOfAll(t *testing.T) {
	rt := newRuntime(t, WithTotalMemory(3*65536))
	attached, echo := guest(t, rt, "attached", Use{}), guest(t, rt, "echo", Use{})
	counter := guest(t, rt, "hostile/counter", Use{})
	if rt.Memory() != 3*65536 {
		t.Fatalf("three instances have %d bytes", rt.Memory())
	}
	more := guest(t, rt, "hostile/unreachable", Use{}) // takes the place of attached
	if rt.Memory() != 3*65536 {
		t.Fatalf("four modules have %d bytes", rt.Memory())
	}
	var held []*instance
	for _, g := range []*Guest{echo, counter, more} {
		i, err := g.module.pool.acquire(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, i)
	}
	if _, err := evaluate(t, attached, nil); ReasonOf(err) != MemoryLimit {
		t.Errorf("with all memory in use: %v", err)
	}
	// With a timeout it waits until there is room.
	attached.limits.Timeout = time.Minute
	done := make(chan error, 1)
	go func() {
		_, err := evaluate(t, attached, nil)
		done <- err
	}()
	waitFor(t, "the evaluation to wait", func() bool {
		rt.budget.mu.Lock()
		defer rt.budget.mu.Unlock()
		return rt.budget.freed != nil
	})
	echo.module.pool.release(held[0], false)
	if err := <-done; err != nil {
		t.Errorf("once there is room: %v", err)
	}
	counter.module.pool.release(held[1], true)
	more.module.pool.release(held[2], true)
}

// TestK63_CodeFreedAfterLastUser: what is loaded twice is compiled once and goes
// with the last of its users, also if nobody closes it.
func TestK63_CodeFreedAfterLastUser(t *testing.T) {
	rt := newRuntime(t)
	ctx := context.Background()
	binary := fixture.Read(t, "testdata/attached.wasm")
	one, err := rt.Load(ctx, binary, "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := rt.Load(ctx, binary, "")
	if err != nil {
		t.Fatal(err)
	}
	if one.code != two.code {
		t.Error("the module was compiled twice")
	}
	g, err := two.Guest(ctx, Use{})
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	if _, err := evaluate(t, g, nil); err != nil {
		t.Errorf("after the other user has gone: %v", err)
	}
	two.Close()
	if n := rt.loaded(); n != 0 || rt.Memory() != 0 {
		t.Errorf("%d modules and %d bytes after the last user", n, rt.Memory())
	}
	// Nobody closes this one.
	func() {
		m, err := rt.Load(ctx, binary, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Guest(ctx, Use{}); err != nil {
			t.Fatal(err)
		}
	}()
	waitFor(t, "the module to be released", func() bool {
		goruntime.GC()
		return rt.loaded() == 0 && rt.Memory() == 0
	})
}

func (r *Runtime) loaded() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.modules)
}

// TestNoInstanceIsLost: who gives up waiting for an instance takes none along, also
// if one comes in the same moment, and those that wait are served in their order.
func TestNoInstanceIsLost(t *testing.T) {
	rt := newRuntime(t, WithInstances(1))
	g := guest(t, rt, "attached", Use{})
	p := &g.module.pool
	waiters := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting)
	}
	for round := range 200 {
		held, err := p.acquire(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp, served := make(chan error, 1), make(chan *instance, 1)
		go func() {
			i, err := p.acquire(ctx, 0)
			if err == nil {
				p.release(i, true)
			}
			gaveUp <- err
		}()
		waitFor(t, "the first to wait", func() bool { return waiters() == 1 })
		go func() {
			i, err := p.acquire(context.Background(), time.Minute)
			if err != nil {
				t.Error(err)
			}
			served <- i
		}()
		waitFor(t, "the second to wait", func() bool { return waiters() == 2 })
		if round%2 == 0 {
			cancel()
			p.release(held, true)
		} else {
			p.release(held, true)
			cancel()
		}
		if err := <-gaveUp; err != nil && err != context.Canceled {
			t.Errorf("who gave up: %v", err)
		}
		p.release(<-served, true)
	}
	if _, err := p.acquire(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.acquire(context.Background(), time.Nanosecond); ReasonOf(err) != LimitExceeded {
		t.Errorf("with the only instance in use: %v", err)
	}
	if p.live != 1 || p.free != 0 || waiters() != 0 {
		t.Errorf("%d instances live, %d are free, %d wait; want 1, 0, 0", p.live, p.free, waiters())
	}
}
