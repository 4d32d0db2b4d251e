package jsonform

import (
	"reflect"
	"sync/atomic"
)

// Path is a path of fields that is followed often. It remembers the way through the
// structs of the type that it saw last. It is safe for concurrent use.
type Path struct {
	parts []string
	// filled: it begins with what the meta of Object may fill in.
	filled bool
	last   atomic.Pointer[route]
}

// NewPath returns the path of those fields.
func NewPath(parts ...string) *Path {
	return &Path{parts: parts, filled: len(parts) > 0 && (parts[0] == "apiVersion" || parts[0] == "kind")}
}

// route is the part of a path that leads through structs of known types.
type route struct {
	from *plan
	// hops may be fewer than the path has parts: the rest goes through maps, lists
	// or types with a form of their own.
	hops []hop
	// end is the plan of the struct behind the last hop.
	end *plan
}

type hop struct {
	of    *plan
	field *field
	// into is the plan of the struct behind the field's pointers, and depth their
	// number; it is nil where no struct follows.
	into  *plan
	depth int
}

// Find follows the path. If a part isn't there, missing is its number and found the
// value that lacks it; else missing is -1.
func (p *Path) Find(v Value) (found Value, missing int) {
	missing = p.FindIn(&v, &found)
	return found, missing
}

// FindIn is Find without copies of the values, which are large; v isn't changed.
func (p *Path) FindIn(v, found *Value) (missing int) {
	missing, _ = p.follow(v, found)
	return missing
}

// Has is Find, but what the path leads to isn't read. Of a value that lacks a part it
// says the kind.
func (p *Path) Has(v *Value) (missing int, lacking Kind) { return p.follow(v, nil) }

func (p *Path) follow(v, found *Value) (missing int, lacking Kind) {
	if len(p.parts) == 0 || v.kind != Map || v.plan == nil || v.plan.form != formStruct || v.meta != nil && p.filled {
		return p.slow(*v, 0, found)
	}
	r := p.last.Load()
	if r == nil || r.from != v.plan {
		r = p.route(v.plan)
		p.last.Store(r)
	}
	rv := v.rv
	for i := range r.hops {
		h := &r.hops[i]
		next, ok := h.field.get(rv)
		if !ok {
			return i, found.at(h.of, rv)
		}
		if h.into == nil {
			if found == nil && i == len(p.parts)-1 {
				return -1, Absent
			}
			return p.slow(h.field.plan.view(next), i+1, found)
		}
		for range h.depth {
			if next.IsNil() {
				return p.slow(Value{kind: Null}, i+1, found)
			}
			next = next.Elem()
		}
		rv = next
	}
	if len(r.hops) < len(p.parts) {
		return len(r.hops), found.at(r.end, rv)
	}
	return -1, found.at(r.end, rv)
}

// at makes v, unless it is nil, the view of a struct.
func (v *Value) at(of *plan, rv reflect.Value) Kind {
	if v != nil {
		*v = Value{kind: Map, plan: of, rv: rv}
	}
	return Map
}

// slow follows the path from that part on.
func (p *Path) slow(v Value, from int, found *Value) (missing int, lacking Kind) {
	missing = -1
	for i := from; i < len(p.parts); i++ {
		next := v.Field(p.parts[i])
		if next.kind == Absent {
			missing = i
			break
		}
		v = next
	}
	if found != nil {
		*found = v
	}
	return missing, v.kind
}

// route works out the way from a struct.
func (p *Path) route(from *plan) *route {
	r := &route{from: from, end: from}
	at := from
	for _, part := range p.parts {
		f, ok := at.byName[part]
		if !ok {
			return r // Find then misses the part behind the last hop
		}
		h := hop{of: at, field: f}
		next, depth := f.plan, 0
		for next.form == formPointer {
			next, depth = next.elem, depth+1
		}
		if next.form == formStruct {
			h.into, h.depth = next, depth
		}
		r.hops = append(r.hops, h)
		if h.into == nil {
			return r
		}
		at, r.end = h.into, h.into
	}
	return r
}
