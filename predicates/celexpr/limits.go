package celexpr

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"github.com/donewhen/donewhen/predicates/internal/document"
)

// Bounds of what an unbounded program may do: one that counts no cost and isn't
// interrupted, and is several times faster for it.
const (
	maxWrittenSteps = 10_000 // steps of loops over lists that are written out
	maxTextCalls    = 4      // calls that walk over a text or a list
	maxWholeCalls   = 100    // calls that may compare or go through whole lists: some ms at most each
)

// maxPattern bounds the size of a regular expression's program.
const maxPattern = 5_000

// needsBounds reports whether a program must count its cost and be interruptible:
// if it loops over a list that isn't written out, or over lists within lists that
// are, uses a regular expression, or can multiply text. In a variable plain
// concatenation counts too, since variables that use one another double a text
// with each step.
func needsBounds(a *ast.AST, isVariable bool) bool {
	b := bounds{ast: a, isVariable: isVariable}
	b.visit(a.Expr(), 1)
	return b.needed || b.textCalls > maxTextCalls || b.wholeCalls > maxWholeCalls
}

type bounds struct {
	ast        *ast.AST
	isVariable bool
	needed     bool
	textCalls  int
	wholeCalls int
}

// visit looks at a part of the program that runs the given number of times.
func (b *bounds) visit(e ast.Expr, times int) {
	if b.needed {
		return
	}
	switch e.Kind() {
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		b.visit(c.IterRange(), times)
		inner := times * max(1, written(c.IterRange()))
		if written(c.IterRange()) < 0 || inner > maxWrittenSteps {
			b.needed = true
			return
		}
		b.visit(c.AccuInit(), times)
		b.visit(c.LoopCondition(), inner)
		b.visit(c.LoopStep(), inner)
		b.visit(c.Result(), times)
		return
	case ast.CallKind:
		switch name := e.AsCall().FunctionName(); name {
		case "matches", "find", "findAll", "replace", "join", "sort", "distinct", "lists.range",
			"sets.contains", "sets.equivalent", "sets.intersects":
			b.needed = true
		case "_+_", "format":
			if growsText(b.ast, e.ID()) {
				b.needed = b.needed || b.isVariable
				b.textCalls += times
			}
		default:
			if walks(name) {
				b.textCalls += times
			}
			if wholly(e.AsCall()) {
				b.wholeCalls += times
			}
		}
	}
	for _, child := range children(e) {
		b.visit(child, times)
	}
}

// written returns the number of elements of a list or map that is written out, -1
// for any other. Loops that the macros of optionals make go over an empty list.
func written(e ast.Expr) int {
	switch e.Kind() {
	case ast.ListKind:
		return e.AsList().Size()
	case ast.MapKind:
		return e.AsMap().Size()
	}
	return -1
}

// walks reports whether a function goes over the whole of a text or a list, or
// makes a new one.
func walks(function string) bool {
	switch function {
	case "lowerAscii", "upperAscii", "reverse", "trim", "split", "substring", "charAt", "indexOf", "lastIndexOf",
		"contains", "strings.quote", "bytes", "flatten", "slice", "isSorted", "sum", "min", "max", "url", "isURL",
		"quantity", "isQuantity", "semver", "isSemver", "validate":
		return true
	}
	return false
}

// wholly reports whether a call may go through all of two lists, maps or texts, or
// through all of an object's conditions. What is compared with a scalar that is
// written out isn't such.
func wholly(call ast.CallExpr) bool {
	scalar := func(e ast.Expr) bool { return e.Kind() == ast.LiteralKind }
	switch args := call.Args(); call.FunctionName() {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return !slices.ContainsFunc(args, scalar)
	case operators.In:
		return written(args[1]) < 0
	case "startsWith", "endsWith":
		return !slices.ContainsFunc(args, scalar)
	case "size", "condition", "isTrue", overloads.TypeConvertString, overloads.TypeConvertInt, overloads.TypeConvertDouble,
		overloads.TypeConvertDuration, overloads.TypeConvertTimestamp:
		return true
	}
	return false
}

