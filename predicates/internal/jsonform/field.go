package jsonform

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is one field of a struct in JSON.
type field struct {
	name string
	// index leads to it, through embedded structs and pointers to such.
	index  []int
	tagged bool
	plan   *plan
	// omitEmpty and omitZero are the options; isZero is what the latter means.
	omitEmpty, omitZero bool
	isZero              func(reflect.Value) bool
}

// get returns the field's value, false if it isn't in the JSON form.
func (f *field) get(v reflect.Value) (reflect.Value, bool) {
	if len(f.index) == 1 {
		v = v.Field(f.index[0])
		if !f.omitEmpty && !f.omitZero {
			return v, true
		}
		return v, f.written(v)
	}
	for i, at := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(at)
	}
	return v, f.written(v)
}

// written reports whether a field of that value isn't omitted.
func (f *field) written(v reflect.Value) bool {
	return (!f.omitEmpty || !isEmpty(v)) && (!f.omitZero || !f.isZero(v))
}

// isEmpty is what the option omitempty means.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Struct:
		return false
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return v.IsZero()
	}
	return false
}

// fieldsOf returns the fields of a struct that JSON has, sorted by name: embedded
// structs without a name of their own give theirs, and of fields with one name the
// least deep wins, or the tagged one; if that isn't one, there is none.
func (p *Plans) fieldsOf(t reflect.Type) []*field {
	c := collector{plans: p, visited: map[reflect.Type]bool{}}
	level := []embedded{{typ: t}}
	for len(level) > 0 {
		level = c.collect(level)
	}
	slices.SortStableFunc(c.found, func(a, b *field) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)), cmp.Compare(rank(a), rank(b)))
	})
	var out []*field
	for i := 0; i < len(c.found); {
		f, n := c.found[i], 1
		for i+n < len(c.found) && c.found[i+n].name == f.name {
			n++
		}
		if n == 1 || len(c.found[i+1].index) != len(f.index) || c.found[i+1].tagged != f.tagged {
			out = append(out, f)
		}
		i += n
	}
	for _, f := range out {
		f.plan = p.build(fieldType(t, f.index))
		if f.plan = p.quoted(f, t); f.omitZero {
			f.isZero = zeroMethod(fieldType(t, f.index))
		}
	}
	return out
}

func rank(f *field) int {
	if f.tagged {
		return 0
	}
	return 1
}

// embedded is a struct whose fields are promoted.
type embedded struct {
	typ   reflect.Type
	index []int
	// twice: the type is embedded more than once at this depth, so that its fields
	// hide each other.
	twice bool
}

type collector struct {
	plans   *Plans
	visited map[reflect.Type]bool
	found   []*field
}

// collect gathers the fields of the structs of one depth and returns those of the
// next.
func (c *collector) collect(level []embedded) []embedded {
	var next []embedded
	for _, e := range level {
		if c.visited[e.typ] {
			continue
		}
		c.visited[e.typ] = true
		for i := range e.typ.NumField() {
			sf := e.typ.Field(i)
			tag := sf.Tag.Get("json")
			if tag == "-" || !considered(sf) {
				continue
			}
			name, options, _ := strings.Cut(tag, ",")
			if !validName(name) {
				name = ""
			}
			index := append(slices.Clone(e.index), i)
			inner := sf.Type
			if inner.Name() == "" && inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if name == "" && sf.Anonymous && inner.Kind() == reflect.Struct {
				if at := slices.IndexFunc(next, func(n embedded) bool { return n.typ == inner }); at >= 0 {
					next[at].twice = true
				} else {
					next = append(next, embedded{typ: inner, index: index})
				}
				continue
			}
			f := &field{
				name: name, index: index, tagged: name != "",
				omitEmpty: hasOption(options, "omitempty"), omitZero: hasOption(options, "omitzero"),
			}
			if name == "" {
				f.name = sf.Name
			}
			c.found = append(c.found, f)
			if e.twice {
				c.found = append(c.found, f)
			}
		}
	}
	return next
}

// considered reports whether encoding/json looks at the field at all.
func considered(sf reflect.StructField) bool {
	if sf.IsExported() {
		return true
	}
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return sf.Anonymous && t.Kind() == reflect.Struct
}

func hasOption(options, want string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == want {
			return true
		}
	}
	return false
}

// validName reports whether a tag's name counts as one.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}

func fieldType(t reflect.Type, index []int) reflect.Type {
	for _, i := range index {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		t = t.Field(i).Type
	}
	return t
}

// quoted returns the field's plan with its option "string", which scalars and
// pointers to such have.
func (p *Plans) quoted(f *field, parent reflect.Type) *plan {
	sf := fieldOf(parent, f.index)
	_, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if !hasOption(options, "string") {
		return f.plan
	}
	t := sf.Type
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch inner := p.build(t); inner.form {
	case formBool, formInt, formUint, formFloat, formString, formNumber:
		quoted := &plan{plans: p, typ: t, form: formQuoted, elem: inner}
		if t == sf.Type {
			return quoted
		}
		return &plan{plans: p, typ: sf.Type, form: formPointer, elem: quoted}
	}
	return f.plan
}

func fieldOf(t reflect.Type, index []int) reflect.StructField {
	last := len(index) - 1
	for _, i := range index[:last] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t.Field(index[last])
}

type isZeroer interface{ IsZero() bool }

// zeroMethod returns how the option omitzero asks a type: by its method IsZero, if it
// has one.
func zeroMethod(t reflect.Type) func(reflect.Value) bool {
	zeroer := reflect.TypeFor[isZeroer]()
	switch {
	case t.Kind() == reflect.Interface && t.Implements(zeroer):
		return func(v reflect.Value) bool {
			return v.IsNil() || v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() || v.Interface().(isZeroer).IsZero()
		}
	case t.Kind() == reflect.Pointer && t.Implements(zeroer):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(isZeroer).IsZero() }
	case reflect.PointerTo(t).Implements(zeroer):
		// By its address, if it has one: a struct in an interface is a copy on the heap.
		return func(v reflect.Value) bool { return addressed(v).Interface().(isZeroer).IsZero() }
	}
	return isZero
}

// isZero is reflect's IsZero, but quick with large structs that aren't zero: it looks
// at one field after the other and not at their types.
func isZero(v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return v.IsZero()
	}
	for i := range v.NumField() {
		if !isZero(v.Field(i)) {
			return false
		}
	}
	return v.IsZero() // blank fields don't count
}

// addressed returns a pointer to v, or to a copy where v has no address.
func addressed(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	at := reflect.New(v.Type())
	at.Elem().Set(v)
	return at
}
