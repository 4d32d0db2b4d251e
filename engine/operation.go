package engine

import "k8s.io/apimachinery/pkg/runtime/schema"

// Operation declares something that callers of the embedding program wait for.
// Bindings are checked against the program's operations when a set is loaded.
type Operation struct {
	// Name is what bindings and requests call it ("CreateVolume").
	Name string
	// Resource and Kind say which objects it is about.
	Resource schema.GroupVersionResource
	Kind     string
	// Params are the params that its callers give.
	Params []OperationParam
}

// OperationParam is a param that callers of an operation give.
type OperationParam struct {
	Name string
	// Type is a param type as predicates declare it ("string", "int", "list(string)", …).
	Type string
}
