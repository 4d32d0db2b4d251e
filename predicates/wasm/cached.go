package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates/wasm/internal/codecache"
	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// cached is an engine that keeps on disk what it compiles. It fails where the disk is
// full; the runtime then goes on with its other engine.
type cached struct {
	cache  *codecache.Cache
	engine wazero.Runtime
	off    atomic.Bool // it has failed
	told   sync.Once   // that nothing is kept
}

// openCache makes the engine that works with the cache directory, if there is one.
func (r *Runtime) openCache(ctx context.Context, config wazero.RuntimeConfig) error {
	if r.cacheDir == "" {
		return nil
	}
	cache, err := codecache.Open(r.cacheDir, fmt.Sprintf("start fuel %d", StartFuel))
	if err != nil {
		return fmt.Errorf("open the cache directory %s: %w", r.cacheDir, err)
	}
	r.cached = &cached{cache: cache, engine: wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cache.Engine()))}
	return r.host(ctx, r.cached.engine)
}

// build returns the module rewritten and compiled, and the engine that runs it.
func (r *Runtime) build(ctx context.Context, digest string, rewritten func() (*rewrite.Rewritten, error)) (*rewrite.Rewritten, wazero.CompiledModule, wazero.Runtime, error) {
	if c := r.cached; c != nil && !c.off.Load() {
		var refused error
		meta, compiled, kept, err := c.cache.Compile(ctx, digest, func() (*rewrite.Rewritten, error) {
			meta, err := rewritten()
			refused = err
			return meta, err
		}, c.engine.CompileModule)
		if refused != nil {
			return nil, nil, nil, refused
		}
		if kept != nil {
			c.told.Do(func() {
				klog.FromContext(ctx).Info("Compiled WebAssembly modules can't be kept for the next start", "directory", r.cacheDir, "reason", kept.Error())
			})
		}
		if err == nil {
			return meta, compiled, c.engine, nil
		}
	}
	meta, err := rewritten()
	if err != nil {
		return nil, nil, nil, err
	}
	compiled, err := r.engine.CompileModule(ctx, meta.Binary)
	if err != nil {
		return nil, nil, nil, newError(ModuleInvalid, "%v", err)
	}
	meta.Binary = nil
	if c := r.cached; c != nil && c.off.CompareAndSwap(false, true) {
		klog.FromContext(ctx).Info("The cache of compiled WebAssembly modules isn't used any more: a module could be compiled without it only", "directory", r.cacheDir)
	}
	return meta, compiled, r.engine, nil
}

// close ends the engine and its cache.
func (c *cached) close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return errors.Join(c.engine.Close(ctx), c.cache.Close(ctx))
}
