package engine

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Option configures an Engine.
type Option func(*config)

type config struct {
	logger  klog.Logger
	clock   clock.WithDelayedExecution
	workers int

	observer Observer
}

// WithLogger sets the logger; the default is klog's global one.
func WithLogger(logger klog.Logger) Option { return func(c *config) { c.logger = logger } }

// WithClock sets the clock of timeouts, hold times and ages; the default is the
// real one. clock.RealClock and the fake clock of k8s.io/utils/clock/testing fit.
func WithClock(clock clock.WithDelayedExecution) Option { return func(c *config) { c.clock = clock } }

// WithWorkers sets how many objects may be judged at once; the default is
// GOMAXPROCS, and less than 1 means the default.
func WithWorkers(n int) Option { return func(c *config) { c.workers = n } }

// WatchOption configures one informer given to Watch.
type WatchOption func(*watchConfig)

type watchConfig struct {
	namespace string
	filtered  bool
	next      cache.WatchErrorHandlerWithContext
}

// InNamespace says that the informer shows one namespace only. Watch a resource
// once per namespace to cover several; a reference outside every one is refused.
func InNamespace(namespace string) WatchOption {
	return func(c *watchConfig) { c.namespace = namespace }
}

// Filtered says that the informer shows only some of the objects, because its
// list and watch have a label or field selector. An object that isn't there may
// then be one that doesn't match: it is out of view, which decides nothing,
// neither as a deletion nor as an absence. Only an object of another UID in its
// place, or the server's own word (ErrGone), says that it is gone.
func Filtered() WatchOption { return func(c *watchConfig) { c.filtered = true } }

// WithWatchErrorHandler has the engine call next with every failure of the
// informer's list or watch, after it has taken note of it. An informer has one
// place for such a handler, and the engine takes it to say what it can't see;
// without this option it then calls client-go's default. A handler that was set
// on the informer before is left in place, with a warning: the engine then hears
// of no reasons. The same goes for an informer that was started before Watch.
func WithWatchErrorHandler(next cache.WatchErrorHandlerWithContext) WatchOption {
	return func(c *watchConfig) { c.next = next }
}
