package celexpr

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
)

// What flows into a value decides whether it may be shown. It is worked out from
// the expression alone, without regard to order: where that is not exact, more is
// hidden than need be, never less.

// trail is a place in the object, from its end; the object itself has no parent.
type trail struct {
	parent *trail
	key    string
	index  int
	kind   trailKind
}

type trailKind int

const (
	trailRoot  trailKind = iota
	trailKey             // a field
	trailIndex           // an element
	trailAny             // some field or element, known only when it is evaluated
)

// String writes the trail as a path.
func (t *trail) String() string {
	switch t.kind {
	case trailKey:
		if checkIdentifier(t.key) == nil {
			return t.parent.String() + "." + t.key
		}
		return t.parent.String() + "['" + t.key + "']"
	case trailIndex:
		return fmt.Sprintf("%s[%d]", t.parent.String(), t.index)
	case trailAny:
		return t.parent.String() + "[…]"
	}
	return rootObject
}

// flow is where a value comes from.
type flow struct {
	// direct: the value is what the object has at one of these places.
	direct []*trail
	// derived: it was computed from what is at these places.
	derived []*trail
	// shape: how many elements there are at these places is in it, but not what
	// they are.
	shape []*trail
	// secret: it depends on a sensitive param.
	secret bool
}

// maxTrails bounds a flow; beyond it, it counts as computed from the whole object.
const maxTrails = 48

func union(flows ...flow) flow {
	var out flow
	for _, f := range flows {
		out.direct = addTrails(out.direct, f.direct)
		out.derived = addTrails(out.derived, f.derived)
		out.shape = addTrails(out.shape, f.shape)
		out.secret = out.secret || f.secret
	}
	if len(out.direct)+len(out.derived)+len(out.shape) > maxTrails {
		return flow{derived: []*trail{{}}, secret: out.secret}
	}
	return out
}

func addTrails(list, more []*trail) []*trail {
	for _, t := range more {
		found := false
		for _, other := range list {
			found = found || t.equal(other)
		}
		if !found {
			list = append(list, t)
		}
	}
	return list
}

func (t *trail) equal(other *trail) bool {
	for t != other {
		if t == nil || other == nil || t.kind != other.kind || t.key != other.key || t.index != other.index {
			return false
		}
		t, other = t.parent, other.parent
	}
	return true
}

// computed is the flow of a value that is computed from one of this flow.
func (f flow) computed() flow {
	return flow{derived: addTrails(addTrails(nil, f.derived), f.direct), shape: f.shape, secret: f.secret}
}

// child is the flow of a part of the value.
func (f flow) child(kind trailKind, key string, index int) flow {
	out := flow{derived: f.derived, shape: f.shape, secret: f.secret}
	for _, t := range f.direct {
		out.direct = append(out.direct, &trail{parent: t, kind: kind, key: key, index: index})
	}
	return out
}

// flows works out the flow of each node of an expression.
type flows struct {
	env   *Environment
	scope map[string]flow // of loop variables
	of    map[int64]flow
	// within are nodes of which only a part is read: a in a.b.
	within map[int64]bool
}

// flowsOf returns the flow of every node, by its id.
func (e *Environment) flowsOf(expr ast.Expr) *flows {
	f := &flows{env: e, scope: map[string]flow{}, of: map[int64]flow{}, within: map[int64]bool{}}
	f.visit(expr)
	return f
}

func (f *flows) visit(e ast.Expr) flow {
	out := f.flow(e)
	f.of[e.ID()] = out
	return out
}

func (f *flows) visitAll(exprs []ast.Expr) flow {
	all := make([]flow, len(exprs))
	for i, e := range exprs {
		all[i] = f.visit(e)
	}
	return union(all...)
}

func (f *flows) flow(e ast.Expr) flow {
	switch e.Kind() {
	case ast.IdentKind:
		return f.ident(e.AsIdent())
	case ast.SelectKind:
		sel := e.AsSelect()
		operand := f.visit(sel.Operand())
		f.within[sel.Operand().ID()] = true
		if call := sel.Operand(); call.Kind() == ast.CallKind && call.AsCall().FunctionName() == "condition" && !conditionText(sel.FieldName()) {
			return operand.computed() // present, current, observedGeneration
		}
		out := operand.child(trailKey, sel.FieldName(), 0)
		if sel.IsTestOnly() {
			return out.computed()
		}
		return out
	case ast.CallKind:
		return f.call(e.AsCall())
	case ast.ListKind:
		return f.visitAll(e.AsList().Elements()).computed()
	case ast.MapKind:
		var all flow
		for _, entry := range e.AsMap().Entries() {
			all = union(all, f.visit(entry.AsMapEntry().Key()), f.visit(entry.AsMapEntry().Value()))
		}
		return all.computed()
	case ast.StructKind:
		var all flow
		for _, field := range e.AsStruct().Fields() {
			all = union(all, f.visit(field.AsStructField().Value()))
		}
		return all.computed()
	case ast.ComprehensionKind:
		return f.comprehension(e.AsComprehension())
	}
	return flow{}
}

