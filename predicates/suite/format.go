package suite

import "github.com/donewhen/donewhen/predicates/v1alpha1"

// Values of caseSpec.Absent.
const (
	absentNever   = "never"
	absentDeleted = "deleted"
)

// suiteDocument is a Suite as it is written in YAML; the tags are those of
// package v1alpha1.
type suiteDocument struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   v1alpha1.Metadata `json:"metadata"`
	Spec       suiteSpec         `json:"spec"`
}

type suiteSpec struct {
	// Predicates are the files of the set under test.
	Predicates []string     `json:"predicates,omitempty"`
	Defaults   defaultsSpec `json:"defaults,omitempty"`
	// States are the values that every sweep must list: a list for status.state,
	// or lists by path.
	States any `json:"states,omitempty"`
	// Objects by name: a file, {from, merge}, or the object itself.
	Objects map[string]any `json:"objects,omitempty"`
	Cases   []caseSpec     `json:"cases,omitempty"`
}

type defaultsSpec struct {
	Predicate string         `json:"predicate,omitempty"`
	Params    map[string]any `json:"params,omitempty"`
	Object    any            `json:"object,omitempty"`
}

// caseSpec is one case: with a table or a sweep, several checks.
type caseSpec struct {
	Name      string         `json:"name"`
	Predicate string         `json:"predicate,omitempty"`
	Operation string         `json:"operation,omitempty"`
	Params    map[string]any `json:"params,omitempty"`

	Object any    `json:"object,omitempty"`
	Absent string `json:"absent,omitempty"`
	// Objects are refused by name until they exist.
	Objects any `json:"objects,omitempty"`
	// Events are steps that a wait goes through.
	Events []stepSpec `json:"events,omitempty"`

	Table  []rowSpec   `json:"table,omitempty"`
	Sweep  *sweepSpec  `json:"sweep,omitempty"`
	Expect *expectSpec `json:"expect,omitempty"`
}

// rowSpec is one row of a table: a change of the case's object, or of its params.
type rowSpec struct {
	Name   string         `json:"name"`
	Merge  map[string]any `json:"merge,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	Expect *expectSpec    `json:"expect,omitempty"`
}

// sweepSpec sets the field at Path to every key of Expect in turn.
type sweepSpec struct {
	Path   string                `json:"path"`
	Expect map[string]expectSpec `json:"expect"`
}

// stepSpec is one step of events: one verb, and what it needs beside it. A verb
// that takes nothing stands with {} or true.
type stepSpec struct {
	Register   any `json:"register,omitempty"`
	After      any `json:"after,omitempty"` // a resourceVersion, or an object
	Wait       any `json:"wait,omitempty"`
	Cancel     any `json:"cancel,omitempty"`
	Close      any `json:"close,omitempty"`
	Add        any `json:"add,omitempty"`       // an object
	Update     any `json:"update,omitempty"`    // an object
	Delete     any `json:"delete,omitempty"`    // nothing, or an object
	Tombstone  any `json:"tombstone,omitempty"` // nothing, or an object
	Recreate   any `json:"recreate,omitempty"`  // nothing, or an object
	Relist     any `json:"relist,omitempty"`    // objects
	Disconnect any `json:"disconnect,omitempty"`
	Reconnect  any `json:"reconnect,omitempty"`
	Resync     any `json:"resync,omitempty"`
	Bookmark   any `json:"bookmark,omitempty"`
	Advance    any `json:"advance,omitempty"` // a duration
	Reload     any `json:"reload,omitempty"`  // documents

	ResourceVersion any         `json:"resourceVersion,omitempty"` // a number, or a string
	UID             string      `json:"uid,omitempty"`
	Namespace       string      `json:"namespace,omitempty"`
	Expect          *expectSpec `json:"expect,omitempty"`
}

// expectSpec is what a verdict must be; what isn't given isn't compared.
type expectSpec struct {
	Verdict string    `json:"verdict" form:"short"`
	Code    *string   `json:"code,omitempty"`
	Reason  *string   `json:"reason,omitempty"`
	Message *textSpec `json:"message,omitempty"`
	Cause   *string   `json:"cause,omitempty"`
	For     *string   `json:"for,omitempty"`
	Missing *string   `json:"missing,omitempty"`
	// Ended and Disagreements belong to steps of events, which may leave out Verdict.
	Ended         *bool `json:"ended,omitempty"`
	Disagreements *int  `json:"disagreements,omitempty"`
}

// textSpec is what a text must be.
type textSpec struct {
	Contains *string `json:"contains,omitempty" form:"short"`
	Equals   *string `json:"equals,omitempty"`
	Matches  *string `json:"matches,omitempty"`
}