// growsText reports whether a call may join texts or lists, rather than add numbers.
func growsText(a *ast.AST, id int64) bool {
	ref, ok := a.ReferenceMap()[id]
	if !ok {
		return true
	}
	for _, overload := range ref.OverloadIDs {
		switch overload {
		case "add_int64", "add_uint64", "add_double", "add_duration_duration",
			"add_duration_timestamp", "add_timestamp_duration":
		default:
			return true
		}
	}
	return false
}

// limitIssues returns what in a parsed expression is refused for what it could
// cost: regular expressions that come from the object or are too large, and constant
// quantities beyond all measure.
func (e *Environment) limitIssues(parsed *ast.AST) []Issue {
	p := patterns{env: e, ast: parsed}
	p.visit(parsed.Expr(), nil)
	return p.issues
}

// patterns looks for regular expressions and quantities in one expression.
type patterns struct {
	env    *Environment
	ast    *ast.AST
	issues []Issue
}

// visit knows the loop variables in scope whose values come from the object.
func (p *patterns) visit(e ast.Expr, fromObject []string) {
	switch e.Kind() {
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		p.visit(c.IterRange(), fromObject)
		inner := slices.Clip(fromObject)
		if p.reads(c.IterRange(), fromObject) {
			inner = append(inner, c.IterVar(), c.IterVar2())
		}
		for _, part := range []ast.Expr{c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			p.visit(part, inner)
		}
		return
	case ast.CallKind:
		switch call := e.AsCall(); call.FunctionName() {
		case "matches", "find", "findAll":
			args := children(e)
			if len(args) > 1 {
				p.pattern(args[1], fromObject)
			}
		case "quantity", "isQuantity":
			if args := call.Args(); len(args) == 1 {
				p.quantity(args[0])
			}
		}
	}
	for _, child := range children(e) {
		p.visit(child, fromObject)
	}
}

// quantity refuses constants that would take all memory as soon as constants are
// computed.
func (p *patterns) quantity(e ast.Expr) {
	v, _ := literal(e)
	if text, ok := v.(types.String); ok {
		if err := document.CheckQuantity(string(text)); err != nil {
			issue := startOf(p.ast, e)
			issue.Message = err.Error()
			p.issues = append(p.issues, issue)
		}
	}
}

func (p *patterns) pattern(e ast.Expr, fromObject []string) {
	issue := startOf(p.ast, e)
	if v, ok := literal(e); ok {
		text, _ := v.(types.String)
		if size := patternSize(string(text)); size > maxPattern {
			issue.Message = fmt.Sprintf("the regular expression has some %d steps, more than %d", size, maxPattern)
			issue.Hint = "use smaller repetitions, such as a* for a{1,1000}"
			p.issues = append(p.issues, issue)
		}
		return
	}
	if p.reads(e, fromObject) {
		issue.Message = "the regular expression comes from the object, which may hold any"
		issue.Hint = "write it out, or take it from a param"
		p.issues = append(p.issues, issue)
	}
}

// reads reports whether an expression's value comes from the object.
func (p *patterns) reads(e ast.Expr, fromObject []string) bool {
	seen := map[string]bool{}
	var visit func(e ast.Expr) bool
	visit = func(e ast.Expr) bool {
		switch e.Kind() {
		case ast.IdentKind:
			name := e.AsIdent()
			if name == rootObject || slices.Contains(fromObject, name) {
				return true
			}
			variable, ok := strings.CutPrefix(name, rootVariables+".")
			if !ok || seen[variable] {
				return false
			}
			seen[variable] = true
			v := p.env.Variable(variable)
			return v != nil && visit(v.ast.Expr())
		case ast.SelectKind:
			if s := e.AsSelect(); s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == rootVariables && !seen[s.FieldName()] {
				seen[s.FieldName()] = true
				v := p.env.Variable(s.FieldName())
				return v != nil && visit(v.ast.Expr())
			}
		}
		return slices.ContainsFunc(children(e), visit)
	}
	return visit(e)
}

// patternSize returns about how many instructions a regular expression takes, 0
// if it isn't one. Nothing is compiled for it: a{1000} is a thousand of them.
func patternSize(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return regexSize(re)
}

func regexSize(re *syntax.Regexp) int {
	const enough = 1 << 30
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCharClass:
		size = 1 + len(re.Rune)/64
	}
	for _, sub := range re.Sub {
		size += regexSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, enough)
}
