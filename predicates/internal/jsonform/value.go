package jsonform

import (
	"encoding/base64"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kind is what a value is in JSON.
type Kind uint8

const (
	// Absent: there is no such field or element.
	Absent Kind = iota
	// Null is JSON's null.
	Null
	// Bool is true or false.
	Bool
	// Int is a number that fits an int64 and is written without a point or exponent.
	Int
	// Double is any other number.
	Double
	// String is a text; dates, durations, quantities and bytes are texts as well.
	String
	// List is an array.
	List
	// Map is an object: a struct or a map.
	Map
	// Invalid: the Go value has no JSON form, as NaN. Err says why.
	Invalid
)

// Value is a view of one value. The zero Value is absent. What it shows must not
// change while it is used; then it is safe for concurrent use.
type Value struct {
	kind Kind
	// plan and rv are a Go value's; where there is no plan, json holds a value as
	// encoding/json decodes it, and is an error in an invalid one.
	plan *plan
	rv   reflect.Value
	json any
	// text is a String's where neither holds it.
	text string
	// meta fills in apiVersion and kind of an object that has none.
	meta *metav1.TypeMeta
}

// Of returns a view of any Go value, usually a pointer to a struct.
func (p *Plans) Of(v any) Value {
	if v == nil {
		return Value{kind: Null}
	}
	rv := reflect.ValueOf(v)
	return p.of(rv.Type()).view(rv)
}

// Object returns a view of an API object. An unstructured one is its own map. A
// typed one, which informers deliver without them, gets its apiVersion and kind
// from meta; that may be nil, and must not change while the view is used.
func (p *Plans) Object(object metav1.Object, meta *metav1.TypeMeta) Value {
	if u, ok := object.(*unstructured.Unstructured); ok {
		if u == nil {
			return Value{kind: Null}
		}
		return plain(u.Object)
	}
	v := p.Of(object)
	if v.kind == Map && v.plan != nil && v.plan.form == formStruct {
		v.meta = meta
	}
	return v
}

// Decoded returns a view of what encoding/json has decoded: nil, bool, int64, float64,
// string, []any or map[string]any, and what is in them. Anything else is viewed as Of
// does it, but slowly.
func Decoded(v any) Value { return plain(v) }

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind }

// Err returns why an invalid value has no JSON form, and nil for all others.
func (v Value) Err() error {
	if v.kind != Invalid {
		return nil
	}
	return v.json.(error)
}

// JSON returns the value itself where it is a view of one that encoding/json has
// decoded: a map[string]any, []any or number, never to be changed.
func (v Value) JSON() (any, bool) { return v.json, v.json != nil && v.kind != Invalid }

// Bool returns a Bool's value, false for other kinds.
func (v Value) Bool() bool {
	switch {
	case v.kind != Bool:
		return false
	case v.plan != nil:
		return v.rv.Bool()
	}
	return v.json.(bool)
}

// Int returns an Int's value, 0 for other kinds.
func (v Value) Int() int64 {
	switch {
	case v.kind != Int:
		return 0
	case v.plan != nil:
		return v.rv.Int()
	}
	return v.json.(int64)
}

// Double returns a Double's value, 0 for other kinds.
func (v Value) Double() float64 {
	f, _ := v.json.(float64)
	return f
}

// Text returns a String's value, "" for other kinds.
func (v Value) Text() string {
	switch {
	case v.kind != String:
		return ""
	case v.plan == nil && v.json == nil:
		return v.text
	case v.plan == nil:
		return v.json.(string)
	case v.plan.form == formBytes:
		return base64.StdEncoding.EncodeToString(v.rv.Bytes())
	}
	return validUTF8(v.rv.String())
}

// validUTF8 is what JSON makes of a text: each byte that is no part of a character
// becomes U+FFFD.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// Len returns the number of a List's elements or a Map's entries, 0 for others.
func (v Value) Len() int {
	switch v.kind {
	case List:
		if v.plan == nil {
			return len(v.json.([]any))
		}
		return v.rv.Len()
	case Map:
		if v.plan == nil {
			return len(v.json.(map[string]any))
		}
		if v.plan.form == formMap {
			return v.rv.Len()
		}
		n := 0
		for range v.Entries() {
			n++
		}
		return n
	}
	return 0
}

// Index returns a List's element, counted from 0; it is absent if there is none.
func (v Value) Index(i int) Value {
	if v.kind != List || i < 0 || i >= v.Len() {
		return Value{}
	}
	if v.plan == nil {
		return plain(v.json.([]any)[i])
	}
	return v.plan.elem.view(v.rv.Index(i))
}

// Field returns a Map's entry; it is absent if there is none, or if v is no Map.
func (v Value) Field(name string) Value {
	switch {
	case v.kind != Map:
		return Value{}
	case v.plan == nil:
		entry, ok := v.json.(map[string]any)[name]
		if !ok {
			return Value{}
		}
		return plain(entry)
	case v.plan.form == formMap:
		return v.entry(name)
	}
	if v.meta != nil {
		if text := v.filled(name); text != "" {
			return textual(text)
		}
	}
	f, ok := v.plan.byName[name]
	if !ok {
		return Value{}
	}
	rv, ok := f.get(v.rv)
	if !ok {
		return Value{}
	}
	return f.plan.view(rv)
}

// filled returns what meta says of the field, "" if nothing, or if the object says
// so itself.
func (v Value) filled(name string) string {
	text := ""
	switch name {
	case "apiVersion":
		text = v.meta.APIVersion
	case "kind":
		text = v.meta.Kind
	}
	if text == "" {
		return ""
	}
	own := v
	own.meta = nil
	if own.Field(name).Text() != "" {
		return ""
	}
	return text
}

// Get follows a path of fields, and of elements where a part is a number and the
// value a List. What isn't there is absent.
func (v Value) Get(path ...string) Value {
	for _, part := range path {
		if v.kind == List {
			i, err := strconv.Atoi(part)
			if err != nil {
				return Value{}
			}
			v = v.Index(i)
			continue
		}
		v = v.Field(part)
	}
	return v
}

// Elements returns a List's elements in order.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for i := range v.Len() {
			if v.kind != List || !yield(v.Index(i)) {
				return
			}
		}
	}
}

// Entries returns a Map's entries, sorted by name.
func (v Value) Entries() iter.Seq2[string, Value] {
	switch {
	case v.kind != Map:
		return func(func(string, Value) bool) {}
	case v.plan == nil:
		return v.sorted(sortedKeys(v.json.(map[string]any)))
	case v.plan.form == formMap:
		return v.mapEntries()
	}
	return v.structEntries()
}

// sorted yields the entries of those names.
func (v Value) sorted(names []string) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, name := range names {
			if !yield(name, v.Field(name)) {
				return
			}
		}
	}
}

func sortedKeys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (v Value) structEntries() iter.Seq2[string, Value] {
	if v.meta != nil {
		names := []string{"apiVersion", "kind"}
		for _, f := range v.plan.fields {
			names = append(names, f.name)
		}
		slices.Sort(names)
		named := v.sorted(slices.Compact(names))
		return func(yield func(string, Value) bool) {
			named(func(name string, entry Value) bool { return entry.kind == Absent || yield(name, entry) })
		}
	}
	return func(yield func(string, Value) bool) {
		for _, f := range v.plan.fields {
			if rv, ok := f.get(v.rv); ok && !yield(f.name, f.plan.view(rv)) {
				return
			}
		}
	}
}
