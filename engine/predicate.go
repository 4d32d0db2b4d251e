package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Params are the values of a predicate's declared params by name. Values are
// plain Go values (string, bool, int, int64, float64, time.Duration, slices and
// maps of those) or what JSON and YAML decode to.
type Params map[string]any

// Predicate is a named pure function from (observation, params) to a verdict.
// Implementations are immutable and safe for concurrent use.
type Predicate interface {
	// ID returns the predicate's name, label and digest.
	ID() PredicateID
	// Resources returns the resources whose objects the predicate judges, at least one.
	Resources() []schema.GroupVersionResource
	// ExpectsGone reports whether the predicate waits for absence (spec.expect: Gone).
	ExpectsGone() bool
	// Bind checks params against the declaration and returns a judge for them.
	// Undeclared names are ignored; a declared param that is missing and has no
	// default, or is of the wrong type, is an error.
	Bind(params Params) (Judge, error)
}

// Judge is a predicate with its params. It is immutable and safe for concurrent
// use; equal observations give equal judgements.
type Judge interface {
	// Key is the predicate's digest with the params in canonical form: judges of
	// equal keys judge alike, so one evaluation may serve all of them.
	Key() string
	// Judge judges one observation, present or absent. A decisive verdict is
	// complete; the texts of a pending one may be left to Describe. It doesn't
	// fail: what breaks while judging is a verdict with CauseJudge. The context
	// carries the logger and bounds the evaluation.
	Judge(ctx context.Context, o Observation) Judgement
	// Describe judges like Judge, and also fills in reason, message and missing
	// data of a pending verdict. It is asked on the way out of a wait and by the
	// live list, not on every event.
	Describe(ctx context.Context, o Observation) Judgement
}

// Action says what a binding's verdicts do.
type Action string

const (
	// Enforce: the binding decides.
	Enforce Action = "Enforce"
	// Shadow: the binding is judged beside the enforced one and never decides.
	Shadow Action = "Shadow"
)

// InFlight says what a reload does with waiters that run.
type InFlight string

const (
	// Move: a waiter goes over to the new predicate at once.
	Move InFlight = "Move"
	// Pin: a waiter keeps the predicate that it started with.
	Pin InFlight = "Pin"
)

// Binding says which predicate ends an operation. It is immutable.
type Binding struct {
	Name      string
	Operation string
	// Resource is the resource that the operation is about.
	Resource  schema.GroupVersionResource
	Predicate Predicate
	// Params are the binding's constants.
	Params Params
	// Timeout caps a wait, counted from Wait; 0 means no cap of its own.
	Timeout  time.Duration
	Action   Action
	InFlight InFlight
}

// Set is what the engine consumes of everything loaded together. It is immutable
// and safe for concurrent use; a reload makes a new one.
type Set interface {
	// Digest identifies the content of the set.
	Digest() string
	// Predicate returns the predicate of that name. The error names the nearest one.
	Predicate(name string) (Predicate, error)
	// Binding returns the enforced binding of the operation. The error names the
	// nearest operation.
	Binding(operation string) (*Binding, error)
	// Bindings returns every binding, enforced and shadow, in a stable order.
	Bindings() []*Binding
}
