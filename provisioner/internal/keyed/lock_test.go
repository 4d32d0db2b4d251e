package keyed

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestTryHold(t *testing.T) {
	var lock Lock
	release, ok := lock.TryHold("a")
	if !ok {
		t.Fatal("a free key was refused")
	}
	if _, ok := lock.TryHold("a"); ok {
		t.Error("a held key was given again")
	}
	other, ok := lock.TryHold("b")
	if !ok {
		t.Error("another key was refused")
	}
	release()
	release() // once more must not free the next holder's key
	again, ok := lock.TryHold("a")
	if !ok {
		t.Fatal("a released key was refused")
	}
	release()
	if _, ok := lock.TryHold("a"); ok {
		t.Error("a stale release freed the key")
	}
	again()
	other()
	if len(lock.held) != 0 {
		t.Errorf("%d keys are left, want none", len(lock.held))
	}
}

func TestTryHoldIsExclusive(t *testing.T) {
	var lock Lock
	var inside, got atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1000 {
				release, ok := lock.TryHold("k")
				if !ok {
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two holders at once")
				}
				got.Add(1)
				inside.Add(-1)
				release()
			}
		})
	}
	group.Wait()
	if got.Load() == 0 {
		t.Error("nobody ever got the key")
	}
}
