package engine

import (
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// source is one informer and the objects of its resource that have waiters.
type source struct {
	engine    *Engine
	gvr       schema.GroupVersionResource
	namespace string // empty: every namespace
	filtered  bool   // the informer shows only some of the objects
	informer  Informer
	store     Store
	handle    cache.ResourceEventHandlerRegistration // set by Start
	firstLook chan struct{}                          // closed when those who waited for the first list have been told
	unsynced  string                                 // what is said of waits until then

	waiting  atomic.Int64 // objects with waiters: the handler's quickest way out
	sweeping atomic.Bool
	listed   atomic.Bool            // the informer was seen to have its first list
	ignored  atomic.Int64           // deliveries that were no API objects
	kind     atomic.Pointer[string] // the objects' kind, once one was seen

	mu      sync.RWMutex
	objects index // by key
	stopped bool

	unseenMu    sync.Mutex
	unseen      map[*object]struct{} // objects with waiters that wait for the cache
	unseenCount atomic.Int64
	unseenTimer clock.Timer // exists only while there are such objects

	sight sight // whether the informer sees

	versionMu  sync.Mutex
	highest    string      // the newest version that the store was seen at
	rolledBack atomic.Bool // the store's version went back once
	warned     atomic.Bool // of versions that can't be compared
}

// covers reports whether the informer shows objects of the namespace.
func (s *source) covers(namespace string) bool {
	return s.namespace == "" || s.namespace == namespace
}

// register puts a new waiter, made like that, on the object of that key. The store
// is looked at afterwards: the waiter is in the map first, so no event after the
// look is missed.
func (s *source) register(made *Waiter, key types.NamespacedName) (*Waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, ErrEngineStopped
	}
	if observer := s.engine.observer; observer != nil {
		observer.WaiterRegistered(made.terms.operation, made.terms.id)
	}
	hash := s.objects.hash(key)
	o := s.objects.get(hash, key)
	var w *Waiter
	if o == nil {
		o = &object{source: s, key: key}
		s.objects.put(hash, o)
		s.waiting.Add(1)
		w = &o.first
	} else {
		w = new(Waiter)
	}
	*w = *made
	w.object = o
	o.mu.Lock()
	o.addLocked(w)
	o.mu.Unlock()
	return w, nil
}

// lookup returns the object of that key if it has waiters.
func (s *source) lookup(key types.NamespacedName) *object {
	hash := s.objects.hash(key)
	s.mu.RLock()
	o := s.objects.get(hash, key)
	s.mu.RUnlock()
	return o
}

// all returns the objects with waiters.
func (s *source) all() []*object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects.all()
}

// synced reports whether the informer has its first list.
func (s *source) synced() bool {
	if s.listed.Load() {
		return true
	}
	if !s.informer.HasSynced() {
		return false
	}
	s.listed.Store(true)
	return true
}

// lookAt reads the object from the store; false if the informer shows nothing yet.
func (s *source) lookAt(key types.NamespacedName) (sighting, bool) {
	if !s.synced() {
		return sighting{}, false
	}
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + key.Name
	}
	seen, err := lookAt(versionedStore{s}, name)
	if err != nil {
		s.engine.logger.Error(err, "Reading the informer's store failed", "resource", s.gvr.GroupResource().String(), "key", name)
		return sighting{}, false
	}
	seen.at = s.engine.clock.Now()
	if seen.present() {
		s.learnKind(seen.object)
	}
	return seen, true
}

// versionedStore is the informer's store, whose version is watched for going back.
type versionedStore struct{ source *source }

func (v versionedStore) LastStoreSyncResourceVersion() string { return v.source.version() }
func (v versionedStore) GetByKey(key string) (any, bool, error) {
	return v.source.store.GetByKey(key)
}

// learnKind remembers the kind of the resource's objects.
func (s *source) learnKind(object metav1.Object) {
	if s.kind.Load() == nil {
		if kind := kindOf(object); kind != "" {
			s.kind.Store(&kind)
		}
	}
}

// checkKind refuses an object that is of another kind than the resource's.
func (s *source) checkKind(object metav1.Object) error {
	if group, ok := groupOf(object); ok && group != s.gvr.Group {
		return fmt.Errorf("the written object is a %s of group %q", kindOf(object), group)
	}
	kind := kindOf(object)
	if kind == "" {
		return nil
	}
	if known := s.kind.Load(); known != nil {
		if *known != kind {
			return fmt.Errorf("the written object is of kind %s, %s holds %s", kind, s.gvr.GroupResource(), *known)
		}
		return nil
	}
	// No object was seen yet. A kind's plural can be anything, but if it is that
	// of another watched resource, the object is that one's.
	guess, _ := meta.UnsafeGuessKindToResource(s.gvr.GroupVersion().WithKind(kind))
	if guess.Resource != s.gvr.Resource && s.engine.watches(guess.GroupResource()) {
		return fmt.Errorf("the written object is of kind %s, which looks like one of %s", kind, guess.GroupResource())
	}
	return nil
}

// awaitSync has every waiter look once the first list was delivered: for an
// object that isn't in it no event comes.
func (s *source) awaitSync() {
	defer close(s.firstLook)
	select {
	case <-s.handle.HasSyncedChecker().Done():
		s.firstListIsHere()
		for _, o := range s.all() {
			o.lookAgain()
		}
	case <-s.engine.ctx.Done():
	}
}

// stop ends every waiter and lets go of the informer.
func (s *source) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.closeSight()
	for _, o := range s.all() {
		o.endAll(ErrEngineStopped)
	}
	if s.handle != nil {
		if err := s.informer.RemoveEventHandler(s.handle); err != nil {
			s.engine.logger.Error(err, "Removing the event handler failed", "resource", s.gvr.GroupResource().String())
		}
	}
}
