package celexpr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Ordinary conditions (has, comparisons, &&, ||, !, in, exists over a list, what
// condition() says) are run without cel-go, whose every step makes values of its
// own. A fused program knows the outcome or that it doesn't: then cel-go evaluates
// the whole expression anew, which can be done since evaluating changes nothing. So
// only what is certain is here, and everything else means what it means in cel-go.

// outcome is what evaluating a fused expression gave.
type outcome uint8

const (
	unsure outcome = iota // cel-go must evaluate it
	no                    // false
	yes                   // true; of operands: there is one
	fault                 // an error
)

func outcomeOf(b bool) outcome {
	if b {
		return yes
	}
	return no
}

// test is a fused expression of type bool.
type test interface {
	test(ev *Evaluation) (outcome, *Error)
}

// source is a fused expression of any type. Its outcome is yes, unsure or fault.
type source interface {
	operand(ev *Evaluation) (operand, outcome, *Error)
}

// fuser fuses one program's expression.
type fuser struct {
	program *Program
	// locals are the variables of the loops around, the innermost last.
	locals []string
}

// fuse returns the fused form of a condition, nil if it has none.
func fuse(p *Program) test {
	if p.env.compiler.unfused {
		return nil
	}
	f := fuser{program: p}
	return f.condition(p.ast.Expr())
}

// fuseVariable returns the fused form of a variable, nil if it has none.
func fuseVariable(p *Program) source {
	if p.env.compiler.unfused {
		return nil
	}
	f := fuser{program: p}
	return f.source(p.ast.Expr())
}

// condition fuses an expression of type bool.
func (f *fuser) condition(e ast.Expr) test {
	if t := f.boolean(e); t != nil {
		return t
	}
	if s := f.source(e); s != nil {
		return &truth{s}
	}
	return nil
}

// boolean fuses an expression that can't be of another type.
func (f *fuser) boolean(e ast.Expr) test {
	switch e.Kind() {
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return constantTest(outcomeOf(bool(b)))
		}
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			if p := f.path(e); p != nil {
				return &presence{p}
			}
			return nil
		}
	case ast.CallKind:
		return f.call(e)
	case ast.ComprehensionKind:
		return f.loop(e)
	}
	return nil
}

func (f *fuser) call(e ast.Expr) test {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd, operators.LogicalOr:
		return f.junction(e, name)
	case operators.LogicalNot:
		if t := f.condition(args[0]); t != nil {
			return &negation{t}
		}
	case operators.Equals, operators.NotEquals:
		return f.comparison(args, name)
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return f.comparison(args, name)
	case operators.In:
		return f.membership(args)
	case "isTrue":
		if typ, ok := f.conditionCall(e); ok {
			return &conditionTrue{typ}
		}
	case "hasValue":
		if call.IsMemberFunction() {
			if p := f.path(call.Target()); p != nil && p.isOptional() {
				return &optionalPresence{p}
			}
		}
	case "startsWith", "endsWith", "contains":
		if call.IsMemberFunction() && len(args) == 1 {
			text, part := f.source(call.Target()), f.source(args[0])
			if text != nil && part != nil {
				return &textTest{text: text, part: part, function: name}
			}
		}
	}
	return nil
}

// junction fuses a chain of && or ||.
func (f *fuser) junction(e ast.Expr, operator string) test {
	j := &junction{decides: no}
	if operator == operators.LogicalOr {
		j.decides = yes
	}
	fused := false
	var add func(e ast.Expr) bool
	add = func(e ast.Expr) bool {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operator {
			for _, arg := range e.AsCall().Args() {
				if !add(arg) {
					return false
				}
			}
			return true
		}
		t := f.condition(e)
		if t == nil && len(f.locals) == 0 {
			t = newUnfused(f.program, e)
		} else if t != nil {
			fused = true
		}
		j.terms = append(j.terms, t)
		return t != nil
	}
	if !add(e) || !fused {
		return nil
	}
	return j
}

func (f *fuser) comparison(args []ast.Expr, operator string) test {
	left, right := f.source(args[0]), f.source(args[1])
	if left == nil || right == nil {
		return nil
	}
	if literal, ok := right.(constantSource); ok && literal.kind == operandText {
		if p, ok := left.(*path); ok && !p.isOptional() {
			switch operator {
			case operators.Equals:
				return &textEquality{path: p, text: literal.text}
			case operators.NotEquals:
				return &textEquality{path: p, text: literal.text, negated: true}
			}
		}
	}
	switch operator {
	case operators.Equals:
		return &equality{left: left, right: right}
	case operators.NotEquals:
		return &equality{left: left, right: right, negated: true}
	}
	o := &ordering{left: left, right: right}
	o.less = operator == operators.Less || operator == operators.LessEquals
	o.same = operator == operators.LessEquals || operator == operators.GreaterEquals
	return o
}

