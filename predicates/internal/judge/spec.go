// Package judge is the pure verdict core of predicates: policies and compiled rules,
// or a module in their place, in, judgements out, in the order that the format fixes. It has no clock,
// does no I/O and remembers nothing between calls.
//
//	core := judge.New(judge.Spec{ID: id, Kind: "AzVolume", Environment: env, Done: rules, …})
//	bound, err := core.Bind(params, key) // an engine.Judge
package judge

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// Policy is what an absence or a deletionTimestamp means.
type Policy struct {
	Decision engine.Decision
	// Judge (of OnTerminating only) lets the rules decide; Decision isn't used.
	Judge           bool
	Code            codes.Code
	Reason, Message string
}

// Rule is one compiled rule.
type Rule struct {
	// Name is the rule's place in its document, for example "failed[1]".
	Name string
	// When is the condition; nil always holds.
	When *celexpr.Program
	// For is how long the rule must hold before it decides.
	For time.Duration
	// Code is the static code, of aborted and failed rules.
	Code              codes.Code
	CodeExpression    *celexpr.Program
	CodeMap           map[string]codes.Code
	Reason            string
	ReasonExpression  *celexpr.Program
	Message           string
	MessageExpression *celexpr.Program
}

// Observed-generation modes of a Spec.
const (
	GenerationAuto    = "Auto"
	GenerationRequire = "Require"
	GenerationIgnore  = "Ignore"
)

// Failure policies of a Spec.
const (
	FailurePolicyFail    = "Fail"
	FailurePolicyPending = "Pending"
)

// Spec is everything that a predicate judges by.
type Spec struct {
	ID   engine.PredicateID
	Kind string
	// ExpectsGone: the predicate waits for absence.
	ExpectsGone                       bool
	OnAbsent, OnDelete, OnTerminating Policy
	// ObservedGeneration is one of the Generation constants; empty means Auto.
	ObservedGeneration string
	// Environment compiled every program below.
	Environment                    *celexpr.Environment
	Aborted, Done, Failed, Pending []Rule
	// Module judges instead of rules; nil if rules do. What it means by its codes is
	// as of a failed rule, and ModuleStableFor is how long its Done must hold.
	Module          Module
	ModuleCode      codes.Code
	ModuleCodeMap   map[string]codes.Code
	ModuleStableFor time.Duration
	// FailurePolicy is one of the FailurePolicy constants; empty means Fail.
	FailurePolicy string
	// Timeout bounds one judging of programs that need bounds; 0 means the default.
	Timeout time.Duration
	// CostLimit likewise; 0 means the default.
	CostLimit uint64

	paths paths
}

// paths are what the core itself reads of objects.
type paths struct{ deletion, finalizers, generation, observed *celexpr.ObjectPath }

func newPaths() paths {
	return paths{
		deletion:   celexpr.NewObjectPath("metadata", "deletionTimestamp"),
		finalizers: celexpr.NewObjectPath("metadata", "finalizers"),
		generation: celexpr.NewObjectPath("metadata", "generation"),
		observed:   celexpr.NewObjectPath("status", "observedGeneration"),
	}
}
