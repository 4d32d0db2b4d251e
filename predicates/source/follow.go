package source

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/predicates"
)

// Watched is a source of this package: *ConfigMap, *Files, or one of the caller's.
type Watched interface {
	// Name returns the name of the sources that Run delivers.
	Name() string
	// Run delivers the source's content, and again after each change, until ctx
	// ends.
	Run(ctx context.Context, deliver func(predicates.Source)) error
}

// FollowOption changes how sources are followed.
type FollowOption func(*following)

// WithStandIns has what sources held in an earlier run stand in for those that have
// delivered nothing after so long, if it is known of each of them: recall returns it. Used
// is told their names, and before that, or where one isn't known, which is missing and why. They
// are followed on, and what they deliver takes the place.
func WithStandIns(c clock.Clock, after time.Duration, recall func() ([]predicates.Source, error), used func(StandIns)) FollowOption {
	return func(f *following) { f.clock, f.after, f.recall, f.used = c, after, recall, used }
}

// StandIns says what was done about sources that have delivered nothing.
type StandIns struct {
	Missing []string // names of the sources
	Unknown []string // those of them of which nothing is known; if any, nothing stands in
	Err     error    // why nothing is known
}

// Follow runs sources until ctx ends, and returns the first error. Once every one
// has delivered, update is called with all of them, in their order, so that no set
// is ever made of some; then with each that changes, one at a time.
func Follow(ctx context.Context, sources []Watched, update func(...predicates.Source), opts ...FollowOption) error {
	f := &following{update: update, first: make([]predicates.Source, len(sources)), missing: len(sources), all: make(chan struct{})}
	if len(sources) == 0 {
		return nil
	}
	for _, opt := range opts {
		opt(f)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, source := range sources {
		group.Go(func() error {
			return source.Run(ctx, func(s predicates.Source) { f.deliver(i, s) })
		})
	}
	if f.recall != nil {
		group.Go(func() error {
			timer := f.clock.NewTimer(f.after)
			defer timer.Stop()
			select {
			case <-ctx.Done():
			case <-f.all:
			case <-timer.C():
				f.standIn(sources)
			}
			return nil
		})
	}
	return group.Wait()
}

// following collects the first delivery of each source.
type following struct {
	clock  clock.Clock
	after  time.Duration
	recall func() ([]predicates.Source, error) // nil: nothing stands in
	used   func(StandIns)

	mu      sync.Mutex
	update  func(...predicates.Source)
	first   []predicates.Source // without a name: not delivered yet
	missing int
	all     chan struct{} // closed when nothing is missing
}

func (f *following) deliver(i int, s predicates.Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing == 0 {
		f.update(s)
		return
	}
	if f.first[i].Name == "" {
		f.missing--
	}
	f.first[i] = s
	f.begin()
}

// begin hands over the first deliveries, once nothing is missing.
func (f *following) begin() {
	if f.missing > 0 {
		return
	}
	close(f.all)
	f.update(f.first...)
	f.first = nil
}

// standIn puts what sources held before in the place of those that have delivered
// nothing.
func (f *following) standIn(sources []Watched) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing == 0 {
		return
	}
	saved, err := f.recall()
	result := StandIns{Err: err}
	first := slices.Clone(f.first)
	for i, source := range sources {
		if first[i].Name != "" {
			continue
		}
		result.Missing = append(result.Missing, source.Name())
		at := slices.IndexFunc(saved, func(s predicates.Source) bool { return s.Name == source.Name() })
		if err != nil || at < 0 {
			result.Unknown = append(result.Unknown, source.Name())
			continue
		}
		first[i] = saved[at]
	}
	f.used(result)
	if len(result.Unknown) > 0 {
		return // to judge without what it overrides could lose a disk
	}
	f.first, f.missing = first, 0
	f.begin()
}
