package engine

import (
	"fmt"
	"maps"
	"time"
)

// Request says what to wait for.
type Request struct {
	// Ref is the object awaited. A UID in it pins the wait to that object.
	Ref Reference
	// Operation names what the caller is doing; the set's binding says which
	// predicate ends it. Exactly one of Operation and Predicate is given.
	Operation string
	// Predicate names a predicate directly.
	Predicate string
	// Params are the caller's params; the binding's constants join them.
	Params Params
	// Supersedes, if not empty, ends the engine's older waiter of the same key with
	// ErrSuperseded, whatever it waits for: a newer request has replaced the one
	// that it served.
	Supersedes string
}

// resolved is a request with what the set made of it.
type resolved struct {
	judge   Judge
	id      PredicateID
	timeout time.Duration
}

// resolve finds the request's predicate in the set and binds its params.
func (r Request) resolve(set Set) (resolved, error) {
	var (
		predicate Predicate
		params    = r.Params
		out       resolved
	)
	switch {
	case r.Operation != "" && r.Predicate != "":
		return out, fmt.Errorf("the request names both operation %q and predicate %q: give one of them", r.Operation, r.Predicate)
	case r.Operation == "" && r.Predicate == "":
		return out, fmt.Errorf("the request names neither an operation nor a predicate: give one of them")
	case r.Operation != "":
		binding, err := set.Binding(r.Operation)
		if err != nil {
			return out, err
		}
		if binding.Resource != r.Ref.Resource {
			return out, fmt.Errorf("operation %q is about %s, not %s: give a reference of that resource", r.Operation, binding.Resource, r.Ref.Resource)
		}
		if params, err = mergeParams(r.Params, binding); err != nil {
			return out, err
		}
		predicate, out.timeout = binding.Predicate, binding.Timeout
	default:
		var err error
		if predicate, err = set.Predicate(r.Predicate); err != nil {
			return out, err
		}
	}
	out.id = predicate.ID()
	if !judges(predicate, r.Ref) {
		return out, fmt.Errorf("predicate %s judges %v, not %s: name a predicate for that resource", out.id, predicate.Resources(), r.Ref.Resource)
	}
	judge, err := predicate.Bind(params)
	if err != nil {
		return out, fmt.Errorf("params of predicate %s: %w", out.id, err)
	}
	out.judge = judge
	return out, nil
}

// mergeParams joins the caller's params and the binding's constants.
func mergeParams(caller Params, binding *Binding) (Params, error) {
	if len(binding.Params) == 0 {
		return caller, nil
	}
	merged := make(Params, len(caller)+len(binding.Params))
	maps.Copy(merged, caller)
	for name, value := range binding.Params {
		if _, ok := merged[name]; ok {
			return nil, fmt.Errorf("param %q is a constant of binding %q: the caller must not give it", name, binding.Name)
		}
		merged[name] = value
	}
	return merged, nil
}

// judges reports whether the predicate judges objects of the reference's resource.
func judges(p Predicate, ref Reference) bool {
	for _, gvr := range p.Resources() {
		if gvr == ref.Resource {
			return true
		}
	}
	return false
}
