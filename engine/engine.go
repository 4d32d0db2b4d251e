package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Engine judges what informers show for those who wait. It is safe for
// concurrent use. Make one with New, give it informers with Watch, then Start it.
type Engine struct {
	logger   klog.Logger
	clock    clock.WithDelayedExecution
	dispatch dispatcher
	activity activity
	observer Observer // nil: none
	set      atomic.Pointer[loaded]
	swapping sync.Mutex // held by Swap
	lanes    lanes
	born     time.Time
	keys     keys // the newest waiter of each key that supersedes
	cuts     cuts
	ctx      context.Context // what judges are called with; ends with the engine
	cancel   context.CancelFunc

	disagreements atomic.Int64

	mu      sync.RWMutex // guards sources and started
	sources map[schema.GroupVersionResource][]*source
	started bool
}

// New returns an engine that judges by the set.
func New(set Set, opts ...Option) *Engine {
	c := config{logger: klog.Background(), clock: clock.RealClock{}}
	for _, opt := range opts {
		opt(&c)
	}
	if c.workers < 1 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	e := &Engine{
		logger:   c.logger,
		clock:    c.clock,
		observer: c.observer,
		born:     c.clock.Now(),
		cuts:     newCuts(),
		sources:  map[schema.GroupVersionResource][]*source{},
	}
	e.dispatch.activity, e.dispatch.max = &e.activity, c.workers
	e.lanes.engine, e.lanes.start = e, time.Now()
	e.ctx, e.cancel = contextWithLogger(c.logger)
	e.Swap(set)
	return e
}

// Watch gives the engine the informer of a resource, before Start: one for all
// namespaces, or several with InNamespace. It doesn't start the informer. It is
// an error to watch the same objects twice, or to give an informer whose store
// can't be read.
func (e *Engine) Watch(gvr schema.GroupVersionResource, informer Informer, opts ...WatchOption) error {
	var c watchConfig
	for _, opt := range opts {
		opt(&c)
	}
	store, ok := storeOf(informer)
	if !ok {
		return fmt.Errorf("watching %s: the informer %T has no store to read: give a shared informer of client-go or of a controller-runtime cache", gvr.GroupResource(), informer)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return fmt.Errorf("watching %s: the engine has started: call Watch before Start", gvr.GroupResource())
	}
	for _, s := range e.sources[gvr] {
		if s.covers(c.namespace) || c.namespace == "" {
			return fmt.Errorf("watching %s: namespace %q is watched already: give one informer per namespace, or one for all", gvr.GroupResource(), s.namespace)
		}
	}
	s := &source{
		engine:    e,
		gvr:       gvr,
		namespace: c.namespace,
		filtered:  c.filtered,
		informer:  informer,
		store:     store,
		objects:   newIndex(),
		firstLook: make(chan struct{}),
		unsynced:  fmt.Sprintf("the informer of %s has not synced yet", gvr.GroupResource()),
	}
	e.sources[gvr] = append(e.sources[gvr], s)
	s.listens(c.next)
	return nil
}

// Start has the informers call the engine until ctx ends; then every waiter ends
// with ErrEngineStopped. It doesn't block and doesn't start the informers. It is
// an error, and nothing is started, if an enforced binding is about a resource
// that isn't watched: such a wait could never end.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started {
		return errors.New("starting the engine: it was started before: make a new one")
	}
	if err := e.checkBindings(); err != nil {
		return err
	}
	var all []*source
	for _, sources := range e.sources {
		all = append(all, sources...)
	}
	for i, s := range all {
		handle, err := s.informer.AddEventHandlerWithResyncPeriod(handler{s}, 0)
		if err != nil {
			for _, added := range all[:i] {
				err = errors.Join(err, added.informer.RemoveEventHandler(added.handle))
				added.handle = nil
			}
			return fmt.Errorf("starting the engine: adding a handler to the informer of %s: %w", s.gvr.GroupResource(), err)
		}
		s.handle = handle
	}
	e.started = true
	e.warnOfFeatures()
	for _, s := range all {
		s.awaitFirstList()
		go s.awaitSync()
	}
	context.AfterFunc(ctx, func() { e.stop(all) })
	return nil
}

