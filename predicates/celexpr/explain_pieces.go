package celexpr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// piece is a sub-expression that explanations show.
type piece struct {
	text     string
	operator string // "&&", "||", "!", "?:", a function or macro; "" for paths and literals
	literal  bool   // its value needs no saying
	boolean  bool   // it computes a bool: that may be shown whatever it is computed from
	place    place
	flow     flow
	reads    flow // of everything in it
	// variable is the variable's number plus one, if it is one.
	variable int
	operands []*piece
	loop     *macroLoop
	// conditionType is the second argument of isTrue(object, 'Ready').
	conditionType string
	// tests is the path whose presence a has() looks for.
	tests flow
}

// place is where a recorder keeps a value: scope 0 is the expression itself, each
// loop's body has one of its own.
type place struct{ scope, slot int }

// macroLoop is a macro over a list or map.
type macroLoop struct {
	scope     int
	over      *piece
	condition *piece // nil if it has none
	result    *piece // of map and the like, for one element
	key       place  // a loop variable, where the body uses it
	hasKey    bool
	elements  flow // the loop variable's
}

// loopScope describes the values of one loop's body.
type loopScope struct {
	parent, size int
	loop         *piece
}

// layout says what to do with the value of a node, by its id.
type layout struct {
	scopes []loopScope
	// at is by node id; steps are the nodes that end one round of a loop.
	at    map[int64]place
	steps map[int64]int
}

// builder takes an expression apart.
type pieceBuilder struct {
	env    *Environment
	ast    *ast.AST
	nodes  map[int64]ast.Expr
	flows  map[int64]flow
	layout layout
	count  int
}

// maxPieces bounds what is taken apart of one expression.
const maxPieces = 2000

func buildPieces(env *Environment, checked *ast.AST) (*piece, layout) {
	b := &pieceBuilder{
		env: env, ast: checked, nodes: map[int64]ast.Expr{}, flows: env.flowsOf(checked.Expr()).of,
		layout: layout{scopes: []loopScope{{parent: -1}}, at: map[int64]place{}, steps: map[int64]int{}},
	}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) { b.nodes[e.ID()] = e }))
	return b.piece(checked.Expr(), 0), b.layout
}

// piece takes one expression apart; its value belongs to the scope.
func (b *pieceBuilder) piece(e ast.Expr, in int) *piece {
	b.count++
	p := &piece{text: expressionText(e, b.ast.SourceInfo()), flow: b.flows[e.ID()], place: b.keep(e.ID(), in)}
	p.boolean = b.ast.GetType(e.ID()).IsExactType(types.BoolType)
	if b.count > maxPieces {
		p.reads = union(p.flow.computed(), flow{derived: []*trail{{}}})
		return p
	}
	if macro, ok := b.ast.SourceInfo().GetMacroCall(e.ID()); ok && macro.Kind() == ast.CallKind {
		b.macro(p, e, macro.AsCall(), in)
	} else {
		b.plain(p, e, in)
	}
	p.reads = p.flow.computed()
	for _, o := range p.operands {
		p.reads = union(p.reads, o.reads)
	}
	if p.loop != nil {
		p.reads = union(p.reads, p.loop.over.reads)
		for _, o := range [...]*piece{p.loop.condition, p.loop.result} {
			if o != nil {
				p.reads = union(p.reads, o.reads)
			}
		}
	}
	return p
}

// keep has the recorder keep the node's values.
func (b *pieceBuilder) keep(id int64, in int) place {
	if at, ok := b.layout.at[id]; ok {
		return at
	}
	at := place{in, b.layout.scopes[in].size}
	b.layout.scopes[in].size++
	b.layout.at[id] = at
	return at
}

