package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// Source is a cluster of one resource and the informer that shows it, both
// scripted. Like client-go's, its store changes first and its handler is told
// after; a relist tells of deletions first, by tombstones; bookmarks and relists
// move the store's version without telling anyone. While the watch is cut, the
// cluster changes and the informer doesn't.
//
// Its methods as an informer are safe for concurrent use; those that change the
// cluster are called one at a time, and return when the handler has been told.
// Objects given to it must not be changed any more.
type Source struct {
	told func() error // called after each call of the handler

	mu      sync.Mutex
	cluster map[string]metav1.Object
	latest  int64 // the newest version of the cluster
	items   map[string]metav1.Object
	version string // of the store
	cut     bool
	missed  []change // while cut
	listed  bool     // the store has held a first list
	synced  chan struct{}
	handler cache.ResourceEventHandler
	failed  cache.WatchErrorHandlerWithContext
	removed chan struct{}
}

var (
	_ engine.Informer = (*Source)(nil)
	_ engine.Store    = (*Source)(nil)
)

// change is one event of the cluster.
type change struct {
	key     string
	object  metav1.Object // nil: deleted
	version string
}

// NewSource returns a source that has shown an empty cluster. If unsynced, it
// has shown nothing: its first list is cut off, until Reconnect or Relist.
func NewSource(unsynced bool) *Source {
	s := &Source{
		told:    func() error { return nil },
		cluster: map[string]metav1.Object{}, items: map[string]metav1.Object{},
		latest: 1, synced: make(chan struct{}), removed: make(chan struct{}),
		cut: unsynced, listed: !unsynced,
	}
	if !unsynced {
		s.version = "1"
		close(s.synced)
	}
	return s
}

// AddEventHandlerWithResyncPeriod takes the one handler.
func (s *Source) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handler != nil {
		return nil, errors.New("a scripted source has one handler")
	}
	s.handler = handler
	return registration{s}, nil
}

// RemoveEventHandler lets go of the handler.
func (s *Source) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handler != nil {
		s.handler = nil
		close(s.removed)
	}
	return nil
}

// SetWatchErrorHandlerWithContext takes whom Disconnect tells.
func (s *Source) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = handler
	return nil
}

// HasSynced reports whether the store has held the first list.
func (s *Source) HasSynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// LastStoreSyncResourceVersion returns the version that the store has reached.
func (s *Source) LastStoreSyncResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// GetByKey returns an object of the store.
func (s *Source) GetByKey(key string) (any, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, ok := s.items[key]
	return item, ok, nil
}

// registration is what the one handler is registered as.
type registration struct{ source *Source }

func (r registration) HasSynced() bool                     { return cache.IsDone(r) }
func (r registration) HasSyncedChecker() cache.DoneChecker { return r }
func (r registration) Done() <-chan struct{}               { return r.source.synced }
func (r registration) Name() string                        { return "scripted source" }

// Put adds an object to the cluster, or changes it; its resourceVersion is the
// cluster's from then on.
func (s *Source) Put(object metav1.Object) error {
	return s.happen(change{keyOf(object), object, object.GetResourceVersion()})
}

// Delete deletes an object at a version.
func (s *Source) Delete(key, version string) error {
	if s.Get(key) == nil {
		return fmt.Errorf("there is no %s to delete", key)
	}
	return s.happen(change{key: key, version: version})
}

// Get returns an object of the cluster, nil if there is none.
func (s *Source) Get(key string) metav1.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster[key]
}

// Next returns the version that follows the newest of the cluster.
func (s *Source) Next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.FormatInt(s.latest+1, 10)
}

