package jsonform

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"sync/atomic"
)

// Plans caches how values of each type look in JSON. It only grows, by the types
// that it is asked about. It is safe for concurrent use.
type Plans struct {
	done sync.Map // reflect.Type → *plan
	// last is the plan that was asked for last: often the next is the same.
	last atomic.Pointer[plan]

	mu sync.Mutex
	// building holds the plans of a type whose making isn't finished: types can
	// contain themselves.
	building map[reflect.Type]*plan
}

// NewPlans returns an empty cache.
func NewPlans() *Plans { return &Plans{} }

// form is how encoding/json treats a type.
type form uint8

const (
	formUnsupported form = iota // channels, functions, complex numbers
	formBool
	formInt
	formUint
	formFloat
	formString
	formNumber // json.Number
	formBytes  // base64
	formList
	formMap
	formStruct
	formPointer
	formInterface
	formOwn         // a MarshalJSON or MarshalText of its own
	formAddressable // one form where it has an address, another where not
	formQuoted      // a scalar with the option "string"
)

// plan is how the values of one type look in JSON. It doesn't change once it is
// in Plans.done.
type plan struct {
	plans *Plans
	typ   reflect.Type
	form  form
	// elem is the plan of what a pointer, list or map holds, of a quoted scalar, and
	// of an addressable form where there is no address.
	elem *plan
	addr *plan
	// fields are a struct's, sorted by name.
	fields []*field
	byName map[string]*field
	own    func(reflect.Value) (any, error)
}

// of returns the plan of a type.
func (p *Plans) of(t reflect.Type) *plan {
	if last := p.last.Load(); last != nil && last.typ == t {
		return last
	}
	if known, ok := p.done.Load(t); ok {
		p.last.Store(known.(*plan))
		return known.(*plan)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.building = map[reflect.Type]*plan{}
	out := p.build(t)
	for typ, built := range p.building {
		p.done.Store(typ, built)
	}
	p.building = nil
	return out
}

func (p *Plans) build(t reflect.Type) *plan {
	if known, ok := p.done.Load(t); ok {
		return known.(*plan)
	}
	if known, ok := p.building[t]; ok {
		return known
	}
	out := &plan{plans: p, typ: t}
	p.building[t] = out
	p.fill(out, true)
	return out
}

// fill makes a plan in the order in which encoding/json looks at a type.
func (p *Plans) fill(out *plan, mayHaveAddress bool) {
	t := out.typ
	isPointer := t.Kind() == reflect.Pointer
	switch {
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		out.form, out.own = formOwn, ownJSON(t)
	case mayHaveAddress && !isPointer && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		p.fillAddressable(out, marshalAddr)
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		out.form, out.own = formOwn, marshalText
	case mayHaveAddress && !isPointer && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		p.fillAddressable(out, marshalTextAddr)
	default:
		p.fillKind(out)
	}
}

// fillAddressable is for types whose pointers only have an own form.
func (p *Plans) fillAddressable(out *plan, own func(reflect.Value) (any, error)) {
	out.form = formAddressable
	out.addr = &plan{plans: p, typ: out.typ, form: formOwn, own: own}
	out.elem = &plan{plans: p, typ: out.typ}
	p.fill(out.elem, false)
}

func (p *Plans) fillKind(out *plan) {
	t := out.typ
	switch t.Kind() {
	case reflect.Bool:
		out.form = formBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out.form = formInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		out.form = formUint
	case reflect.Float32, reflect.Float64:
		out.form = formFloat
	case reflect.String:
		out.form = formString
		if t == reflect.TypeFor[json.Number]() {
			out.form = formNumber
		}
	case reflect.Interface:
		out.form = formInterface
	case reflect.Pointer:
		out.form, out.elem = formPointer, p.build(t.Elem())
	case reflect.Slice:
		out.form, out.elem = formList, p.build(t.Elem())
		if isByte(t.Elem()) {
			out.form = formBytes
		}
	case reflect.Array:
		out.form, out.elem = formList, p.build(t.Elem())
	case reflect.Map:
		if keyed(t.Key()) {
			out.form, out.elem = formMap, p.build(t.Elem())
		}
	case reflect.Struct:
		out.form = formStruct
		out.fields = p.fieldsOf(t)
		out.byName = make(map[string]*field, len(out.fields))
		for _, f := range out.fields {
			out.byName[f.name] = f
		}
	}
}

// isByte reports whether slices of t are written in base64.
func isByte(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() == reflect.Uint8 &&
		!p.Implements(reflect.TypeFor[json.Marshaler]()) && !p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// keyed reports whether maps with keys of type t have a JSON form.
func keyed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
