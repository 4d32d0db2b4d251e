package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Values of PredicateSpec.Expect.
const (
	ExpectPresent = "Present"
	ExpectGone    = "Gone"
)

// Verdict words of policies.
const (
	VerdictPending = "Pending"
	VerdictDone    = "Done"
	VerdictFailed  = "Failed"
	// VerdictJudge, of onTerminating only: the rules decide.
	VerdictJudge = "Judge"
)

// Values of PredicateSpec.ObservedGeneration.
const (
	ObservedGenerationAuto    = "Auto"
	ObservedGenerationRequire = "Require"
	ObservedGenerationIgnore  = "Ignore"
)

// Values of PredicateSpec.FailurePolicy.
const (
	FailurePolicyFail    = "Fail"
	FailurePolicyPending = "Pending"
)

// Predicate is a named function from one observation and params to a verdict.
type Predicate struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Metadata   Metadata      `json:"metadata"`
	Spec       PredicateSpec `json:"spec"`
}

// PredicateSpec says what is judged and how.
type PredicateSpec struct {
	// Version is a label for people; identity is the digest of the content.
	Version string `json:"version,omitempty"`
	// Match says which objects are judged.
	Match Match `json:"match"`
	// Params declares the params by name.
	Params map[string]Param `json:"params,omitempty"`
	// Expect is Present (the default) or Gone: what the wait is for.
	Expect string `json:"expect,omitempty"`
	// OnAbsent is the verdict on an object that was never seen nor written.
	OnAbsent *Policy `json:"onAbsent,omitempty"`
	// OnDelete is the verdict on an object that is gone.
	OnDelete *Policy `json:"onDelete,omitempty"`
	// OnTerminating is the verdict on an object that has a deletionTimestamp.
	OnTerminating *Policy `json:"onTerminating,omitempty"`
	// ObservedGeneration is Auto (the default), Require or Ignore: whether a status
	// that lags behind the spec is judged.
	ObservedGeneration string `json:"observedGeneration,omitempty"`
	// Variables are named values, in order: each sees the ones before it.
	Variables []Variable `json:"variables,omitempty"`
	// Aborted rules are judged before done: vetoes.
	Aborted []Rule `json:"aborted,omitempty" form:"many"`
	// Done rules: one that holds ends the wait well.
	Done []Rule `json:"done,omitempty" form:"many"`
	// Failed rules: one that holds ends the wait badly.
	Failed []Rule `json:"failed,omitempty" form:"many"`
	// Pending rules give texts and reasons to a wait that goes on.
	Pending []Rule `json:"pending,omitempty" form:"many"`
	// StableFor is the For of each done rule.
	StableFor *metav1.Duration `json:"stableFor,omitempty"`
	// FailurePolicy is Fail (the default) or Pending: what a broken judge means.
	FailurePolicy string `json:"failurePolicy,omitempty"`
	// Limits bound one judging.
	Limits *Limits `json:"limits,omitempty"`
	// Wasm judges by a WebAssembly module instead of the rules.
	Wasm *Wasm `json:"wasm,omitempty"`
	// Select makes this a predicate on a set of objects.
	Select *Select `json:"select,omitempty"`
	// OnEmpty is the verdict on an empty set: Pending or Done.
	OnEmpty string `json:"onEmpty,omitempty"`
}

// Match says which objects a predicate judges.
type Match struct {
	// Exactly one of APIVersion and APIVersions is given.
	APIVersion  string   `json:"apiVersion,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
	Kind        string   `json:"kind"`
	// Resource is the plural, where it can't be guessed from the kind.
	Resource string `json:"resource,omitempty"`
	// SchemaFrom is a file with a CRD or an OpenAPI schema of the kind.
	SchemaFrom *FileSource `json:"schemaFrom,omitempty"`
}

// FileSource names a file, or a key of the same ConfigMap.
type FileSource struct {
	File string `json:"file"`
}

// Param declares one param. A plain string is its type.
type Param struct {
	// Type is string, int, double, bool, duration, quantity, list(T) or map(string, T).
	Type string `json:"type" form:"short"`
	// Enum lists the only values allowed.
	Enum []any `json:"enum,omitempty"`
	// Default is the value where nobody gives one.
	Default any `json:"default,omitempty"`
	// Sensitive values are never shown.
	Sensitive bool `json:"sensitive,omitempty"`
}

// Policy is a verdict without an expression. A plain string is its verdict.
type Policy struct {
	Verdict string `json:"verdict" form:"short"`
	Code    string `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Variable is a named value.
type Variable struct {
	Name       string `json:"name"`
	Expression string `json:"expression" form:"nonempty"`
}

// Rule is a condition and what it means. A plain string is its expression.
type Rule struct {
	Expression string `json:"expression,omitempty" form:"short,nonempty"`
	// For is how long the rule must hold.
	For *metav1.Duration `json:"for,omitempty"`
	// Code is a gRPC code: what CodeExpression falls back to, or the code itself.
	Code           string `json:"code,omitempty"`
	CodeExpression string `json:"codeExpression,omitempty" form:"nonempty"`
	// CodeMap translates results of CodeExpression that aren't gRPC codes.
	CodeMap map[string]string `json:"codeMap,omitempty"`
	// Reason is one word: what ReasonExpression falls back to, or the reason itself.
	Reason           string `json:"reason,omitempty"`
	ReasonExpression string `json:"reasonExpression,omitempty" form:"nonempty"`
	// Message likewise.
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty" form:"nonempty"`
}

// Limits bound one judging: Timeout and Cost are for CEL, Timeout, Memory and
// Fuel for WebAssembly.
type Limits struct {
	Timeout *metav1.Duration   `json:"timeout,omitempty"`
	Cost    *int64             `json:"cost,omitempty"`
	Memory  *resource.Quantity `json:"memory,omitempty"`
	Fuel    *resource.Quantity `json:"fuel,omitempty"`
}

// Wasm names a module and how it is called.
type Wasm struct {
	Module Module `json:"module"`
	// SHA256 pins the module's content, in hex.
	SHA256 string `json:"sha256,omitempty"`
	// Settings are handed to the module as they are.
	Settings map[string]any `json:"settings,omitempty"`
	// Code and CodeMap work on the module's codes as a rule's do.
	Code    string            `json:"code,omitempty"`
	CodeMap map[string]string `json:"codeMap,omitempty"`
}

// Module says where a module is: exactly one of File and OCI.
type Module struct {
	// File is a path or a ConfigMap key.
	File string     `json:"file,omitempty"`
	OCI  *OCISource `json:"oci,omitempty"`
}

// OCISource names a module in an OCI image layout.
type OCISource struct {
	// Path is a directory, relative to the document's own and below it.
	Path string `json:"path"`
	// Reference is the tag or digest of a manifest, if the layout has several.
	Reference string `json:"reference,omitempty"`
}

// Select says which objects form the set.
type Select struct {
	// MatchLabels are labels and their values.
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchParams are labels and the params that have their values.
	MatchParams map[string]string `json:"matchParams,omitempty"`
}