func (b *pieceBuilder) plain(p *piece, e ast.Expr, in int) {
	switch e.Kind() {
	case ast.LiteralKind:
		p.literal = true
	case ast.IdentKind:
		if s, ok := b.env.slots[e.AsIdent()]; ok && s.kind == slotVariable {
			p.variable = s.index + 1
		}
		p.boolean = p.boolean && p.variable > 0 // else it is the value itself
	case ast.SelectKind:
		p.boolean = false
		b.path(p, e, in)
	case ast.CallKind:
		b.call(p, e, in)
	case ast.ListKind:
		p.operands = b.pieces(e.AsList().Elements(), in)
		p.literal = len(p.operands) == 0
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			p.operands = append(p.operands, b.pieces([]ast.Expr{entry.AsMapEntry().Key(), entry.AsMapEntry().Value()}, in)...)
		}
		p.literal = len(p.operands) == 0
	}
}

// pieces takes expressions apart and leaves out those that say their own value.
func (b *pieceBuilder) pieces(exprs []ast.Expr, in int) []*piece {
	var out []*piece
	for _, e := range exprs {
		if p := b.piece(e, in); !p.literal {
			out = append(out, p)
		}
	}
	return out
}

// path is a chain of selections: its operands are what it begins with, unless
// that is a name, and indexes that aren't constant.
func (b *pieceBuilder) path(p *piece, e ast.Expr, in int) {
	for {
		if e.Kind() == ast.SelectKind {
			e = e.AsSelect().Operand()
			continue
		}
		if e.Kind() == ast.CallKind {
			call := e.AsCall()
			if args := call.Args(); isSelection(call.FunctionName()) && len(args) == 2 {
				p.operands = append(p.operands, b.pieces(args[1:], in)...)
				e = args[0]
				continue
			}
		}
		break
	}
	if e.Kind() == ast.IdentKind {
		if s, ok := b.env.slots[e.AsIdent()]; ok && s.kind == slotVariable {
			p.variable = s.index + 1
		}
		return
	}
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "condition" && b.named(p, e.AsCall()) {
		return
	}
	p.operands = append(b.pieces([]ast.Expr{e}, in), p.operands...)
}

// named reports whether condition() or isTrue() is about the object itself and a
// condition that is written out; if so the piece remembers which.
func (b *pieceBuilder) named(p *piece, call ast.CallExpr) bool {
	args := call.Args()
	if len(args) != 2 || args[0].Kind() != ast.IdentKind || args[0].AsIdent() != rootObject {
		return false
	}
	p.conditionType, _ = constant(args[1]).(string)
	return p.conditionType != ""
}

func isSelection(function string) bool {
	return function == "_?._" || function == "_[_]" || function == "_[?_]"
}

func (b *pieceBuilder) call(p *piece, e ast.Expr, in int) {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case "_&&_", "_||_":
		p.operator = name[1:3]
		b.flatten(p, e, name, in)
	case "!_":
		p.operator = "!"
		p.operands = b.pieces(args, in)
	case "_?_:_":
		p.operator = "?:"
		for i, a := range args {
			o := b.piece(a, in)
			p.operands = append(p.operands, o)
			p.boolean = p.boolean && (i == 0 || o.boolean || o.literal)
		}
	case "_?._", "_[_]", "_[?_]":
		p.boolean = false
		b.path(p, e, in)
	case "orValue", "value", "or":
		p.boolean = false
		if call.IsMemberFunction() {
			b.optional(p, call, in)
			return
		}
		p.operands = b.pieces(args, in)
	case "condition", "isTrue":
		p.operator = name
		if !b.named(p, call) {
			p.operands = b.pieces(args, in)
		}
	default:
		p.operator = name
		if sign, ok := operatorSign(name); ok {
			p.operator = sign
		}
		if name == "dyn" || name == "optional.of" || name == "optional.ofNonZeroValue" {
			p.boolean = false // as it was
		}
		if call.IsMemberFunction() {
			p.operands = b.pieces([]ast.Expr{call.Target()}, in)
		}
		p.operands = append(p.operands, b.pieces(args, in)...)
		p.literal = len(p.operands) == 0 // such as duration('1h')
	}
}

// optional is path.orValue(literal) and the like, which is shown as one path.
func (b *pieceBuilder) optional(p *piece, call ast.CallExpr, in int) {
	operands := b.pieces(append([]ast.Expr{call.Target()}, call.Args()...), in)
	if len(operands) == 1 && len(operands[0].operands) == 0 && operands[0].loop == nil {
		p.variable = operands[0].variable
		return
	}
	p.operator = call.FunctionName()
	p.operands = operands
}

