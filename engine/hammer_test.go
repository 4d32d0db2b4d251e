package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// Everything at once on a few objects: reloads, shadows, predicates that are slow
// now and then, that break, that hold; closes, cancels, deletions. Every wait
// ends, and nothing remains.
func TestHammer_ReloadsLanesAndShadows(t *testing.T) {
	i := newInformer()
	i.sync("1")
	moody := func(generation int) *predicate {
		ready := &predicate{name: "moody"}
		return &predicate{name: "moody", digest: fmt.Sprint("moody", generation), judge: func(o engine.Observation, p engine.Params) engine.Judgement {
			switch rand.N(20) {
			case 0:
				time.Sleep(2 * time.Millisecond)
			case 1:
				return engine.Judgement{Verdict: engine.Verdict{Cause: engine.CauseJudge, Code: codes.Internal}}
			case 2:
				return engine.Judgement{Holding: []engine.Hold{{Rule: "done[0]", For: time.Millisecond, Verdict: engine.Verdict{Decision: engine.Done}}}}
			}
			return (&judge{predicate: ready, params: p}).decide(o)
		}}
	}
	load := func(generation int) *set {
		s := newSet(moody(generation), early()).bind("Make", "moody", func(b *engine.Binding) {
			b.Timeout = 50 * time.Millisecond
			if generation%3 == 0 {
				b.InFlight = engine.Pin
			}
		})
		if generation%2 == 0 {
			s.bindings = append(s.bindings, &engine.Binding{Name: "shadow", Operation: "Make", Resource: pods, Predicate: moody(-generation), Action: engine.Shadow})
		}
		return s
	}
	e := engine.New(load(0), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	must(t, e.Start(t.Context()))

	var events, waits sync.WaitGroup
	over := make(chan struct{})
	events.Go(func() {
		for version := 10; ; version++ {
			select {
			case <-over:
				return
			default:
			}
			name := fmt.Sprint("x", version%5)
			i.put(pod(name, fmt.Sprint("u", version/50), fmt.Sprint(2*version), []string{"Other", "Early", "Done"}[rand.N(3)]))
			if version%7 == 0 {
				i.remove(name, fmt.Sprint(2*version+1))
			}
		}
	})
	events.Go(func() {
		for generation := 1; ; generation++ {
			select {
			case <-over:
				return
			default:
				e.Swap(load(generation))
				e.Lanes()
			}
		}
	})
	for g := range 4 {
		waits.Go(func() {
			for n := range 100 {
				w, err := e.Register(engine.Request{Ref: refTo(fmt.Sprint("x", (n+g)%5)), Operation: "Make"})
				if err != nil {
					t.Error(err)
					return
				}
				ctx, cancel := context.WithCancel(t.Context())
				switch n % 4 {
				case 0:
					cancel()
				case 1:
					go w.Close()
				}
				if _, err := w.Wait(ctx); errors.Is(err, engine.ErrUnfinished) {
					t.Error(err)
				}
				cancel()
				w.Disagreements()
				w.Close()
			}
		})
	}
	waits.Wait()
	close(over)
	events.Wait()
	eventually(t, "an engine at rest", func() bool {
		objects, unseen, workers, tasks := e.Kept()
		return objects+unseen+workers+tasks == 0
	})
}
