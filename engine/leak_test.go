package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/donewhen/donewhen/engine"
)

// A fake clock runs its callbacks with its own lock held: this also shows that
// the engine bears that.
func TestG10_NoTimerAndNoGoroutineRemains(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	clock := clocktesting.NewFakeClock(time.Now())
	i := newInformer()
	i.sync("10")
	s := newSet(steady()).bind("CreatePod", "ready", func(b *engine.Binding) { b.Timeout = time.Minute })
	e := engine.New(s, engine.WithClock(clock), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	ctx, stop := context.WithCancel(t.Context())
	must(t, e.Start(ctx))
	must(t, e.WaitForSync(ctx))

	i.put(pod("holding", "u1", "11", "Done"))
	var waiters []*engine.Waiter
	for n, request := range []engine.Request{
		{Ref: refTo("holding"), Predicate: "steady"},   // a hold time
		{Ref: refTo("capped"), Operation: "CreatePod"}, // the binding's timeout
		{Ref: refTo("unseen"), Predicate: "ready"},     // the unseen timer
	} {
		w, err := e.Register(request)
		must(t, err)
		if n == 2 {
			must(t, w.After(pod("unseen", "u3", "99", "")))
		}
		w.Done()
		waiters = append(waiters, w)
	}
	eventually(t, "three timers", func() bool { return clock.Waiters() == 3 })
	for n, w := range waiters {
		w.Close()
		if left := 2 - n; clock.Waiters() != left {
			t.Errorf("%d timers after %d of 3 were closed, want %d", clock.Waiters(), n+1, left)
		}
	}

	capped, err := e.Register(engine.Request{Ref: refTo("capped"), Operation: "CreatePod"})
	must(t, err)
	holding, err := e.Register(engine.Request{Ref: refTo("holding"), Predicate: "steady"})
	must(t, err)
	capped.Done()
	holding.Done()
	eventually(t, "two timers", func() bool { return clock.Waiters() == 2 })
	clock.Step(time.Minute)
	<-capped.Done()
	<-holding.Done()
	if r, err := holding.Result(); err != nil || r.Verdict.Decision != engine.Done {
		t.Errorf("holding: %v, %v", r, err)
	}
	if clock.HasWaiters() {
		t.Errorf("%d timers remain", clock.Waiters())
	}
	stop()
}

// eventually waits for a state of the engine that nothing announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func TestG8_AnotherObjectIsJudgedWhileOneIsSlow(t *testing.T) {
	block := make(chan struct{})
	slow := &predicate{name: "slow", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		<-block
		return engine.Judgement{}
	}}
	i := newInformer()
	i.sync("10")
	e := engine.New(newSet(slow), engine.WithWorkers(2), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	must(t, e.Start(ctx))
	blocked, err := e.Register(engine.Request{Ref: refTo("slow"), Predicate: "slow"})
	must(t, err)
	defer blocked.Close()
	for n := range 100 { // the handler isn't held up, and one worker is free
		i.put(pod("slow", "u1", fmt.Sprint(11+2*n), "Other"))
		i.put(pod("x", "u2", fmt.Sprint(12+2*n), "Other"))
	}
	w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
	must(t, err)
	defer w.Close()
	i.put(pod("x", "u2", "1000", "Done"))
	if _, err := w.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	close(block)
}

func TestG7_UpdatesMergeButNeverAcrossADeletion(t *testing.T) {
	judged := make(chan string, 100)
	block := make(chan struct{}, 100)
	p := &predicate{name: "recording", judge: func(o engine.Observation, _ engine.Params) engine.Judgement {
		judged <- fmt.Sprint(o.Presence, " ", o.ResourceVersion)
		<-block
		return engine.Judgement{}
	}}
	i := newInformer()
	i.sync("10")
	i.put(pod("x", "u1", "11", ""))
	e := engine.New(newSet(p), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	must(t, e.Start(ctx))
	w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "recording"})
	must(t, err)
	defer w.Close()
	w.Done()
	expect := func(want string) {
		t.Helper()
		if got := <-judged; got != want {
			t.Fatalf("judged %q, want %q", got, want)
		}
	}
	expect("Present 11")
	for n := range 5 { // while 11 is being judged
		i.put(pod("x", "u1", fmt.Sprint(12+n), ""))
	}
	i.remove("x", "20")
	i.put(pod("x", "u2", "21", ""))
	i.put(pod("x", "u2", "22", ""))
	i.put(pod("x", "u3", "23", ""))
	for range 100 {
		block <- struct{}{}
	}
	expect("Present 16")
	expect("Deleted 20")
	expect("Replaced 22")
	expect("Replaced 23")
}
