//go:build integration

package chaos_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/controlplane"
)

// cutsWorkers is how many objects of each kind are in work at a time.
const cutsWorkers = 5

// watchesCut cuts every connection once per interval while objects are created, changed and deleted and waited for, and
// others change all the time without becoming ready.
func watchesCut(t *testing.T, server *controlplane.Server, interval, duration time.Duration) {
	r := newRig(t, server)
	restless, waits := map[*kind][]written{}, map[*kind][]*wait{}
	r.each(func(k *kind) {
		restless[k] = k.several(25, "restless")
		waits[k] = k.awaitAll(ready, restless[k])
	})
	stop := r.proxy.CutEvery(interval)
	begin := time.Now()
	over := func() bool { return t.Failed() || time.Since(begin) >= duration }
	var running sync.WaitGroup
	var mu sync.Mutex
	operations := 0
	r.each(func(k *kind) {
		running.Go(func() {
			for i := 0; !over(); i++ {
				k.set(restless[k][i%len(restless[k])].GetName(), fmt.Sprint("step-", i))
			}
		})
		for worker := range cutsWorkers {
			running.Go(func() {
				for i := 0; !over(); i++ {
					k.lifecycle(fmt.Sprintf("worker-%d-%d", worker, i))
					mu.Lock()
					operations += 2
					mu.Unlock()
				}
			})
		}
	})
	running.Wait()
	stop()
	_, accepted := r.proxy.Connections()
	t.Logf("%d operations in %v, while the client dialed %d times", operations, time.Since(begin).Round(time.Millisecond), accepted)
	if accepted < 3 {
		t.Errorf("the client dialed %d times: nothing was cut", accepted)
	}
	last := map[*kind]written{}
	r.each(func(k *kind) { last[k] = k.set(restless[k][0].GetName(), "touched") })
	r.settled(last)
	r.each(func(k *kind) {
		for _, w := range waits[k] {
			w.pending()
		}
		endAll(waits[k], k.setAll(restless[k], ready), (*wait).endsReady)
	})
	r.onlyListsAndWatches()
	r.report()
}

// lifecycle, in a goroutine of its own, ends that goroutine and fails the test if a write fails: it creates an object, waits until it is ready, deletes it and waits until it is gone.
func (k *kind) lifecycle(name string) {
	k.Helper()
	w := k.register(ready, name)
	w.begin(k.create(name, "pending"))
	k.set(name, "almost")
	object := k.set(name, ready)
	w.endsReady(object)
	w = k.register(gone, name)
	deleted := k.remove(object)
	w.begin(deleted)
	w.endsGone(deleted)
}
