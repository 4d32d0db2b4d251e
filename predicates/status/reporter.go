package status

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/predicates"
)

// ConfigMap is a source that is reported about.
type ConfigMap interface {
	// Name returns the source's name.
	Name() string
	// Key returns the ConfigMap's namespace and name.
	Key() (namespace, name string)
	// Reference returns the ConfigMap as it was delivered last, nil if there is none.
	Reference() *corev1.ObjectReference
	// Replaced tells that Reference is of another object than before, after what that
	// one holds has been delivered; of capacity 1.
	Replaced() <-chan struct{}
}

// Reporter writes reports about ConfigMaps. It is safe for concurrent use.
type Reporter struct {
	client    kubernetes.Interface
	version   string
	component string
	clock     clock.Clock
	writers   []*writer

	mu     sync.Mutex
	latest *predicates.Report // nil: none yet
}

// Option changes how a Reporter works.
type Option func(*Reporter)

// WithClock gives the clock of retries and Events.
func WithClock(c clock.Clock) Option { return func(r *Reporter) { r.clock = c } }

// NewReporter returns a reporter about the ConfigMaps. The version is that of the
// program, with whatever else decides what it makes of their content; component
// names it in Events, and as the owner of reports. It needs list, watch, get, create
// and update on the ConfigMaps' reports, and create on Events. Without list and watch, a
// report that somebody else changes stays so until there is another one.
func NewReporter(client kubernetes.Interface, component, version string, configMaps []ConfigMap, opts ...Option) *Reporter {
	r := &Reporter{client: client, component: component, version: version, clock: clock.RealClock{}}
	for _, opt := range opts {
		opt(r)
	}
	for _, about := range configMaps {
		r.writers = append(r.writers, newWriter(r, about))
	}
	return r
}

// Report notes what a store reports, for Run to write; it doesn't wait for that. Of
// several only the last is written.
func (r *Reporter) Report(report predicates.Report) {
	r.mu.Lock()
	r.latest = &report
	r.mu.Unlock()
	for _, w := range r.writers {
		signal(w.reported)
	}
}

// StandIn notes that what a source held in an earlier run stands in for it, because it can't
// be read, or that this is over. Its report says so, and an Event.
func (r *Reporter) StandIn(source string, standsIn bool) {
	for _, w := range r.writers {
		if w.about.Name() == source && w.unread.Swap(standsIn) != standsIn {
			signal(w.reported)
		}
	}
}

func (r *Reporter) report() *predicates.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

// Run writes what is reported until ctx ends. What can't be written is logged once,
// and tried again with backoff. A report that is edited, damaged or removed is put
// right at once, and less often if that goes on; that of another version of the program
// stays.
func (r *Reporter) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range r.writers {
		running.Go(func() { w.run(ctx) })
	}
	running.Wait()
}

// signal notes something in a channel of capacity 1.
func signal(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