// happen changes the cluster, and the store if the watch isn't cut.
func (s *Source) happen(c change) error {
	s.mu.Lock()
	s.apply(s.cluster, c)
	s.reached(c.version)
	if s.cut {
		s.missed = append(s.missed, c)
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	return s.deliver(c)
}

func (s *Source) apply(objects map[string]metav1.Object, c change) {
	if c.object == nil {
		delete(objects, c.key)
		return
	}
	objects[c.key] = c.object
}

func (s *Source) reached(version string) {
	if n, err := strconv.ParseInt(version, 10, 64); err == nil && n > s.latest {
		s.latest = n
	}
}

// deliver changes the store, then tells the handler.
func (s *Source) deliver(c change) error {
	s.mu.Lock()
	old := s.items[c.key]
	s.apply(s.items, c)
	s.version = c.version
	s.mu.Unlock()
	return s.tell(func(h cache.ResourceEventHandler) {
		switch {
		case c.object == nil && old != nil:
			h.OnDelete(with(old, func(o metav1.Object) { o.SetResourceVersion(c.version) }))
		case c.object == nil:
		case old != nil:
			h.OnUpdate(old, c.object)
		default:
			h.OnAdd(c.object, false)
		}
	})
}

func (s *Source) tell(event func(cache.ResourceEventHandler)) error {
	s.mu.Lock()
	h := s.handler
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	event(h)
	return s.told()
}

// errCut is what a cut watch fails with.
var errCut = errors.New("watching: connection refused")

// Disconnect cuts the watch, which fails with an error that says so.
func (s *Source) Disconnect(ctx context.Context) error {
	s.mu.Lock()
	if s.cut && s.listed {
		s.mu.Unlock()
		return errors.New("the watch is cut already")
	}
	s.cut = true
	failed := s.failed
	s.mu.Unlock()
	if failed != nil {
		// client-go's own handler logs it, and it is no news here.
		failed(klog.NewContext(ctx, klog.Logger{}), &cache.Reflector{}, errCut)
	}
	return nil
}

// Reconnect lets the watch go on: it delivers what was missed, event by event.
// Where nothing was shown yet it is the first list that goes on.
func (s *Source) Reconnect() error {
	s.mu.Lock()
	if !s.cut {
		s.mu.Unlock()
		return errors.New("the watch isn't cut")
	}
	s.cut = false
	missed := s.missed
	s.missed = nil
	if !s.listed {
		objects := slices.Collect(maps.Values(s.cluster))
		version := strconv.FormatInt(s.latest, 10)
		s.mu.Unlock()
		return s.Relist(version, objects...)
	}
	s.mu.Unlock()
	for _, c := range missed {
		if err := s.deliver(c); err != nil {
			return err
		}
	}
	return nil
}

// Relist has the informer list anew, as after a watch that can't be resumed: the
// objects are the whole cluster, and what isn't among them is gone.
func (s *Source) Relist(version string, objects ...metav1.Object) error {
	objects = slices.SortedFunc(slices.Values(objects), func(a, b metav1.Object) int {
		return slices.Compare([]string{keyOf(a)}, []string{keyOf(b)})
	})
	s.mu.Lock()
	old, first := s.items, !s.listed
	s.cluster, s.items = map[string]metav1.Object{}, map[string]metav1.Object{}
	for _, object := range objects {
		s.cluster[keyOf(object)], s.items[keyOf(object)] = object, object
	}
	s.reached(version)
	s.version, s.cut, s.missed, s.listed = version, false, nil, true
	s.mu.Unlock()
	var events []func(cache.ResourceEventHandler)
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if s.Get(key) == nil {
			events = append(events, func(h cache.ResourceEventHandler) {
				h.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: old[key]})
			})
		}
	}
	for _, object := range objects {
		events = append(events, func(h cache.ResourceEventHandler) {
			if before := old[keyOf(object)]; before != nil {
				h.OnUpdate(before, object)
			} else {
				h.OnAdd(object, first)
			}
		})
	}
	for _, event := range events {
		if err := s.tell(event); err != nil {
			return err
		}
	}
	if first {
		close(s.synced)
	}
	return nil
}

// Tombstone has the informer learn from a relist, and not from an event, that an
// object is gone.
func (s *Source) Tombstone(key, version string) error {
	s.mu.Lock()
	_, ok := s.items[key]
	var rest []metav1.Object
	for k, object := range s.cluster {
		if k != key {
			rest = append(rest, object)
		}
	}
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("the informer holds no %s that could vanish", key)
	}
	return s.Relist(version, rest...)
}

// Resync tells the handler of everything in the store once more.
func (s *Source) Resync() error {
	s.mu.Lock()
	items := maps.Clone(s.items)
	s.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if err := s.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(items[key], items[key]) }); err != nil {
			return err
		}
	}
	return nil
}

// Bookmark moves the version of cluster and store, and tells nobody.
func (s *Source) Bookmark(version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return errors.New("no bookmark comes over a watch that is cut")
	}
	s.reached(version)
	s.version = version
	return nil
}
