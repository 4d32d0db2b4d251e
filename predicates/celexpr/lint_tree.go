package celexpr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Helpers to read expressions' trees.

// children returns an expression's parts.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var out []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return out
	case ast.StructKind:
		var out []ast.Expr
		for _, field := range e.AsStruct().Fields() {
			out = append(out, field.AsStructField().Value())
		}
		return out
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}
	}
	return nil
}

// call returns the arguments of a call of the function, a target first; nil if it
// is none.
func call(e ast.Expr, function string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return nil
	}
	return children(e)
}

// operands returns the operands of a chain of && or ||.
func operands(e ast.Expr, operator string) []ast.Expr {
	args := call(e, operator)
	if args == nil {
		return []ast.Expr{e}
	}
	return append(operands(args[0], operator), operands(args[1], operator)...)
}

// definition returns what a variable stands for, and other expressions as they are.
func (e *Environment) definition(x ast.Expr) ast.Expr {
	const deepest = 16
	for range deepest {
		if x.Kind() != ast.IdentKind {
			return x
		}
		root, name, _ := strings.Cut(x.AsIdent(), ".")
		if root != rootVariables {
			return x
		}
		program := e.Variable(name)
		if program == nil {
			return x
		}
		x = program.ast.Expr()
	}
	return x
}

// fallback takes X.orValue(d) apart, also behind variables.
func (e *Environment) fallback(x ast.Expr) (optional, value ast.Expr, ok bool) {
	args := call(e.definition(x), "orValue")
	if len(args) != 2 {
		return nil, nil, false
	}
	return args[0], args[1], true
}

// literal returns a literal's value, of int, uint and double alike as one type.
func literal(e ast.Expr) (ref.Val, bool) {
	switch {
	case e.Kind() == ast.LiteralKind:
		return e.AsLiteral(), true
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "-_":
		if v, ok := literal(e.AsCall().Args()[0]); ok {
			switch n := v.(type) {
			case types.Int:
				return -n, true
			case types.Double:
				return -n, true
			}
		}
	}
	return nil, false
}

// literals returns the values of a list that is written out.
func literals(e ast.Expr) ([]ref.Val, bool) {
	if e.Kind() != ast.ListKind {
		return nil, false
	}
	var out []ref.Val
	for _, element := range e.AsList().Elements() {
		v, ok := literal(element)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

func contains(list []ref.Val, v ref.Val) bool {
	return slices.ContainsFunc(list, func(x ref.Val) bool { return x.Equal(v) == types.True })
}

// loop is a macro that goes over a range.
type loop struct {
	kind      string // all, exists, exists_one, filter, or empty
	ranges    ast.Expr
	predicate ast.Expr
}

// loopOf recognizes the macro that a comprehension was written as.
func loopOf(e ast.Expr) loop {
	if e.Kind() != ast.ComprehensionKind {
		return loop{}
	}
	c := e.AsComprehension()
	l := loop{ranges: c.IterRange()}
	step := c.LoopStep()
	if args := call(step, "_&&_"); args != nil && isLiteral(c.AccuInit(), types.True) {
		l.kind, l.predicate = "all", args[1]
	} else if args := call(step, "_||_"); args != nil && isLiteral(c.AccuInit(), types.False) {
		l.kind, l.predicate = "exists", args[1]
	} else if args := call(step, "_?_:_"); args != nil {
		l.predicate = args[0]
		switch {
		case c.AccuInit().Kind() == ast.ListKind:
			l.kind = "filter"
			if added := call(args[1], "_+_"); len(added) == 2 && !isIdent(added[1], c.IterVar()) {
				l.kind = "map"
			}
		case isLiteral(c.AccuInit(), types.IntZero):
			l.kind = "exists_one"
		}
	}
	return l
}

func isIdent(list ast.Expr, name string) bool {
	if list.Kind() != ast.ListKind || len(list.AsList().Elements()) != 1 {
		return false
	}
	e := list.AsList().Elements()[0]
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

func isLiteral(e ast.Expr, v ref.Val) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral().Equal(v) == types.True
}

// key writes an expression such that two that mean the same by their form alone
// have the same key: variables count as what they stand for.
func (e *Environment) key(x ast.Expr) string {
	var b strings.Builder
	e.writeKey(&b, x)
	return b.String()
}

// longestKey bounds a key; variables that double each other would make it endless.
const longestKey = 4 << 10

func (e *Environment) writeKey(b *strings.Builder, x ast.Expr) {
	if b.Len() > longestKey {
		// Nothing else has this key.
		fmt.Fprintf(b, "…%p", x)
		return
	}
	x = e.definition(x)
	switch x.Kind() {
	case ast.IdentKind:
		b.WriteString(x.AsIdent())
	case ast.LiteralKind:
		b.WriteString(valueKey(x.AsLiteral()))
	case ast.SelectKind:
		e.writeKey(b, x.AsSelect().Operand())
		b.WriteString("." + x.AsSelect().FieldName())
		if x.AsSelect().IsTestOnly() {
			b.WriteByte('?')
		}
	case ast.CallKind:
		name := x.AsCall().FunctionName()
		if args := x.AsCall().Args(); name == "_[_]" && args[1].Kind() == ast.LiteralKind {
			if s, ok := args[1].AsLiteral().Value().(string); ok {
				e.writeKey(b, args[0])
				b.WriteString("." + s)
				return
			}
		}
		b.WriteString(name)
		e.writeKeys(b, children(x))
	default:
		b.WriteString(strconv.Itoa(int(x.Kind())))
		if x.Kind() == ast.ComprehensionKind {
			b.WriteString(x.AsComprehension().IterVar() + " " + x.AsComprehension().IterVar2())
		}
		e.writeKeys(b, children(x))
	}
}

func (e *Environment) writeKeys(b *strings.Builder, list []ast.Expr) {
	b.WriteByte('(')
	for _, x := range list {
		e.writeKey(b, x)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}

func valueKey(v ref.Val) string { return fmt.Sprintf("%s:%v", v.Type().TypeName(), v.Value()) }

// path returns what an expression selects, with plain and optional steps alike;
// its root is empty if it is no path of constant steps.
func (e *Environment) path(x ast.Expr) chain { return e.pathWithin(x, maxParts) }

// maxParts bounds a path; no object is as deep.
const maxParts = 64

func (e *Environment) pathWithin(x ast.Expr, parts int) chain {
	if parts == 0 {
		return chain{}
	}
	x = e.definition(x)
	switch x.Kind() {
	case ast.IdentKind:
		return chain{root: x.AsIdent()}
	case ast.SelectKind:
		return e.pathWithin(x.AsSelect().Operand(), parts-1).with(part{x.AsSelect().FieldName()})
	case ast.CallKind:
		args := x.AsCall().Args()
		switch x.AsCall().FunctionName() {
		case "_?._", "_[_]", "_[?_]":
			if c := e.pathWithin(args[0], parts-1); args[1].Kind() == ast.LiteralKind {
				return c.with(part{constant(args[1])})
			}
		case "orValue", "value":
			return e.pathWithin(x.AsCall().Target(), parts-1)
		case "condition":
			return chain{root: "condition(…)"}
		}
	}
	return chain{}
}

// last returns the name that a path ends in.
func (c chain) last() string {
	if c.root == "" || len(c.parts) == 0 {
		return ""
	}
	s, _ := c.parts[len(c.parts)-1].value.(string)
	return s
}

func (c chain) String() string { return c.upTo(len(c.parts) - 1) }
