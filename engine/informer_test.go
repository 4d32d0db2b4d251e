package engine_test

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

// informer is a scripted informer. Like client-go's, its store changes first and
// its handlers are told later: at once, or when release is called after hold.
type informer struct {
	mu      sync.Mutex
	items   map[string]any
	version string
	handler cache.ResourceEventHandler
	synced  chan struct{}
	held    bool
	queue   []func(cache.ResourceEventHandler)
	// between is called between the two reads of a look, once.
	between func()
	reads   int
}

var (
	_ engine.Informer = (*informer)(nil)
	_ engine.Store    = (*informer)(nil)
)

func newInformer() *informer {
	return &informer{items: map[string]any{}, synced: make(chan struct{})}
}

func (i *informer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	if resync != 0 {
		panic("the engine asked for resyncs")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handler = handler
	return i, nil
}

func (i *informer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handler = nil
	return nil
}

func (i *informer) HasSynced() bool                     { return cache.IsDone(i) }
func (i *informer) HasSyncedChecker() cache.DoneChecker { return i }
func (i *informer) Done() <-chan struct{}               { return i.synced }
func (i *informer) Name() string                        { return "scripted informer" }

func (i *informer) LastStoreSyncResourceVersion() string {
	i.mu.Lock()
	version := i.version
	i.mu.Unlock()
	i.read()
	return version
}

func (i *informer) GetByKey(key string) (any, bool, error) {
	i.mu.Lock()
	item, ok := i.items[key]
	i.mu.Unlock()
	i.read()
	return item, ok, nil
}

func (i *informer) read() {
	i.mu.Lock()
	f := i.between
	i.between = nil
	i.reads++
	i.mu.Unlock()
	if f != nil {
		f()
	}
}

// onceBetweenReads has f called between the two reads of the next look.
func (i *informer) onceBetweenReads(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.between = f
}

// sync ends the first list, which showed the objects that are in the store.
func (i *informer) sync(version string) {
	i.bookmark(version)
	close(i.synced)
}

// bookmark moves the store's version without any event.
func (i *informer) bookmark(version string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.version = version
}

// put stores an object and tells of it as an addition or an update.
func (i *informer) put(object metav1.Object) {
	i.mu.Lock()
	key := cache.MetaObjectToName(object).String()
	old, ok := i.items[key]
	i.items[key], i.version = object, object.GetResourceVersion()
	i.mu.Unlock()
	i.tell(func(h cache.ResourceEventHandler) {
		if ok {
			h.OnUpdate(old, object)
		} else {
			h.OnAdd(object, false)
		}
	})
}

// remove deletes an object at a version, and tells of it.
func (i *informer) remove(name, version string) {
	i.mu.Lock()
	key := refTo(name).NamespacedName().String()
	last := i.items[key].(*corev1.Pod).DeepCopy()
	last.ResourceVersion = version
	delete(i.items, key)
	i.version = version
	i.mu.Unlock()
	i.tell(func(h cache.ResourceEventHandler) { h.OnDelete(last) })
}

// forget takes an object out of the store without telling of it.
func (i *informer) forget(name, version string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.items, refTo(name).NamespacedName().String())
	i.version = version
}

// relist replaces the store, and tells of the differences as client-go does.
func (i *informer) relist(version string, objects ...metav1.Object) {
	i.mu.Lock()
	old := i.items
	i.items, i.version = map[string]any{}, version
	var events []func(cache.ResourceEventHandler)
	for _, object := range objects {
		key := cache.MetaObjectToName(object).String()
		i.items[key] = object
		if before, ok := old[key]; ok {
			events = append(events, func(h cache.ResourceEventHandler) { h.OnUpdate(before, object) })
		} else {
			events = append(events, func(h cache.ResourceEventHandler) { h.OnAdd(object, false) })
		}
	}
	var gone []func(cache.ResourceEventHandler)
	for key, object := range old {
		if _, ok := i.items[key]; !ok {
			gone = append(gone, func(h cache.ResourceEventHandler) {
				h.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: object})
			})
		}
	}
	i.mu.Unlock()
	for _, event := range append(gone, events...) {
		i.tell(event)
	}
}

// tell calls the handler, or keeps the event until release.
func (i *informer) tell(event func(cache.ResourceEventHandler)) {
	i.mu.Lock()
	h := i.handler
	if i.held {
		i.queue = append(i.queue, event)
	}
	held := i.held
	i.mu.Unlock()
	if !held && h != nil {
		event(h)
	}
}

func (i *informer) hold() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.held = true
}

// release tells of what was held back, and goes on telling at once.
func (i *informer) release() {
	i.mu.Lock()
	queue, h := i.queue, i.handler
	i.queue, i.held = nil, false
	i.mu.Unlock()
	for _, event := range queue {
		event(h)
	}
}
