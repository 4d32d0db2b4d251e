package source

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

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

// Follow runs sources until ctx ends, and returns the first error. Once every one
// has delivered, update is called with all of them, in their order, so that no set
// is ever made of some; then with each that changes, one at a time.
func Follow(ctx context.Context, sources []Watched, update func(...predicates.Source)) error {
	f := &following{update: update, first: make([]predicates.Source, len(sources)), missing: len(sources)}
	if len(sources) == 0 {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, source := range sources {
		group.Go(func() error {
			return source.Run(ctx, func(s predicates.Source) { f.deliver(i, s) })
		})
	}
	return group.Wait()
}

// following collects the first delivery of each source.
type following struct {
	mu      sync.Mutex
	update  func(...predicates.Source)
	first   []predicates.Source // without a name: not delivered yet
	missing int
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
	if f.missing == 0 {
		f.update(f.first...)
		f.first = nil
	}
}