func conditionText(field string) bool {
	return field == "status" || field == "reason" || field == "message"
}

func (f *flows) ident(name string) flow {
	if v, ok := f.scope[name]; ok {
		return v
	}
	if name == rootObject {
		return flow{direct: []*trail{{}}}
	}
	s, ok := f.env.slots[name]
	if !ok {
		return flow{}
	}
	if s.kind == slotParam {
		return flow{secret: f.env.redaction.sensitive[f.env.params[s.index].name]}
	}
	if p := f.env.variables[s.index].program; p != nil {
		return p.flow()
	}
	return flow{}
}

func (f *flows) call(call ast.CallExpr) flow {
	args := call.Args()
	name := call.FunctionName()
	switch name {
	case "_?._", "_[_]", "_[?_]":
		if len(args) == 2 {
			base, index := f.visit(args[0]), f.visit(args[1])
			f.within[args[0].ID()] = true
			out := flow{}
			switch key := constant(args[1]).(type) {
			case string:
				out = base.child(trailKey, key, 0)
			case int64:
				out = base.child(trailIndex, "", int(key))
			default:
				out = base.child(trailAny, "", 0)
			}
			return union(out, index.computed())
		}
	case "_?_:_":
		if len(args) == 3 {
			condition := f.visit(args[0])
			return union(f.visit(args[1]), f.visit(args[2]), condition.computed())
		}
	case "condition":
		if len(args) == 2 {
			f.within[args[0].ID()] = true
			at := f.visit(args[0]).child(trailKey, "status", 0).child(trailKey, "conditions", 0).child(trailAny, "", 0)
			return union(at, f.visit(args[1]).computed())
		}
	case "isTrue":
		if len(args) == 2 {
			f.within[args[0].ID()] = true
			at := f.visit(args[0]).child(trailKey, "status", 0).child(trailKey, "conditions", 0).child(trailAny, "", 0)
			return union(at, f.visit(args[1])).computed()
		}
	}
	var target flow
	if call.IsMemberFunction() {
		target = f.visit(call.Target())
	}
	all := union(target, f.visitAll(args))
	switch name {
	case "orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn", "@not_strictly_false":
		return all // as they are
	}
	return all.computed()
}

// comprehension: loop variables are elements of the range. What the loop gathers
// comes from its steps; one round is enough, as a second one has the same places.
func (f *flows) comprehension(c ast.ComprehensionExpr) flow {
	over := f.visit(c.IterRange())
	init := f.visit(c.AccuInit())
	element := over.child(trailAny, "", 0)
	outer := map[string]*flow{}
	bind := func(name string, v flow) {
		if before, ok := f.scope[name]; ok {
			outer[name] = &before
		} else {
			outer[name] = nil
		}
		f.scope[name] = v
	}
	if c.HasIterVar2() {
		bind(c.IterVar(), over.computed()) // keys
		bind(c.IterVar2(), element)
	} else {
		// An element of a list or a key of a map: which, is known when it is
		// evaluated. Places that aren't there don't matter.
		bind(c.IterVar(), element)
	}
	bind(c.AccuVar(), init)
	f.visit(c.LoopCondition())
	step := f.visit(c.LoopStep())
	f.scope[c.AccuVar()] = union(init, step)
	result := f.visit(c.Result())
	for name, before := range outer {
		if before == nil {
			delete(f.scope, name)
		} else {
			f.scope[name] = *before
		}
	}
	// How many elements there are is in the result too.
	shape := flow{derived: over.derived, shape: addTrails(addTrails(nil, over.shape), over.direct), secret: over.secret}
	return union(result, step, shape).computed()
}

// flow returns the flow of the program's value.
func (p *Program) flow() flow {
	p.explain.flowOnce.Do(func() {
		p.explain.flow = p.env.flowsOf(p.ast.Expr()).of[p.ast.Expr().ID()]
	})
	return p.explain.flow
}

// reads returns what a node of the program works on, or all of it if there is no
// such node.
func (p *Program) reads(id int64) flow {
	flows := p.env.flowsOf(p.ast.Expr())
	from := p.ast.Expr()
	ast.PreOrderVisit(from, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			from = e
		}
	}))
	var all []flow
	ast.PreOrderVisit(from, ast.NewExprVisitor(func(e ast.Expr) {
		if !flows.within[e.ID()] || e == from {
			all = append(all, flows.of[e.ID()])
		}
	}))
	return union(all...).computed()
}
