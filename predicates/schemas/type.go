package schemas

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Form is what a value of a type looks like in JSON.
type Form int

const (
	// Any is everything that the schema leaves open: preserved unknown fields,
	// int-or-string, numbers that may have a fraction, unions.
	Any Form = iota
	// Object has named fields.
	Object
	// Map has keys that the schema doesn't know, and values of type Elem.
	Map
	// List has elements of type Elem.
	List
	// String also is what dates, durations and bytes are.
	String
	// Int is a whole number.
	Int
	// Bool is true or false.
	Bool
)

// Type describes the values at one place of a kind. Types refer to one another,
// in circles too where a schema does. They are immutable.
type Type struct {
	Form Form
	// Number tells the objects of one schema apart; 0 is the kind itself.
	Number int
	// Fields are those of an Object.
	Fields map[string]*Type
	// Open objects may have fields that aren't in Fields.
	Open bool
	// Elem is the type of a List's elements and of a Map's values.
	Elem *Type
	// Enum lists the values that a String may have; nil allows all.
	Enum []string
	// MaxItems bounds a List or Map, MaxLength the characters of a String; 0 is no
	// bound.
	MaxItems, MaxLength int64
}

// Schema is that of one kind in one version. It is immutable and safe for
// concurrent use.
type Schema struct {
	// Kind is what it is the schema of.
	Kind schema.GroupVersionKind
	// Root is the type of the whole object.
	Root *Type
	// Objects are the types with fields, by their Number.
	Objects []*Type

	once sync.Once
	memo any
}

// Memo returns what the first call's build returned: what is derived from a schema
// lives as long as the schema does.
func (s *Schema) Memo(build func() any) any {
	s.once.Do(func() { s.memo = build() })
	return s.memo
}

// Names returns the names of an object's fields, sorted.
func (t *Type) Names() []string {
	names := make([]string, 0, len(t.Fields))
	for name := range t.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Known are schemas by kind. It is immutable once it is in use, and then safe for
// concurrent use.
type Known map[schema.GroupVersionKind]*Schema

// Schema returns the schema of a kind, nil if there is none. The error is always
// nil.
func (k Known) Schema(kind schema.GroupVersionKind) (*Schema, error) { return k[kind], nil }

// Kinds returns the kinds that have a schema, sorted by group, version and kind.
func (k Known) Kinds() []schema.GroupVersionKind {
	kinds := make([]schema.GroupVersionKind, 0, len(k))
	for kind := range k {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int {
		return compareText(a.String(), b.String())
	})
	return kinds
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
