package predicates

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/donewhen/donewhen/engine"
)

// Report says what an update of a Store did.
type Report struct {
	// Source is the name of the source that changed; of several, in their order with
	// commas between them.
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
	// Sources identifies the content of all sources as they are now, good or bad,
	// without the defaults.
	Sources string
	// Recalled says that Set is the last good one of the run before, which this
	// update has brought into force because it was the first one and wrong.
	Recalled bool
	// LastGoodErr is why the last good set couldn't be saved, or recalled.
	LastGoodErr error
}

// Gate looks at a set before it comes into force, with the sources that it was
// made of, the defaults first. What it returns keeps the set out, unless it is all
// warnings. It must be safe for concurrent use and come to an end: until then no
// other set is loaded, though the one in force can be read.
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
// comes first. Sources that weren't declared come last; a last good set that has some
// isn't this program's, and isn't used.
func WithSources(names ...string) StoreOption {
	return func(s *Store) {
		s.declared = true
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

	lastGood LastGood // nil: none

	// loading is held while sources are loaded, judged by the gate and reported, and
	// comes before mu. Changes are taken in meanwhile, and wait for one more load.
	loading  sync.Mutex
	saved    string // digest of what lastGood has
	started  bool   // a first update has been loaded, or recalled
	declared bool   // all sources are known by name
	loaded   int    // the edition that err is about
	err      error  // of the last load

	mu      sync.Mutex // held for moments only
	sources []Source   // as they are now, the defaults first
	digests map[string]string
	edition int             // counts changes of sources
	changed map[string]bool // names of sources that have changed since the last load began
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

// Update gives sources new content, all of it in one load; the place of each among
// the others stays, a new name goes to the end. On error, a *LoadError, the set in
// force stays, and the content is tried again with the next change of any source.
// Content that is the same as before changes nothing and isn't reported; what was
// wrong with it is returned again. The caller must not change the files' data
// afterwards.
func (s *Store) Update(sources ...Source) error {
	for _, source := range sources {
		if source.Name == "" {
			return errors.New("update predicates: the source has no name")
		}
	}
	return s.settle(s.takeIn(sources))
}

// takeIn changes the sources and returns their edition then.
func (s *Store) takeIn(sources []Source) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, source := range sources {
		d := source.digest()
		if old, ok := s.digests[source.Name]; ok && old == d {
			continue
		}
		s.digests[source.Name] = d
		if i := s.index(source.Name); i >= 0 {
			s.sources[i] = source
		} else {
			s.sources = append(s.sources, source)
		}
		s.edition++
		s.changed[source.Name] = true
	}
	return s.edition
}

// Remove takes a source's documents away; its place among the others is kept. The
// error is as for Update: what is left may need what was removed.
func (s *Store) Remove(name string) error {
	s.mu.Lock()
	i, edition := s.index(name), s.edition
	empty := i > 0 && len(s.sources[i].Files) == 0
	s.mu.Unlock()
	switch {
	case i < 0:
		return fmt.Errorf("remove predicates: there is no source %q", name)
	case i == 0:
		return fmt.Errorf("remove predicates: %q are the defaults, update them instead", name)
	case empty:
		return s.settle(edition)
	}
	return s.settle(s.takeIn([]Source{{Name: name}}))
}

func (s *Store) index(name string) int {
	return slices.IndexFunc(s.sources, func(src Source) bool { return src.Name == name })
}

// settle returns what is wrong with the sources of that edition or a later one. It
// loads them, unless somebody else has meanwhile.
func (s *Store) settle(edition int) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded >= edition {
		return s.err
	}
	s.mu.Lock()
	sources := slices.Clone(s.sources)
	var changed []string
	for _, source := range sources {
		if s.changed[source.Name] {
			changed = append(changed, source.Name)
		}
	}
	s.loaded = s.edition
	clear(s.changed)
	s.mu.Unlock()
	return s.reload(sources, strings.Join(changed, ", "))
}

// reload loads all sources and puts the set in force if nothing is wrong.
func (s *Store) reload(sources []Source, changed string) error {
	before := s.set.Load()
	set, warnings, err := s.load(sources, before.compiled)
	report := Report{Source: changed, Warnings: warnings, Err: err, Sources: digestOf(sources[1:])}
	switch s.err = err; {
	case err == nil:
		s.set.Store(set)
		report.LastGoodErr = s.save(sources[1:])
	case !s.started && s.lastGood != nil:
		var recalled *Set
		if recalled, report.LastGoodErr = s.recall(sources[0]); recalled != nil {
			s.set.Store(recalled)
			report.Recalled = true
		}
	}
	s.started = true
	report.Set = s.set.Load()
	report.Changed = report.Set.digest != before.digest
	s.observe(report)
	return err
}

// load makes the set of sources and has the gate look at it.
func (s *Store) load(sources []Source, compiled map[string]*Predicate) (*Set, []Problem, error) {
	set, err := s.loader.load(sources, compiled)
	if err != nil {
		return nil, nil, err
	}
	warnings := set.Warnings()
	if s.gate == nil {
		return set, warnings, nil
	}
	refused := &problems{}
	for _, p := range s.look(set, slices.Clone(sources)) {
		if p.Warning {
			warnings = append(warnings, p)
			continue
		}
		refused.add(p)
	}
	if err, ok := errors.AsType[*LoadError](refused.err(sources)); ok {
		err.Refused = true
		return nil, nil, err
	}
	return set, warnings, nil
}

// look has the gate look at the set. A gate that panics refuses it: sources are
// followed by goroutines of the program, which must not end by what a config says.
func (s *Store) look(set *Set, sources []Source) (found []Problem) {
	defer func() {
		if reason := recover(); reason != nil {
			found = []Problem{{Message: fmt.Sprintf("the gate panicked, which is a mistake of this program: %v", reason)}}
		}
	}()
	return s.gate(set, sources)
}
