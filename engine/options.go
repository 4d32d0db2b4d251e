package engine

import (
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Option configures an Engine.
type Option func(*config)

type config struct {
	logger  klog.Logger
	clock   clock.WithDelayedExecution
	workers int
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

type watchConfig struct{ namespace string }

// InNamespace says that the informer shows one namespace only. Watch a resource
// once per namespace to cover several; a reference outside every one is refused.
func InNamespace(namespace string) WatchOption {
	return func(c *watchConfig) { c.namespace = namespace }
}
