package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/azureschemas"
	"github.com/donewhen/donewhen/predicates"
	schemacluster "github.com/donewhen/donewhen/predicates/schemas/cluster"
	"github.com/donewhen/donewhen/predicates/source"
	"github.com/donewhen/donewhen/predicates/status"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

// driverName names this program in what it writes.
const driverName = "donewhen-driver"

// defaultsName is the name of the source of the driver's own predicates.
const defaultsName = "defaults"

// config keeps the set of predicates and bindings in force: the driver's own,
// overridden by the sources as long as those can be loaded.
type config struct {
	store    *predicates.Store
	sources  []source.Watched
	reporter *status.Reporter // nil: no source is reported about
	swap     func(engine.Set) // set before run
	metrics  *metrics
	defaults *predicates.Set // the driver's own
	broken   bool            // what came last can't be loaded; report's own
	refused  atomic.Value    // a string: why what came last can't be loaded, empty if it can
	logger   klog.Logger

	once     sync.Once
	lookedAt chan struct{} // closed when every source has been looked at once

	lastGood *source.LastGoodFile // nil: none is kept
	standIns time.Duration        // after which it stands in for sources that can't be read
	lastSaid string               // about the last good set; report's own

	readable *readability
}

func newConfig(ctx context.Context, client kubernetes.Interface, opts options, metrics *metrics, logger klog.Logger) (*config, error) {
	c := &config{
		metrics: metrics, logger: logger, lookedAt: make(chan struct{}),
		readable: newReadability(metrics.unread, logger), standIns: cmp.Or(opts.standIns, standInsAfter),
	}
	sources, configMaps := newSources(client, opts, c.readable.of)
	c.sources = sources
	reportSources(logger, opts.sources, namesOf(sources))
	reportMissing(logger, opts.sources)
	if len(configMaps) > 0 {
		c.reporter = status.NewReporter(client, driverName, reportVersion(opts), configMaps)
	}
	name, data := provisioner.Defaults()
	defaults := predicates.Source{Name: defaultsName, Files: []predicates.File{{Name: name, Data: data}}}
	storeOptions := []predicates.StoreOption{predicates.WithObserver(c.report), predicates.WithSources(namesOf(sources)...)}
	if opts.lastGood != "" {
		c.lastGood = source.NewLastGoodFile(opts.lastGood, c.warnOfLastGood)
		storeOptions = append(storeOptions, predicates.WithLastGood(c.lastGood))
	}
	if opts.gate == gateOff {
		logger.Error(nil, "THE GATE IS OFF: predicates that lie about disks come into force too, and can lose or double-attach them; start without --gate=off")
	} else {
		gate, err := suite.NewGateOf(provisioner.Operations(), provisioner.Contracts())
		if err != nil {
			return nil, err
		}
		metrics.gate.Set(1)
		storeOptions = append(storeOptions, predicates.WithGate(func(set *predicates.Set, sources []predicates.Source) []predicates.Problem {
			return gate.Check(ctx, set, sources)
		}))
	}
	known, err := azureschemas.Known()
	if err != nil {
		return nil, err
	}
	var places []predicates.Schemas
	if opts.schemasFromCluster {
		served := openapi.NewClientWithContext(client.Discovery().RESTClient())
		places = append(places, schemacluster.New(ctx, served, clock.RealClock{}))
	}
	runtime, err := opts.wasm.runtime(logger) // for as long as the process runs
	if err != nil {
		return nil, err
	}
	loader, err := predicates.NewLoader(provisioner.Operations(),
		predicates.WithSchemas(append(places, known)...), predicates.WithRedact(opts.redact...), predicates.WithWasm(runtime))
	if err != nil {
		return nil, err // for one, a path of --redact
	}
	store, err := loader.NewStore(defaults, storeOptions...)
	if err != nil {
		return nil, fmt.Errorf("load the driver's own predicates: %w", err)
	}
	metrics.registry.MustRegister(&wasmMetrics{runtime, store})
	c.store, c.defaults = store, store.Set()
	metrics.reloadGood.Set(1)
	metrics.setInForce(store.Set().Digest())
	return c, nil
}

// set returns the set in force.
func (c *config) set() engine.Set { return c.store.Set() }