// checkBindings names the enforced bindings that no informer serves.
func (e *Engine) checkBindings() error {
	set := e.set.Load().set
	if set == nil {
		return nil
	}
	var missing []string
	for _, b := range set.Bindings() {
		if b.Action != Shadow && len(e.sources[b.Resource]) == 0 {
			missing = append(missing, fmt.Sprintf("%s (binding %q) is about %s", b.Operation, b.Name, versioned(b.Resource)))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("starting the engine: no informer for a bound resource: %s: give its informer to Watch", strings.Join(missing, "; "))
}

func (e *Engine) stop(sources []*source) {
	for _, s := range sources {
		s.stop()
	}
	e.cancel() // after the waits have ended: a judge cut short has nothing to say of them
}

// WaitForSync blocks until every informer's first list has been delivered. The
// error names the resource that is missing. The informers must be running.
func (e *Engine) WaitForSync(ctx context.Context) error {
	e.mu.RLock()
	started := e.started
	e.mu.RUnlock()
	all := e.allSources()
	if !started {
		return errors.New("waiting for the informers to sync: the engine has not started: call Start first")
	}
	for _, s := range all {
		select {
		case <-s.handle.HasSyncedChecker().Done():
		case <-e.ctx.Done():
			return fmt.Errorf("waiting for the informer of %s to sync: %w", s.gvr.GroupResource(), ErrEngineStopped)
		case <-ctx.Done():
			why := "is it started, and may it list and watch?"
			if b := s.blindness(); b != nil {
				why = b.String()
			}
			return fmt.Errorf("waiting for the informer of %s to sync: %w: %s", s.gvr.GroupResource(), ctx.Err(), why)
		}
	}
	return nil
}

// Register makes a waiter, before the write or after it: what the cache holds is
// judged either way. It doesn't block. The error says what is wrong with the
// request: an unknown operation or predicate, params, a resource or namespace
// that no informer shows; or it is ErrEngineStopped. Close the waiter when done.
func (e *Engine) Register(req Request) (*Waiter, error) {
	if req.Ref.Name == "" {
		return nil, fmt.Errorf("registering a wait on %s: the reference has no name", req.Ref)
	}
	if strings.Contains(req.Ref.Name, "/") || strings.Contains(req.Ref.Namespace, "/") {
		// The informer's store would take it for the key of another object.
		return nil, fmt.Errorf("registering a wait on %s: a name or namespace holds no slash: give them apart", req.Ref)
	}
	set := e.set.Load()
	offer, unknown := set.offer(&req)
	source, err := e.route(offer, &req.Ref)
	if err != nil {
		return nil, fmt.Errorf("registering a wait on %s: %w", req.Ref, err)
	}
	if unknown != nil {
		return nil, fmt.Errorf("registering a wait on %s: %w", req.Ref, unknown)
	}
	agreed, err := offer.agree(&req)
	if err != nil {
		return nil, fmt.Errorf("registering a wait on %s: %w", req.Ref, err)
	}
	made := Waiter{
		born:   e.sinceBorn(),
		number: set.number,
		terms:  agreed.terms,
		judge:  agreed.judge,
	}
	if len(req.Params) > 0 {
		made.params = maps.Clone(req.Params)
	}
	made.setShadows(agreed.shadows)
	if req.Supersedes != "" {
		made.need().key = req.Supersedes
	}
	made.barrier.pin, made.barrier.known = req.Ref.UID, req.Ref.UID != ""
	if agreed.terms.timeout > 0 {
		made.need().timeout.after = agreed.terms.timeout
	}
	w, err := source.register(&made, req.Ref.NamespacedName())
	if err != nil {
		return nil, fmt.Errorf("registering a wait on %s: %w", req.Ref, err)
	}
	// Before the first list there is nothing to look at: awaitSync has everyone look
	// who was in the map by the end of it.
	if source.synced() {
		w.object.lookAgain()
	}
	if e.set.Load() != set {
		e.catchUp(w)
	}
	if req.Supersedes != "" {
		e.supersede(w, req.Supersedes)
	}
	return w, nil
}

// route returns the informer that shows the reference: in the ordinary case the
// one that the offer's last request went to. The offer may be nil.
func (e *Engine) route(f *offer, ref *Reference) (*source, error) {
	if f == nil {
		return e.source(*ref)
	}
	if s := f.route.Load(); s != nil && s.gvr == ref.Resource && s.covers(ref.Namespace) {
		return s, nil
	}
	s, err := e.source(*ref)
	if err == nil {
		f.route.Store(s)
	}
	return s, err
}

// source finds the informer that shows the reference.
func (e *Engine) source(ref Reference) (*source, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	sources := e.sources[ref.Resource]
	for _, s := range sources {
		if s.covers(ref.Namespace) {
			return s, nil
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("no informer for %s: give one to Watch before Start", versioned(ref.Resource))
	}
	namespaces := make([]string, 0, len(sources))
	for _, s := range sources {
		namespaces = append(namespaces, s.namespace)
	}
	return nil, fmt.Errorf("no informer for namespace %q, only for %s", ref.Namespace, strings.Join(namespaces, ", "))
}

// allSources returns every informer watched.
func (e *Engine) allSources() []*source {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var all []*source
	for _, sources := range e.sources {
		all = append(all, sources...)
	}
	return all
}

// watches reports whether any version of the resource is watched.
func (e *Engine) watches(resource schema.GroupResource) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for gvr := range e.sources {
		if gvr.GroupResource() == resource {
			return true
		}
	}
	return false
}

// sinceBorn returns the time since the engine was made.
func (e *Engine) sinceBorn() time.Duration { return e.clock.Since(e.born) }

// afterFunc calls f in a goroutine of its own after d. A fake clock runs its
// callbacks with its own lock held, so f must not run in them.
func (e *Engine) afterFunc(d time.Duration, f func()) clock.Timer {
	return e.clock.AfterFunc(d, func() {
		e.activity.begin()
		go func() {
			defer e.activity.end()
			f()
		}()
	})
}
