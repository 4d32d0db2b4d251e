package predicates

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/donewhen/donewhen/engine"
)

// Report says what an update of a Store did.
type Report struct {
	// Source is the name of the source that changed.
	Source string
	// Set is the set in force now.
	Set *Set
	// Changed says that Set isn't the one from before.
	Changed bool
	// Warnings are those of the set in force, if Err is nil: see Set.Warnings; those
	// of the gate come after them.
	Warnings []Problem
	// Err is what keeps the sources from being loaded, a *LoadError; nil if all is
	// well. Set is then the last good one.
	Err error
}

// Gate looks at a set before it comes into force, with the sources that it was
// made of, the defaults first. What it returns keeps the set out, unless it is all
// warnings. It must be safe for concurrent use and come to an end.
type Gate func(set *Set, sources []Source) []Problem

// WithGate has no set come into force that the gate refuses, the defaults
// included. Without it, whatever can be loaded comes into force.
func WithGate(gate Gate) StoreOption {
	return func(s *Store) { s.gate = gate }
}

// StoreOption changes how a Store works.
type StoreOption func(*Store)

// WithObserver has the store report every update that changes a source, one at a
// time and in order, before Update or Remove returns. The observer must not call
// either.
func WithObserver(observe func(Report)) StoreOption {
	return func(s *Store) { s.observe = observe }
}

// WithSources declares the names of sources that are still to come, in the order
// in which they override one another, so that it doesn't depend on which one
// comes first. Sources that weren't declared come last.
func WithSources(names ...string) StoreOption {
	return func(s *Store) {
		for _, name := range names {
			s.sources = append(s.sources, Source{Name: name})
		}
	}
}

// Store keeps the last good set of sources that change. It is safe for concurrent
// use, and reading the set is one atomic load.
//
// A set is of all sources as they are now, or it is the one from before: as long
// as one source is wrong, changes of the others have no effect either. They are
// kept, and come into force together once everything can be loaded.
type Store struct {
	set     atomic.Pointer[Set]
	observe func(Report)
	gate    Gate // nil: none
	loader  *Loader

	mu      sync.Mutex // held while a change is loaded and reported
	sources []Source   // as they are now, the defaults first
	digests map[string]string
	err     error // of the last load
}

// NewStore is the short form of a Loader's NewStore, without options of loading.
func NewStore(operations []engine.Operation, defaults Source, opts ...StoreOption) (*Store, error) {
	l, err := NewLoader(operations)
	if err != nil {
		return nil, err
	}
	return l.NewStore(defaults, opts...)
}

// Set returns the set in force. It never blocks and is never nil.
func (s *Store) Set() *Set { return s.set.Load() }

// Update gives a source new content; its place among the others stays, a new name
// goes to the end. On error, a *LoadError, the set in force stays, and the content
// is tried again with the next change of any source. Content that is the same as
// before changes nothing and isn't reported; what was wrong with it is returned
// again. The caller must not change the files' data afterwards.
func (s *Store) Update(source Source) error {
	if source.Name == "" {
		return errors.New("update predicates: the source has no name")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := source.digest()
	if old, ok := s.digests[source.Name]; ok && old == d {
		return s.err
	}
	s.digests[source.Name] = d
	if i := s.index(source.Name); i >= 0 {
		s.sources[i] = source
	} else {
		s.sources = append(s.sources, source)
	}
	return s.reload(source.Name)
}

// Remove takes a source's documents away; its place among the others is kept. The
// error is as for Update: what is left may need what was removed.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(name)
	switch {
	case i < 0:
		return fmt.Errorf("remove predicates: there is no source %q", name)
	case i == 0:
		return fmt.Errorf("remove predicates: %q are the defaults, update them instead", name)
	case len(s.sources[i].Files) == 0:
		return s.err
	}
	s.sources[i] = Source{Name: name}
	s.digests[name] = s.sources[i].digest()
	return s.reload(name)
}

func (s *Store) index(name string) int {
	return slices.IndexFunc(s.sources, func(src Source) bool { return src.Name == name })
}

// reload loads all sources and puts the set in force if nothing is wrong.
func (s *Store) reload(changed string) error {
	before := s.set.Load()
	set, warnings, err := s.load(before.compiled)
	if s.err = err; err == nil {
		s.set.Store(set)
	}
	now := s.set.Load()
	s.observe(Report{Source: changed, Set: now, Changed: now.digest != before.digest, Warnings: warnings, Err: err})
	return err
}

// load makes the set of all sources and has the gate look at it.
func (s *Store) load(compiled map[string]*Predicate) (*Set, []Problem, error) {
	set, err := s.loader.load(s.sources, compiled)
	if err != nil {
		return nil, nil, err
	}
	warnings := set.Warnings()
	if s.gate == nil {
		return set, warnings, nil
	}
	refused := &problems{}
	for _, p := range s.gate(set, slices.Clone(s.sources)) {
		if p.Warning {
			warnings = append(warnings, p)
			continue
		}
		refused.add(p)
	}
	if err, ok := errors.AsType[*LoadError](refused.err(s.sources)); ok {
		err.Refused = true
		return nil, nil, err
	}
	return set, warnings, nil
}
