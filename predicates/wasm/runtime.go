package wasm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// Option changes how a Runtime works.
type Option func(*config)

type config struct {
	clock       clock.WithDelayedExecution
	totalMemory uint64
	moduleSize  int64
	instances   int
	cacheDir    string
}

// WithClock gives the clock by which guests are parked, instances idle and
// evaluations take too long.
func WithClock(c clock.WithDelayedExecution) Option { return func(o *config) { o.clock = c } }

// WithTotalMemory bounds the linear memory of all instances together, in bytes.
// The default is DefaultTotalMemory.
func WithTotalMemory(bytes uint64) Option { return func(o *config) { o.totalMemory = bytes } }

// WithModuleSize bounds the size of modules, unzipped, in bytes: DefaultModuleSize
// if it isn't given, MaxModuleSize at most.
func WithModuleSize(bytes int64) Option { return func(o *config) { o.moduleSize = bytes } }

// WithInstances bounds the instances of each module, GOMAXPROCS by default.
func WithInstances(n int) Option { return func(o *config) { o.instances = n } }

// WithCacheDir keeps compiled modules in the directory, which New makes with the mode
// 0700 if it isn't there. Who can write there decides what runs, so New refuses one that
// isn't this user's or root's, or that others can write. What is damaged in it, or comes
// from another version, is compiled anew; one that can only be read serves what is there.
func WithCacheDir(dir string) Option { return func(o *config) { o.cacheDir = dir } }

// Runtime compiles and runs modules. A process needs one. It is safe for concurrent
// use.
type Runtime struct {
	config
	engine wazero.Runtime
	cached *cached // nil without a cache directory
	budget budget
	plans  *jsonform.Plans

	mu      sync.Mutex
	modules map[string]*code // by digest
	sweep   clock.Timer      // nil while no instance is idle
	closed  bool

	sweeping atomic.Bool   // sweep isn't nil
	sweeps   atomic.Uint64 // how many there were
	uses     atomic.Uint64 // how often an instance was given back
}

// New returns a runtime. The error is that of an option's value, or of the cache
// directory.
func New(opts ...Option) (*Runtime, error) {
	r := &Runtime{
		config: config{
			clock: clock.RealClock{}, totalMemory: DefaultTotalMemory,
			moduleSize: DefaultModuleSize, instances: runtime.GOMAXPROCS(0),
		},
		plans: jsonform.NewPlans(), modules: map[string]*code{},
	}
	for _, opt := range opts {
		opt(&r.config)
	}
	switch {
	case r.moduleSize < 1 || r.moduleSize > MaxModuleSize:
		return nil, fmt.Errorf("set up WebAssembly: modules of at most %d bytes; allowed are 1 to %d", r.moduleSize, MaxModuleSize)
	case r.instances < 1:
		return nil, fmt.Errorf("set up WebAssembly: %d instances of each module; allowed is 1 and more", r.instances)
	}
	r.budget.limit = r.totalMemory
	engine := wazero.NewRuntimeConfig().WithMemoryLimitPages(MaxMemory / rewrite.PageSize).WithDebugInfoEnabled(false)
	ctx := context.Background()
	r.engine = wazero.NewRuntimeWithConfig(ctx, engine)
	if err := cmp.Or(r.host(ctx, r.engine), r.openCache(ctx, engine)); err != nil {
		return nil, errors.Join(fmt.Errorf("set up WebAssembly: %w", err), r.Close())
	}
	return r, nil
}

// Close ends the runtime and everything in it. No evaluation may be under way.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.closed = true
	if r.sweep != nil {
		r.sweep.Stop()
		r.setSweep(nil)
	}
	r.modules = map[string]*code{}
	r.mu.Unlock()
	ctx := context.Background()
	if err := errors.Join(r.engine.Close(ctx), r.cached.close(ctx)); err != nil {
		return fmt.Errorf("close the WebAssembly runtime: %w", err)
	}
	return nil
}

// Memory returns how many bytes of linear memory all instances have now.
func (r *Runtime) Memory() uint64 { return r.budget.inUse() }

// reserve takes n bytes of the budget; if they aren't there, idle instances are
// closed, those of the module that was used longest ago first.
func (r *Runtime) reserve(n uint64) bool {
	for !r.budget.reserve(n) {
		if !r.closeIdle() {
			return false
		}
	}
	return true
}

// closeIdle closes one idle instance; false if there is none.
func (r *Runtime) closeIdle() bool {
	r.mu.Lock()
	var oldest *code
	var since uint64
	for _, c := range r.modules {
		if used, ok := c.pool.lastUse(); ok && (oldest == nil || used < since) {
			oldest, since = c, used
		}
	}
	r.mu.Unlock()
	return oldest != nil && oldest.pool.closeOldest()
}

// idle has the instances that stay idle closed.
func (r *Runtime) idle() {
	if r.sweeping.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sweep == nil && !r.closed {
		// In a goroutine: a clock may hold a lock while it tells.
		r.setSweep(r.clock.AfterFunc(sweepTime, func() { go r.closeLongIdle() }))
	}
}

// setSweep notes the timer. The caller holds mu.
func (r *Runtime) setSweep(t clock.Timer) {
	r.sweep = t
	r.sweeping.Store(t != nil)
}

// closeLongIdle closes the instances that have been idle for long enough. Time is
// counted in sweeps: to ask the clock after each call costs more than the call's
// other bookkeeping.
func (r *Runtime) closeLongIdle() {
	sweep := r.sweeps.Add(1)
	r.mu.Lock()
	r.setSweep(nil)
	var pools []*pool
	for _, c := range r.modules {
		pools = append(pools, &c.pool)
	}
	r.mu.Unlock()
	left := false
	for _, p := range pools {
		if sweep > idleSweeps {
			left = p.closeBefore(sweep-idleSweeps) || left
		} else {
			_, some := p.lastUse()
			left = some || left
		}
	}
	if left {
		r.idle()
	}
}
