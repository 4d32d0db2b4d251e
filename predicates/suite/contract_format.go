package suite

import "github.com/donewhen/donewhen/predicates/v1alpha1"

// kindContract is the kind of a contract's document. It comes with a program and
// never with a config, so the loader of configs doesn't know it.
const kindContract = "Contract"

// contractDocument is a Contract as it is written in YAML.
type contractDocument struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   v1alpha1.Metadata `json:"metadata"`
	Spec       contractSpec      `json:"spec"`
}

type contractSpec struct {
	Operation string `json:"operation"`
	// Params are what the operation's callers give, all of them.
	Params  map[string]any `json:"params,omitempty"`
	Objects map[string]any `json:"objects,omitempty"` // as in a Suite
	// Names are those that the objects and params have here. What means something
	// by one of them is wrong: rows are judged under other names too, which nobody
	// can know before.
	Names []string `json:"names,omitempty"`
	// Axes are sets of changes, each with a name, that grids are made of. The empty
	// name is for none, or for the one that goes without saying.
	Axes map[string]axis `json:"axes,omitempty"`
	// Alike are changes of an object that change nothing: every row is kept with each
	// of them too.
	Alike []alikeDocument        `json:"alike,omitempty"`
	Cases []contractCaseDocument `json:"cases"`
}

// alikeDocument is a change of objects that leaves the operation standing as it is,
// where it stands so.
type alikeDocument struct {
	Name      string         `json:"name"`
	Merge     map[string]any `json:"merge"`
	Standings []string       `json:"standings,omitempty"` // without: all
	Because   string         `json:"because,omitempty"`
}

// contractCaseDocument is one observation and how it stands, or with a table or a
// sweep several.
type contractCaseDocument struct {
	Name   string                `json:"name"`
	Object any                   `json:"object,omitempty"`
	Absent string                `json:"absent,omitempty"`
	Params map[string]any        `json:"params,omitempty"`
	Is     *standingDocument     `json:"is,omitempty"`
	Table  []contractRowDocument `json:"table,omitempty"`
	Sweep  *contractSweep        `json:"sweep,omitempty"`
	// Grid has the object with one change of each axis, in every combination. An axis
	// is the name of one of the contract's, or written out.
	Grid []any `json:"grid,omitempty"`
}

// axis is a set of changes of an object by their names, of which one is made.
type axis map[string]map[string]any

type contractRowDocument struct {
	Name   string            `json:"name"`
	Merge  map[string]any    `json:"merge,omitempty"`
	Params map[string]any    `json:"params,omitempty"`
	Is     *standingDocument `json:"is"`
}

// contractSweep sets the field at Path to every key of Is in turn.
type contractSweep struct {
	Path string                      `json:"path"`
	Is   map[string]standingDocument `json:"is"`
}

// standingDocument says how an operation stands when an object looks so.
type standingDocument struct {
	Standing string `json:"standing" form:"short"`
	// Usually is the verdict that the program's own predicates give. Another one
	// that the standing allows is only warned about.
	Usually *expectSpec `json:"usually,omitempty"`
	// Because explains the row to whoever violates it.
	Because string `json:"because,omitempty"`
}