// flatten makes a chain of one operator one.
func (b *pieceBuilder) flatten(p *piece, e ast.Expr, function string, in int) {
	for _, a := range e.AsCall().Args() {
		_, isMacro := b.ast.SourceInfo().GetMacroCall(a.ID())
		if !isMacro && a.Kind() == ast.CallKind && a.AsCall().FunctionName() == function {
			b.flatten(p, a, function, in)
			continue
		}
		p.operands = append(p.operands, b.piece(a, in))
	}
}

// macro is a call that was replaced by what it stands for.
func (b *pieceBuilder) macro(p *piece, e ast.Expr, call ast.CallExpr, in int) {
	name := call.FunctionName()
	if name == "has" && e.Kind() == ast.SelectKind {
		p.operator = name
		// What it tests, whatever is there.
		sel := e.AsSelect()
		p.tests = b.flows[sel.Operand().ID()].child(trailKey, sel.FieldName(), 0)
		b.path(p, sel.Operand(), in)
		return
	}
	p.operator = name
	if e.Kind() == ast.ComprehensionKind && b.loop(p, e.AsComprehension(), call, in) {
		return
	}
	// One that isn't a loop over the object, such as optMap.
	if call.IsMemberFunction() {
		if target, ok := b.nodes[call.Target().ID()]; ok {
			p.operands = b.pieces([]ast.Expr{target}, in)
		}
	}
}

// loop is a macro that goes over a list or map; false if it isn't known.
func (b *pieceBuilder) loop(p *piece, c ast.ComprehensionExpr, call ast.CallExpr, in int) bool {
	variables := 1
	if c.HasIterVar2() {
		variables = 2
	}
	args := call.Args()
	if len(args) <= variables || len(args) > variables+2 {
		return false
	}
	var bodies []ast.Expr
	for _, a := range args[variables:] {
		body, ok := b.nodes[a.ID()]
		if !ok {
			return false
		}
		bodies = append(bodies, body)
	}
	l := &macroLoop{over: b.piece(c.IterRange(), in), scope: len(b.layout.scopes)}
	switch name := call.FunctionName(); name {
	case "exists", "all", "exists_one", "existsOne", "filter":
		if len(bodies) != 1 {
			return false
		}
	case "map", "transformList", "transformMap", "transformMapEntry":
	default:
		return false
	}
	b.layout.scopes = append(b.layout.scopes, loopScope{parent: in, loop: p})
	b.layout.steps[c.LoopStep().ID()] = l.scope
	l.elements = b.flows[c.IterRange().ID()].child(trailAny, "", 0)
	switch name := call.FunctionName(); {
	case name == "map" || len(name) > 9 && name[:9] == "transform":
		p.boolean = false
		if len(bodies) == 2 {
			l.condition = b.piece(bodies[0], l.scope)
		}
		l.result = b.piece(bodies[len(bodies)-1], l.scope)
	default:
		p.boolean = name != "filter"
		l.condition = b.piece(bodies[0], l.scope)
	}
	inner := map[int64]bool{} // nodes of loops in this one
	ast.PreOrderVisit(c.LoopStep(), ast.NewExprVisitor(func(n ast.Expr) {
		if n.Kind() == ast.ComprehensionKind {
			inside := ast.NewExprVisitor(func(n ast.Expr) { inner[n.ID()] = true })
			for _, part := range [...]ast.Expr{n.AsComprehension().LoopCondition(), n.AsComprehension().LoopStep(), n.AsComprehension().Result()} {
				ast.PreOrderVisit(part, inside)
			}
		}
		if !l.hasKey && !inner[n.ID()] && n.Kind() == ast.IdentKind && n.AsIdent() == c.IterVar() {
			l.key, l.hasKey = b.keep(n.ID(), l.scope), true
		}
	}))
	p.loop = l
	return true
}
