package predicates

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/schemas"
)

// Predicate is a compiled predicate. It is immutable and safe for concurrent use.
type Predicate struct {
	id        engine.PredicateID
	kind      string
	resources []schema.GroupVersionResource
	gone      bool
	params    []param
	core      *judge.Core
	warnings  []warning
	module    *guestModule // nil if rules judge
	// environment is what its expressions see; others may share it.
	environment *celexpr.Environment
	schemas     []*schemas.Schema // what its expressions were checked against
}

var _ engine.Predicate = (*Predicate)(nil)

// ID returns the predicate's name, label and digest. The digest is that of the
// document's content with its defaults; formatting and comments don't count.
func (p *Predicate) ID() engine.PredicateID { return p.id }

// Parked returns until when the predicate's module isn't asked, because it failed too
// often in a row, false if it is; module is false if rules judge.
func (p *Predicate) Parked() (until time.Time, parked, module bool) {
	if p.module == nil {
		return time.Time{}, false, false
	}
	until, parked = p.module.guest.Parked()
	return until, parked, true
}

// Kind returns the kind of the objects that it judges.
func (p *Predicate) Kind() string { return p.kind }

// Resources returns the resources whose objects it judges, in the order of the
// document's apiVersions.
func (p *Predicate) Resources() []schema.GroupVersionResource { return slices.Clone(p.resources) }

// ExpectsGone reports whether it waits for absence.
func (p *Predicate) ExpectsGone() bool { return p.gone }

// Params returns the declared params, sorted by name.
func (p *Predicate) Params() []Param {
	params := make([]Param, len(p.params))
	for i := range p.params {
		params[i] = p.params[i].Param
	}
	return params
}

// Bind checks the params against the declaration and returns a judge for them.
// Undeclared names are ignored; a declared param that is missing and has no
// default, or whose value has the wrong type or isn't allowed, is an error.
func (p *Predicate) Bind(given engine.Params) (engine.Judge, error) {
	values, err := complete(p.params, given)
	if err != nil {
		return nil, &BindError{Predicate: p.id, Err: err}
	}
	key := p.id.Digest
	if k := paramsKey(values); k != "" {
		key += "/" + k
	}
	return p.core.Bind(values, key), nil
}

// BindError says why params don't fit a predicate.
type BindError struct {
	Predicate engine.PredicateID
	Err       error
}

// Error names the param; who binds knows the predicate, and names it.
func (e *BindError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the param.
func (e *BindError) Unwrap() error { return e.Err }

// param returns the declared param of that name, nil if there is none.
func (p *Predicate) param(name string) *param {
	i := slices.IndexFunc(p.params, func(q param) bool { return q.Name == name })
	if i < 0 {
		return nil
	}
	return &p.params[i]
}
