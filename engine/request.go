package engine

import (
	"fmt"
	"maps"
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
