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
	missing = p.Follow(&v)
	return v, missing
}

// Follow is Find in place: v becomes what is found.
func (p *Path) Follow(v *Value) (missing int) { return p.follow(v, true) }

// Has is Follow, but what the last part leads to isn't read: v is then of no use.
func (p *Path) Has(v *Value) (missing int) { return p.follow(v, false) }

func (p *Path) follow(v *Value, read bool) (missing int) {
	if len(p.parts) == 0 || v.kind != Map || v.plan == nil || v.plan.form != formStruct {
		return p.slow(v, 0)
	}
	if v.meta != nil && p.filled {
		return p.slow(v, 0)
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
			v.at(h.of, rv)
			return i
		}
		if h.into == nil {
			if !read && i == len(p.parts)-1 {
				return -1
			}
			*v = h.field.plan.view(next)
			return p.slow(v, i+1)
		}
		for range h.depth {
			if next.IsNil() {
				*v = Value{kind: Null}
				return p.slow(v, i+1)
			}
			next = next.Elem()
		}
		rv = next
	}
	v.at(r.end, rv)
	if len(r.hops) < len(p.parts) {
		return len(r.hops)
	}
	return -1
}

// at makes v the view of a struct.
func (v *Value) at(of *plan, rv reflect.Value) { v.plan, v.rv, v.meta = of, rv, nil }

// slow follows the path from that part on.
func (p *Path) slow(v *Value, from int) (missing int) {
	for i := from; i < len(p.parts); i++ {
		next := v.Field(p.parts[i])
		if next.kind == Absent {
			return i
		}
		*v = next
	}
	return -1
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
