package predicates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// Set is every predicate and binding loaded together. It is immutable and safe
// for concurrent use.
type Set struct {
	digest     string
	operations map[string]*operation
	predicates map[string]*Predicate
	origins    map[string]Origin
	bindings   []bound
	enforced   map[string]*engine.Binding
	warnings   []Problem
	// compiled holds every predicate by its digest, overridden ones too, for the
	// next set to take over.
	compiled map[string]*Predicate
	// loader and sources are what it was made by and of, for With.
	loader  *Loader
	sources []Source
}

type bound struct {
	*engine.Binding
	origin Origin
}

var _ engine.Set = (*Set)(nil)

// NewSet is the short form of a Loader's Load, without options. The error is a
// *LoadError, unless the operations themselves are declared wrongly.
func NewSet(operations []engine.Operation, sources ...Source) (*Set, error) {
	l, err := NewLoader(operations)
	if err != nil {
		return nil, err
	}
	return l.Load(sources...)
}

// load builds a set; what the cache has compiled already isn't compiled again.
func (l *Loader) load(sources []Source, cache map[string]*Predicate) (*Set, error) {
	all, shared := &problems{}, &interned{}
	r := &resolver{operations: l.operations, entries: map[string]*entry{}, predicates: map[string]*Predicate{}}
	set := &Set{
		operations: l.operations, predicates: r.predicates, origins: map[string]Origin{},
		enforced: map[string]*engine.Binding{}, compiled: map[string]*Predicate{},
		loader: l, sources: slices.Clone(sources),
	}
	bindings, order := map[boundKey]*entry{}, []boundKey{}
	names := map[string]bool{}
	var added []*entry // predicates of later sources that override nothing there was
	for i, source := range sources {
		if names[source.Name] {
			all.add(Problem{Source: source.Name, Message: "two sources have this name"})
		}
		names[source.Name] = true
		inSource, boundInSource := map[string]*entry{}, map[boundKey]*entry{}
		entries := read(l.reader, source, all)
		built := buildAll(entries, l, shared, cache)
		for j, e := range entries {
			all.take(e)
			if e.binding != nil {
				key := prepare(e)
				if first := boundInSource[key]; first != nil && key.operation != "" {
					what := "two enforced bindings"
					if key.shadow != "" {
						what = "two equal shadow bindings"
					}
					e.at([]any{"spec", "operation"}, "remove one of them", "operation %s has %s in one source, the first at %s", key.operation, what, first.origin())
					continue
				}
				boundInSource[key] = e
				if _, ok := bindings[key]; !ok {
					order = append(order, key)
				}
				bindings[key] = e
				continue
			}
			p := built[j]
			if p != nil {
				e.warnAll(p.warnings)
			}
			if first := inSource[e.Name]; first != nil && e.Name != "" {
				e.at([]any{"metadata", "name"}, "rename one of them", "the source has two predicates of this name, the first at %s", first.origin())
				continue
			}
			if r.entries[e.Name] == nil && i > 0 {
				added = append(added, e)
			}
			inSource[e.Name], r.entries[e.Name] = e, e
			delete(r.predicates, e.Name)
			if p != nil {
				r.predicates[e.Name], set.compiled[p.id.Digest] = p, p
			}
		}
	}
	for _, key := range order {
		e := bindings[key]
		if b := r.resolve(e); b != nil {
			set.bindings = append(set.bindings, bound{b, e.origin()})
			if b.Action == engine.Enforce {
				set.enforced[b.Operation] = b
			}
		}
	}
	if err := all.err(sources); err != nil {
		return nil, err
	}
	for name, e := range r.entries {
		set.origins[name] = e.origin()
	}
	slices.SortStableFunc(set.bindings, func(a, b bound) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Action, b.Action))
	})
	set.digest = set.sum()
	set.warnings = append(all.sortedWarnings(sources), set.unbound(added)...)
	if l.strict && len(set.warnings) > 0 {
		return nil, strictError(set.warnings)
	}
	return set, nil
}

// buildAll builds the predicates among a source's entries, at their places in the
// list. What is wrong with one is for then in problems of its own.
func buildAll(entries []*entry, l *Loader, shared *interned, cache map[string]*Predicate) []*Predicate {
	built := make([]*Predicate, len(entries))
	parallel(len(entries), func(i int) {
		entries[i].problems = &problems{}
		if entries[i].predicate != nil {
			built[i] = build(entries[i], l, shared, cache)
		}
	})
	return built
}

