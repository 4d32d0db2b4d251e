//go:build integration

package chaos_test

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// storeInterval is how exactly it is known when the informer's store has reached a version.
const storeInterval = time.Millisecond

// recorder is a plain handler that takes note of what it is told, and when. It also watches the version of the
// informer's store, since what was created and deleted unseen is in no event.
type recorder struct {
	mu       sync.Mutex
	told     map[string][]told
	versions []storeVersion
}

// told is one call of the handler.
type told struct {
	at        time.Time
	uid       types.UID
	version   string
	state     string
	gone      bool
	tombstone bool
}

type storeVersion struct {
	at      time.Time
	version string
}

var _ cache.ResourceEventHandler = (*recorder)(nil)

func newRecorder() *recorder {
	return &recorder{told: map[string][]told{}}
}

// OnAdd takes note.
func (r *recorder) OnAdd(obj any, _ bool) { r.note(obj.(metav1.Object), told{}) }

// OnUpdate takes note.
func (r *recorder) OnUpdate(_, obj any) { r.note(obj.(metav1.Object), told{}) }

// OnDelete takes note.
func (r *recorder) OnDelete(obj any) {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		r.note(t.Obj.(metav1.Object), told{gone: true, tombstone: true})
		return
	}
	r.note(obj.(metav1.Object), told{gone: true})
}

func (r *recorder) note(o metav1.Object, t told) {
	t.at, t.uid, t.version, t.state = time.Now(), o.GetUID(), o.GetResourceVersion(), o.GetAnnotations()[stateKey]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told[o.GetName()] = append(r.told[o.GetName()], t)
}

// first returns the first call about the object that fits; ok is false if there was none.
func (r *recorder) first(name string, fits func(told) bool) (t told, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.told[name] {
		if fits(t) {
			return t, true
		}
	}
	return told{}, false
}

// tombstones counts the deletions that the informer found out by a list.
func (r *recorder) tombstones() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, all := range r.told {
		for _, t := range all {
			if t.tombstone {
				n++
			}
		}
	}
	return n
}

// reached returns when the store had reached the version.
func (r *recorder) reached(version string) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.versions {
		if atLeast(v.version, version) {
			return v.at, true
		}
	}
	return time.Time{}, false
}

// watchStore notes the store's versions until ctx ends.
func (r *recorder) watchStore(ctx context.Context, store cache.Store) {
	ticker := time.NewTicker(storeInterval)
	defer ticker.Stop()
	for last := ""; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if version := store.LastStoreSyncResourceVersion(); version != last {
			last = version
			r.mu.Lock()
			r.versions = append(r.versions, storeVersion{time.Now(), version})
			r.mu.Unlock()
		}
	}
}

// atLeast reports whether version is floor or newer. A version that can't be compared isn't.
func atLeast(version, floor string) bool {
	c, err := resourceversion.CompareResourceVersion(version, floor)
	return err == nil && c >= 0
}
