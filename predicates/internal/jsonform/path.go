package jsonform

import "sync/atomic"

// Path is a path of fields that is followed often. It remembers the way through the
// structs of the type that it saw last. It is safe for concurrent use.
type Path struct {
	parts []string
	last  atomic.Pointer[route]
}

// NewPath returns the path of those fields.
func NewPath(parts ...string) *Path { return &Path{parts: parts} }

// route is the part of a path that leads through structs of known types.
type route struct {
	from *plan
	// hops may be fewer than the path has parts: the rest goes through maps, lists
	// or types with a form of their own.
	hops []hop
}

type hop struct {
	field *field
	// into is the plan of the struct behind the field's pointers, and depth their
	// number; it is nil where no struct follows.
	into  *plan
	depth int
}

// Find follows the path. If a part isn't there, missing is its number and found the
// value that lacks it; else missing is -1.
func (p *Path) Find(v Value) (found Value, missing int) {
	if len(p.parts) == 0 || v.kind != Map || v.plan == nil || v.plan.form != formStruct {
		return p.slow(v, 0)
	}
	if v.meta != nil && (p.parts[0] == "apiVersion" || p.parts[0] == "kind") {
		return p.slow(v, 0)
	}
	r := p.last.Load()
	if r == nil || r.from != v.plan {
		r = p.route(v.plan)
		p.last.Store(r)
	}
	rv, at := v.rv, v.plan
	for i := range r.hops {
		h := &r.hops[i]
		next, ok := h.field.get(rv)
		if !ok {
			return Value{kind: Map, plan: at, rv: rv}, i
		}
		if h.into == nil {
			return p.slow(h.field.plan.view(next), i+1)
		}
		for range h.depth {
			if next.IsNil() {
				return p.slow(Value{kind: Null}, i+1)
			}
			next = next.Elem()
		}
		rv, at = next, h.into
	}
	if len(r.hops) < len(p.parts) {
		return Value{kind: Map, plan: at, rv: rv}, len(r.hops)
	}
	return Value{kind: Map, plan: at, rv: rv}, -1
}

// slow follows the path from that part on.
func (p *Path) slow(v Value, from int) (Value, int) {
	for i := from; i < len(p.parts); i++ {
		next := v.Field(p.parts[i])
		if next.kind == Absent {
			return v, i
		}
		v = next
	}
	return v, -1
}

// route works out the way from a struct.
func (p *Path) route(from *plan) *route {
	r := &route{from: from}
	at := from
	for _, part := range p.parts {
		f, ok := at.byName[part]
		if !ok {
			return r // Find then misses the part behind the last hop
		}
		h := hop{field: f}
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
		at = h.into
	}
	return r
}