// membership fuses x in ['a', 'b'], and x in a list or map of the object.
func (f *fuser) membership(args []ast.Expr) test {
	elem := f.source(args[0])
	if elem == nil {
		return nil
	}
	if args[1].Kind() != ast.ListKind {
		if p := f.path(args[1]); p != nil && !p.isOptional() {
			return &contained{elem: elem, in: p}
		}
		return nil
	}
	m := &membership{elem: elem}
	for _, e := range args[1].AsList().Elements() {
		if e.Kind() != ast.LiteralKind {
			return nil
		}
		o := valueOperand(e.AsLiteral())
		if o.kind == operandOther || len(args[1].AsList().OptionalIndices()) > 0 {
			return nil
		}
		m.list = append(m.list, o)
	}
	return m
}

// source fuses an expression of any type.
func (f *fuser) source(e ast.Expr) source {
	switch e.Kind() {
	case ast.LiteralKind:
		if o := valueOperand(e.AsLiteral()); o.kind != operandOther {
			return constantSource(o)
		}
		return nil
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case "orValue":
			if !call.IsMemberFunction() || len(call.Args()) != 1 {
				return nil
			}
			p, or := f.path(call.Target()), f.source(call.Args()[0])
			if p == nil || or == nil || !p.isOptional() {
				return nil
			}
			return &fallback{path: p, or: or}
		case "size":
			if p := f.sized(call); p != nil {
				return &sizeOf{p}
			}
			return nil
		case operators.Conditional:
			args := call.Args()
			c, t, or := f.condition(args[0]), f.source(args[1]), f.source(args[2])
			if c == nil || t == nil || or == nil {
				return nil
			}
			return &choice{condition: c, yes: t, no: or}
		case operators.Add, operators.Subtract:
			left, right := f.source(call.Args()[0]), f.source(call.Args()[1])
			if left == nil || right == nil {
				return nil
			}
			return &sum{left: left, right: right, negated: call.FunctionName() == operators.Subtract}
		}
	case ast.SelectKind:
		sel := e.AsSelect()
		if typ, ok := f.conditionCall(sel.Operand()); ok && !sel.IsTestOnly() {
			if _, known := conditionFieldOf(sel.FieldName()); known {
				return &conditionPart{typ: typ, field: sel.FieldName()}
			}
		}
	}
	if p := f.path(e); p != nil && !p.isOptional() && !p.presence {
		if p.root == rootedInVariable && len(p.parts) == 1 {
			if typ, ok := f.conditionVariable(p.slot); ok && !p.parts[0].isIndex && !p.inLoop {
				return &conditionPart{typ: typ, field: p.parts[0].name}
			}
		}
		return p
	}
	if t := f.boolean(e); t != nil {
		return &answer{t}
	}
	return nil
}

// conditionVariable returns the type of a variable that is condition(object, 'type').
func (f *fuser) conditionVariable(slot int) (string, bool) {
	p := f.program.env.variables[slot].program
	other := fuser{program: p}
	e := p.ast.Expr()
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "condition" {
		return "", false
	}
	return other.conditionCall(e)
}

// sized returns the path of size(path) and path.size().
func (f *fuser) sized(call ast.CallExpr) *path {
	var of ast.Expr
	switch {
	case call.IsMemberFunction() && len(call.Args()) == 0:
		of = call.Target()
	case !call.IsMemberFunction() && len(call.Args()) == 1:
		of = call.Args()[0]
	default:
		return nil
	}
	p := f.path(of)
	if p == nil || p.isOptional() || p.presence {
		return nil
	}
	return p
}

// conditionCall returns the type of condition(object, 'type') and isTrue(object,
// 'type'), where object is the variable.
// Within a loop it isn't fused: it goes through the conditions each time.
func (f *fuser) conditionCall(e ast.Expr) (string, bool) {
	if e.Kind() != ast.CallKind || len(f.locals) > 0 {
		return "", false
	}
	call := e.AsCall()
	if name := call.FunctionName(); name != "condition" && name != "isTrue" || call.IsMemberFunction() || len(call.Args()) != 2 {
		return "", false
	}
	p, typ := f.path(call.Args()[0]), call.Args()[1]
	if p == nil || p.root != rootedInObject || len(p.parts) > 0 || typ.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := typ.AsLiteral().(types.String)
	return string(text), ok
}
