package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/donewhen/donewhen/engine"
)

func TestHammer_SameKeyFromManyGoroutines(t *testing.T) {
	i := newInformer()
	i.sync("1")
	e := engine.New(newSet())
	must(t, e.Watch(pods, i))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	must(t, e.Start(ctx))
	var wg sync.WaitGroup
	var version struct {
		sync.Mutex
		n int
	}
	write := func(state string) *corev1.Pod {
		version.Lock()
		defer version.Unlock()
		version.n++
		object := pod("x", "u1", fmt.Sprint(version.n+1), state)
		i.put(object)
		return object
	}
	for n := range 8 {
		wg.Go(func() {
			for k := range 200 {
				w, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
				if err != nil {
					t.Error(err)
					return
				}
				ctx, cancel := context.WithCancel(ctx)
				switch (n + k) % 4 {
				case 0:
					if err := w.After(write("Other")); err != nil {
						t.Error(err)
					}
					write("Done")
					if _, err := w.Wait(ctx); err != nil {
						t.Error(err)
					}
				case 1:
					go w.Close()
					_, _ = w.Wait(ctx)
				case 2:
					go cancel()
					_, _ = w.Wait(ctx)
				case 3:
					<-e2(w, write)
				}
				cancel()
				w.Close()
			}
		})
	}
	wg.Wait()
	if objects, unseen, _, _ := e.Kept(); objects+unseen != 0 {
		t.Fatalf("%d objects and %d unseen are kept", objects, unseen)
	}
}

func e2(w *engine.Waiter, write func(string) *corev1.Pod) <-chan struct{} {
	done := w.Done()
	write("Done")
	return done
}