// unbound warns of predicates that neither override one nor end an operation, and
// are named nearly like one that does: what was meant to override it.
func (s *Set) unbound(added []*entry) []Problem {
	bound := map[string][]string{} // by kind
	for _, b := range s.bindings {
		p := s.predicates[b.Predicate.ID().Name]
		bound[p.kind] = append(bound[p.kind], p.id.Name)
	}
	var warnings []Problem
	for _, e := range added {
		kind := s.predicates[e.Name].kind
		near := nearest.Name(e.Name, bound[kind])
		if near == "" || nearest.Name(near, []string{e.Name}) == "" || slices.Contains(bound[kind], e.Name) {
			continue
		}
		line, column := e.Position("metadata", "name")
		warnings = append(warnings, Problem{
			Source: e.source, File: e.file, Line: line, Column: column, Warning: true,
			Message: "predicate " + e.Name + " is bound to no operation", Hint: fmt.Sprintf("did you mean %q?", near),
			Excerpt: e.Excerpt(line, column),
		})
	}
	return warnings
}

// Warnings returns what is loaded but probably isn't meant so, in the order of the
// sources' texts: the findings in predicates, and last predicates of later sources
// that override none, are bound to no operation, and have a name that is nearly
// that of one which is.
func (s *Set) Warnings() []Problem { return slices.Clone(s.warnings) }

// With returns the set as it would be if the source came last: what a reload
// makes of a change. The set itself stays as it is. The error is as of NewSet.
func (s *Set) With(source Source) (*Set, error) {
	return s.loader.load(append(slices.Clip(s.sources), source), s.compiled)
}

// sum identifies the content of the set.
func (s *Set) sum() string {
	var content []string
	for _, p := range s.Predicates() {
		content = append(content, p.id.Digest)
	}
	for _, b := range s.bindings {
		content = append(content, bindingDigest(b.Binding))
	}
	return digest(content)
}

// Digest identifies the content of the set: the predicates and bindings in force,
// without formatting, comments or what was overridden.
func (s *Set) Digest() string { return s.digest }

// Predicate returns the predicate of that name. The error names the nearest one.
func (s *Set) Predicate(name string) (engine.Predicate, error) {
	p, ok := s.predicates[name]
	if !ok {
		return nil, fmt.Errorf("unknown predicate %q; %s", name, nearest.Hint(name, "predicates", slices.Collect(maps.Keys(s.predicates))))
	}
	return p, nil
}

// Predicates returns every predicate, sorted by name.
func (s *Set) Predicates() []*Predicate {
	list := make([]*Predicate, 0, len(s.predicates))
	for _, name := range slices.Sorted(maps.Keys(s.predicates)) {
		list = append(list, s.predicates[name])
	}
	return list
}

// Origin returns where the predicate of that name was read.
func (s *Set) Origin(name string) (Origin, bool) {
	o, ok := s.origins[name]
	return o, ok
}

// Binding returns the enforced binding of the operation. The error names the
// nearest operation, or says that nothing is bound to it.
func (s *Set) Binding(operation string) (*engine.Binding, error) {
	if b, ok := s.enforced[operation]; ok {
		return b, nil
	}
	if _, ok := s.operations[operation]; ok {
		return nil, fmt.Errorf("no binding says which predicate ends operation %s; add a %s with spec.operation: %s", operation, v1alpha1.KindBinding, operation)
	}
	return nil, fmt.Errorf("unknown operation %q; %s", operation, nearest.Hint(operation, "operations", slices.Collect(maps.Keys(s.operations))))
}

// Bindings returns every binding, sorted by operation; the enforced one comes
// before the shadows, which keep the order of their sources.
func (s *Set) Bindings() []*engine.Binding {
	list := make([]*engine.Binding, len(s.bindings))
	for i, b := range s.bindings {
		list[i] = b.Binding
	}
	return list
}

// BindingOrigin returns where a binding of this set was read.
func (s *Set) BindingOrigin(binding *engine.Binding) (Origin, bool) {
	for _, b := range s.bindings {
		if b.Binding == binding {
			return b.origin, true
		}
	}
	return Origin{}, false
}
