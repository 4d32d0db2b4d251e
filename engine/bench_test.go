package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// started returns an engine on a scripted informer, and the handler that it gave
// to the informer.
func started(tb testing.TB, synced bool) (*engine.Engine, *informer, cache.ResourceEventHandler) {
	tb.Helper()
	i := newInformer()
	if synced {
		i.sync("1")
	}
	e := engine.New(newSet(), engine.WithLogger(klog.Logger{}))
	must(tb, e.Watch(pods, i))
	ctx, stop := context.WithCancel(context.Background())
	tb.Cleanup(stop)
	must(tb, e.Start(ctx))
	return e, i, i.handler
}

// startedWith is started with a set, on an informer that has synced.
func startedWith(tb testing.TB, s *set) (*engine.Engine, *informer) {
	tb.Helper()
	i := newInformer()
	i.sync("1")
	e := engine.New(s, engine.WithLogger(klog.Logger{}))
	must(tb, e.Watch(pods, i))
	ctx, stop := context.WithCancel(context.Background())
	tb.Cleanup(stop)
	must(tb, e.Start(ctx))
	return e, i
}

// deliveries are an event's old and new object, typed and unstructured.
func deliveries() map[string][2]any {
	old, now := pod("x", "u1", "10", "Other"), pod("x", "u1", "11", "Other")
	return map[string][2]any{
		"typed":        {old, now},
		"unstructured": {toUnstructured(old), toUnstructured(now)},
	}
}

func BenchmarkNoWaiter(b *testing.B) {
	for _, waiting := range []int{0, 1, 10_000} {
		for name, objects := range deliveries() {
			b.Run(fmt.Sprintf("%s/waiters=%d", name, waiting), func(b *testing.B) {
				e, _, handler := started(b, true)
				for n := range waiting {
					w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("other", n)), Predicate: "ready"})
					must(b, err)
					defer w.Close()
				}
				defer reportCPU(b)()
				b.ReportAllocs()
				for b.Loop() {
					handler.OnUpdate(objects[0], objects[1])
				}
			})
		}
	}
}

func TestNoWaiter_AnEventAllocatesNothing(t *testing.T) {
	e, _, handler := started(t, true)
	w, err := e.Register(engine.Request{Ref: refTo("other"), Predicate: "ready"})
	must(t, err)
	defer w.Close()
	for name, objects := range deliveries() {
		if n := testing.AllocsPerRun(1000, func() { handler.OnUpdate(objects[0], objects[1]) }); n != 0 {
			t.Errorf("%s: an update allocates %v times", name, n)
		}
		if n := testing.AllocsPerRun(1000, func() { handler.OnDelete(objects[1]) }); n != 0 {
			t.Errorf("%s: a deletion allocates %v times", name, n)
		}
	}
}

func BenchmarkRegisterClose(b *testing.B) {
	// Of an informer that has not synced nothing is judged.
	e, _, _ := started(b, false)
	request := engine.Request{Ref: refTo("x"), Predicate: "ready"}
	defer reportCPU(b)()
	b.ReportAllocs()
	for b.Loop() {
		w, err := e.Register(request)
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
}

func BenchmarkEventToWait(b *testing.B) {
	e, _, handler := started(b, true)
	for n := range 10_000 {
		w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("other", n)), Predicate: "ready"})
		must(b, err)
		defer w.Close()
		w.Done()
	}
	ctx := context.Background()
	defer reportCPU(b)()
	b.ReportAllocs()
	version := 100
	for b.Loop() {
		w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
		if err != nil {
			b.Fatal(err)
		}
		w.Done()
		version++
		handler.OnAdd(pod("x", "u1", fmt.Sprint(version), "Done"), false)
		if _, err := w.Wait(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNoWaiterFloor is the least that an event can cost: one look-up under
// a lock, with the key at hand. The other figures are to be read as ratios to it.
func BenchmarkNoWaiterFloor(b *testing.B) {
	var mu sync.RWMutex
	objects := map[types.NamespacedName]*int{}
	for n := range 10_000 {
		objects[types.NamespacedName{Namespace: "a", Name: fmt.Sprint("other", n)}] = new(int)
	}
	object := pod("x", "u1", "10", "")
	for b.Loop() {
		mu.RLock()
		o := objects[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}]
		mu.RUnlock()
		if o != nil {
			b.Fatal("found")
		}
	}
}
