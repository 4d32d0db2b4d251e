package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// terms are what a set says of an operation, or of a predicate by name. All
// waiters on the same terms share them; they hold on to no set and no predicate.
type terms struct {
	operation string // empty for waits made by predicate name
	predicate string // the name asked for; empty for waits made with an operation
	id        PredicateID
	timeout   time.Duration
	pace      *pace
}

// offer is how terms are agreed for one request.
type offer struct {
	terms     *terms
	predicate Predicate
	resources []schema.GroupVersionResource // that the predicate judges
	binding   *Binding                      // nil for waits made by predicate name
	shadows   []*shadowOffer
	plain     atomic.Pointer[Judge]  // of requests without params; nil: none was made yet
	route     atomic.Pointer[source] // where the last request went
}

// shadowOffer is a shadow binding of the operation.
type shadowOffer struct {
	binding *Binding
	terms   *terms
	warned  sync.Once
}

// loaded is a set in use, with what was made of it so far.
type loaded struct {
	set    Set
	number uint32 // rises with every Swap
	lanes  *lanes

	offers atomic.Pointer[map[offerKey]*offer] // is replaced, not changed
	making sync.Mutex                          // held while that is done
}

// offerKey is what a request asks for: one of the two names.
type offerKey struct{ operation, predicate string }

// agreed is what a set makes of one request.
type agreed struct {
	*offer
	judge   Judge
	shadows *shadows // nil: there are none
}

// agree finds the terms of a request and binds its params.
func (l *loaded) agree(r *Request) (agreed, error) {
	f, err := l.offer(r)
	if err != nil {
		return agreed{}, err
	}
	return f.agree(r)
}

// agree binds the params of a request that asks for what is on offer.
func (f *offer) agree(r *Request) (agreed, error) {
	var err error
	if f.binding != nil && f.binding.Resource != r.Ref.Resource {
		return agreed{}, fmt.Errorf("operation %q is about %s, not %s: give a reference of that resource", r.Operation, versioned(f.binding.Resource), versioned(r.Ref.Resource))
	}
	params := r.Params
	if f.binding != nil {
		if params, err = mergeParams(params, f.binding); err != nil {
			return agreed{}, err
		}
	}
	if !slices.Contains(f.resources, r.Ref.Resource) {
		return agreed{}, fmt.Errorf("predicate %s judges %s, not %s: name a predicate for that resource", f.terms.id, versioned(f.resources...), versioned(r.Ref.Resource))
	}
	judge, err := f.bind(params, len(r.Params) == 0)
	if err != nil {
		return agreed{}, fmt.Errorf("params of predicate %s: %w", f.terms.id, err)
	}
	return agreed{offer: f, judge: judge, shadows: f.bindShadows(r)}, nil
}

// bind makes a judge for params. Requests without params of their own share one.
func (f *offer) bind(params Params, plain bool) (Judge, error) {
	if plain {
		if judge := f.plain.Load(); judge != nil {
			return *judge, nil
		}
	}
	judge, err := bind(f.predicate, params)
	if err == nil && plain {
		f.plain.Store(&judge)
	}
	return judge, err
}

// bind makes a judge of a predicate; one that panics has refused the params.
func bind(p Predicate, params Params) (judge Judge, err error) {
	defer func() {
		if r := recover(); r != nil {
			judge, err = nil, fmt.Errorf("it panicked while it was given them: %v: report this to its author", r)
		}
	}()
	if judge, err = p.Bind(params); err == nil && judge == nil {
		err = errors.New("it made no judge of them: report this to its author")
	}
	return judge, err
}

// offer returns what the set says of what the request names.
func (l *loaded) offer(r *Request) (*offer, error) {
	key := offerKey{r.Operation, r.Predicate}
	if made := l.offers.Load(); made != nil {
		if f := (*made)[key]; f != nil {
			return f, nil
		}
	}
	f, err := l.makeOffer(r)
	if err != nil {
		return nil, err
	}
	l.making.Lock()
	defer l.making.Unlock()
	next := map[offerKey]*offer{}
	if made := l.offers.Load(); made != nil {
		if f := (*made)[key]; f != nil {
			return f, nil // made meanwhile
		}
		maps.Copy(next, *made)
	}
	next[key] = f
	l.offers.Store(&next)
	return f, nil
}

func (l *loaded) makeOffer(r *Request) (*offer, error) {
	f := &offer{}
	var err error
	switch {
	case l.set == nil:
		return nil, fmt.Errorf("no set is loaded")
	case r.Operation != "" && r.Predicate != "":
		return nil, fmt.Errorf("the request names both operation %q and predicate %q: give one of them", r.Operation, r.Predicate)
	case r.Operation == "" && r.Predicate == "":
		return nil, fmt.Errorf("the request names neither an operation nor a predicate: give one of them")
	case r.Operation == "":
		if f.predicate, err = l.set.Predicate(r.Predicate); err != nil {
			return nil, err
		}
	default:
		if f.binding, err = l.set.Binding(r.Operation); err != nil {
			return nil, err
		}
		f.predicate, f.shadows = f.binding.Predicate, l.shadowsOf(r.Operation)
	}
	f.resources = f.predicate.Resources()
	f.terms = l.termsOf(r.Operation, f.predicate)
	f.terms.predicate = r.Predicate
	if f.binding != nil {
		f.terms.timeout = f.binding.Timeout
	}
	return f, nil
}

func (l *loaded) termsOf(operation string, p Predicate) *terms {
	id := p.ID()
	return &terms{operation: operation, id: id, pace: l.lanes.pace(id)}
}

// shadowsOf returns the shadow bindings of an operation.
func (l *loaded) shadowsOf(operation string) []*shadowOffer {
	var all []*shadowOffer
	for _, b := range l.set.Bindings() {
		if b.Operation == operation && b.Action == Shadow {
			all = append(all, &shadowOffer{binding: b, terms: l.termsOf(operation, b.Predicate)})
		}
	}
	return all
}

// inFlight says what becomes of waiters that run when this offer replaces an
// older one.
func (f *offer) inFlight() InFlight {
	if f.binding != nil && f.binding.InFlight == Pin {
		return Pin
	}
	return Move
}