// run follows the sources until the context ends.
func (c *config) run(ctx context.Context) error {
	if len(c.sources) == 0 {
		c.once.Do(func() { close(c.lookedAt) })
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	if c.reporter != nil {
		group.Go(func() error {
			c.reporter.Run(klog.NewContext(ctx, c.logger))
			return nil
		})
	}
	group.Go(func() error {
		return source.Follow(ctx, c.sources, func(changed ...predicates.Source) {
			_ = c.store.Update(changed...) // reported by the observer
			c.takenIn(changed)
			c.once.Do(func() { close(c.lookedAt) })
		}, source.WithStandIns(clock.RealClock{}, c.standIns, c.recall, c.standIn))
	})
	return group.Wait()
}

// report is told of every change of the sources' content.
func (c *config) report(r predicates.Report) {
	if c.reporter != nil {
		c.reporter.Report(r)
	}
	c.reportLastGood(r.LastGoodErr)
	if r.Changed {
		c.swap(r.Set)
		c.metrics.reloads.Inc()
		c.metrics.setInForce(r.Set.Digest())
	}
	if r.Err != nil {
		c.broken = true
		c.metrics.reloadFailures.Inc()
		c.metrics.reloadGood.Set(0)
		serves := "the last good set stays in force"
		if r.Set.Digest() == c.defaults.Digest() {
			serves = "the driver's own set is in force" // nothing was good before
		}
		c.refused.Store(refusal(serves, problems(r.Err)))
		// One line for each problem, with where it stands and what to do about it.
		for _, problem := range problems(r.Err) {
			c.logger.Error(nil, "The predicates can't be loaded, "+serves, "source", r.Source, "problem", problem, "digest", r.Set.Digest())
		}
		if r.Recalled {
			c.logger.Info("The last good set of the run before is in force", "digest", r.Set.Digest(), "overrides", c.overrides(r.Set))
		}
		return
	}
	c.refused.Store("")
	if c.broken {
		c.broken = false
		c.metrics.reloadGood.Set(1)
		c.logger.Info("The predicates can be loaded again", "source", r.Source, "digest", r.Set.Digest())
	}
	for _, warning := range r.Warnings {
		if warning.Source != defaultsName { // the driver's own have their tests
			c.logger.Info("Warning: "+warning.Message, "source", r.Source, "problem", warning.Summary())
		}
	}
	if r.Changed {
		c.logger.Info("A new set of predicates is in force", "source", r.Source, "digest", r.Set.Digest(), "overrides", c.overrides(r.Set))
	}
}

// overrides names what of the set isn't the driver's own: predicates with their
// versions, then bindings.
func (c *config) overrides(set *predicates.Set) []string {
	list := []string{}
	for _, p := range set.Predicates() {
		id := p.ID()
		own, err := c.defaults.Predicate(id.Name)
		switch {
		case err != nil:
			list = append(list, "adds predicate "+labelled(id))
		case own.ID().Digest != id.Digest:
			list = append(list, fmt.Sprintf("predicate %s (the driver's own: %s)", labelled(id), versionOf(own.ID())))
		}
	}
	for _, b := range set.Bindings() {
		if origin, _ := set.BindingOrigin(b); origin.Source == defaultsName {
			continue
		}
		what := "binding of "
		if b.Action == engine.Shadow {
			what = "shadow on "
		}
		list = append(list, what+b.Operation+" to "+b.Predicate.ID().Name)
	}
	return list
}

// labelled names a predicate with its version, where it has one.
func labelled(id engine.PredicateID) string { return id.Name + " " + versionOf(id) }

func versionOf(id engine.PredicateID) string {
	if id.Label == "" {
		return "without a version"
	}
	return "version " + id.Label
}

func problems(err error) []string {
	load, ok := errors.AsType[*predicates.LoadError](err)
	if !ok {
		return []string{oneLine(err)}
	}
	var lines []string
	for _, problem := range load.Problems {
		lines = append(lines, problem.Summary())
	}
	return lines
}

// looked waits until every source has been looked at once, or what it held in the run
// before stands in for it, so that no call is judged by predicates that they override.
func (c *config) looked(ctx context.Context) error {
	select {
	case <-c.lookedAt:
		return nil
	case <-ctx.Done():
		name, reason := strings.Join(namesOf(c.sources), ", "), ctx.Err()
		if !errors.Is(reason, context.Canceled) {
			for _, s := range c.sources {
				if err := c.readable.trouble(s.Name()); err != nil {
					name, reason = s.Name(), err
					break
				}
			}
		}
		return fmt.Errorf("read %s: %w; may the driver list and watch it? Nothing is known of what it held before (--last-good keeps that), and without it a wrong predicate could serve; --predicates-configmap '' does without", name, reason)
	}
}

func namesOf(sources []source.Watched) []string {
	var names []string
	for _, s := range sources {
		names = append(names, s.Name())
	}
	return names
}

// reportVersion is what decides, beside the sources' content, what becomes of them.
func reportVersion(opts options) string {
	text := version + " gate=" + orOn(opts.gate)
	if opts.schemasFromCluster {
		text += " schemas=cluster"
	}
	return text
}

// orOn returns the value of --gate with its default.
func orOn(gate string) string {
	if gate == "" {
		return gateOn
	}
	return gate
}
