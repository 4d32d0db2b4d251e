package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// Many goroutines register, wait, cancel, close and reload while events come, all
// on the same two objects; then nothing of it is left (G10).
func TestG10_NothingIsLeftWhenAllHammerOnOneObject(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const callers, rounds = 16, 60
	i := newInformer()
	i.sync("1")
	e := engine.New(generationSet(0, nil), engine.WithLogger(klog.Logger{}))
	must(t, e.Watch(pods, i))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	must(t, e.Start(ctx))

	var callersLeft, rest sync.WaitGroup
	var hammering atomic.Bool
	hammering.Store(true)
	rest.Go(func() { // the one who writes and tells, as an informer does
		for version := 10; hammering.Load(); version += 2 {
			name := []string{"x", "b/x"}[version/2%2]
			state := []string{"Other", "Done", "Done2", "Failed"}[version/4%4]
			i.put(pod(name, fmt.Sprint("u", version/20), strconv.Itoa(version), state))
			if version%14 == 0 {
				i.remove(name, strconv.Itoa(version+1))
			}
		}
	})
	rest.Go(func() {
		for generation := 1; hammering.Load(); generation++ {
			e.Swap(generationSet(generation%2, nil))
			for range e.Waiters() {
			}
		}
	})
	for n := range callers {
		callersLeft.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for range rounds {
				hammerOnce(t, e, r)
			}
		})
	}
	callersLeft.Wait()
	hammering.Store(false)
	rest.Wait()
	must(t, e.Settle(t.Context()))
	if objects, unseen, workers, tasks := e.Kept(); objects+unseen+workers+tasks != 0 {
		t.Errorf("the engine keeps %d objects, %d unseen, %d workers, %d tasks", objects, unseen, workers, tasks)
	}
}

func hammerOnce(t *testing.T, e *engine.Engine, r *rand.Rand) {
	request := engine.Request{Ref: refTo([]string{"x", "b/x"}[r.IntN(2)]), Predicate: []string{"ready", "gone"}[r.IntN(2)]}
	if r.IntN(4) == 0 {
		request.Supersedes = "key"
	}
	w, err := e.Register(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	if r.IntN(3) == 0 { // as far ahead of the cache as a write may be, or behind it
		written := pod(request.Ref.Namespace+"/x", fmt.Sprint("u", r.IntN(50)), strconv.Itoa(r.IntN(2000)), "")
		_ = w.After(written) // an ended wait says so
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(3000))*time.Microsecond)
	defer cancel()
	switch r.IntN(4) {
	case 0: // closed before it was waited for
	case 1: // closed while it is waited for
		go w.Close()
		fallthrough
	default:
		first, err := w.Wait(ctx)
		if again, errAgain := w.Result(); again != first || errAgain != err {
			t.Errorf("a wait has ended twice: %v, %v; then %v, %v", first, err, again, errAgain)
		}
	}
}
