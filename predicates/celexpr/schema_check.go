package celexpr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// A schema only refuses. Each expression is checked with it first, for issues;
// what runs is always the expression as checked without it, so that no verdict
// depends on whether a schema was at hand.
//
// That check is stricter than evaluation in places where the latter gives a sound
// result: it doesn't compare 1 with 1.0 nor anything with null, wants both ends of
// ?: to be of one type, and takes no object for the map that it is. Its errors
// there are passed over; see runsAllTheSame.

// WithSchemas has expressions checked against schemas of object, one for each
// version that it may be of.
func WithSchemas(of ...*schemas.Schema) Option {
	return func(o *options) { o.schemas = append(o.schemas, of...) }
}

// finding is what a schema says of an expression.
type finding struct {
	Issue
	// field: object has no such field in this version; tested: the expression asks
	// whether it is there.
	field, tested bool
	warning       bool
}

// schemaCheck is what the schemas say of an expression.
type schemaCheck struct {
	issues, warnings []Issue
	// types and enums are those of its value, one for each schema.
	types  []*cel.Type
	enums  [][]string
	values []*schemas.Type
	// estimate is the highest of what it may cost, by each schema.
	estimate estimate
}

// checkSchemas checks a parsed expression with each schema. It leaves it as it is.
func (e *Environment) checkSchemas(parsed *ast.AST, source common.Source, want Output, isVariable bool) schemaCheck {
	var out schemaCheck
	var all [][]finding
	for _, scope := range e.kinds {
		tree := byField(ast.Copy(parsed))
		checked, errs := e.compiler.checkers.check(tree, source, scope)
		k := kindCheck{scope: scope, ast: checked, source: source, nodes: nodesOf(checked)}
		findings := k.findings(errs)
		t := outputType(checked)
		if len(errs) == 0 {
			if issue := outputIssue(checked, want); issue != nil {
				findings = append(findings, finding{Issue: *issue})
			}
		}
		if t.Kind() == types.ErrorKind {
			t = cel.DynType
		}
		out.types = append(out.types, t)
		out.enums = append(out.enums, k.enumOf(checked.Expr()))
		values := scope.valuesOf(checked.Expr())
		out.values = append(out.values, values[checked.Expr().ID()])
		if len(findings) == 0 && hasBounds(values) && needsBounds(checked, isVariable) {
			if estimate := k.estimate(values); estimate.cost > out.estimate.cost {
				out.estimate = estimate
			}
		}
		all = append(all, append(findings, k.foreignValues()...))
	}
	out.merge(all, e.kinds)
	return out
}

// merge makes one report of those of all versions. Where a field is there in one
// version and not in another, an expression may well be meant to read whichever
// there is.
func (c *schemaCheck) merge(all [][]finding, scopes []*kindScope) {
	for i, findings := range all {
		for _, f := range findings {
			others := 0
			for _, other := range all {
				if slices.ContainsFunc(other, func(g finding) bool { return g.Line == f.Line && g.Column == f.Column }) {
					others++
				}
			}
			if others < len(all) {
				if f.tested {
					continue
				}
				f.Message += " in " + scopes[i].label()
				f.warning = f.warning || f.field
			}
			to := &c.issues
			if f.warning {
				to = &c.warnings
			}
			if !slices.ContainsFunc(*to, func(g Issue) bool { return g.Line == f.Line && g.Column == f.Column }) {
				*to = append(*to, f.Issue)
			}
		}
	}
	sortIssues(c.issues)
	sortIssues(c.warnings)
}

func sortIssues(issues []Issue) {
	slices.SortStableFunc(issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// byField writes x['name'] as x.name and x[?'name'] as x.?name, which is the same
// for a map, and can be checked for an object.
func byField(a *ast.AST) *ast.AST {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		args := call.Args()
		if len(args) != 2 {
			return
		}
		name, ok := constant(args[1]).(string)
		switch {
		case !ok:
		case call.FunctionName() == "_[_]":
			e.SetKindCase(factory.NewSelect(e.ID(), args[0], name))
		case call.FunctionName() == "_[?_]":
			e.SetKindCase(factory.NewCall(e.ID(), "_?._", args...))
		}
	}))
	return a
}

// kindCheck reads the result of a check with one schema.
type kindCheck struct {
	scope  *kindScope
	ast    *ast.AST
	source common.Source
	nodes  map[int64]ast.NavigableExpr
}

// findings translates the checker's errors, and leaves out those that also come
// without a schema, or are of what runs all the same.
func (k *kindCheck) findings(errs []*common.Error) []finding {
	var out []finding
	for _, err := range sorted(errs) {
		node := k.nodes[err.ExprID]
		f := finding{Issue: located(err)}
		if field, ok := quoted(undefinedField, err.Message); ok {
			if node == nil || !k.noField(&f, node, field) {
				continue
			}
			out = append(out, f)
			continue
		}
		message := err.Message
		switch {
		case strings.HasPrefix(message, "found no matching overload for '"):
			name, args, _ := strings.Cut(strings.TrimPrefix(message, "found no matching overload for '"), "' applied to '")
			args = strings.TrimSuffix(args, "'")
			if runsAllTheSame(name, args) {
				continue
			}
			f.Message, f.Hint = noOverload(name, plainObjects(args))
			if strings.Contains(args, "timestamp") && strings.Contains(args, "string") {
				f.Hint = "dates are texts here: write timestamp(…)"
			}
		case strings.HasSuffix(message, "does not support field selection"):
			t, _ := quoted(noSelection, message)
			f.Message, f.Hint = fmt.Sprintf("%s has no fields", article(plainObjects(t))), ""
			if strings.HasPrefix(t, "list(") {
				f.Hint = "name an element, [0], or loop: .exists(x, x.name == '')"
			}
			f.skip(k.source, ".?[ ")
		case strings.HasPrefix(message, "expected type 'bool' but found '"):
			t := strings.TrimSuffix(strings.TrimPrefix(message, "expected type 'bool' but found '"), "'")
			f.Message, f.Hint = fmt.Sprintf("want a condition, this is %s", article(plainObjects(t))), "write a comparison"
		case strings.Contains(message, "cannot be range of a comprehension"):
			t, _ := quoted(noRange, message)
			if strings.HasPrefix(t, objectMark) {
				continue
			}
			f.Message, f.Hint = fmt.Sprintf("%s can't be looped over", article(t)), ""
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// plainObjects puts "object" in the place of the names of types with fields.
func plainObjects(text string) string { return objectName.ReplaceAllString(text, "object") }

func article(typ string) string {
	if strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "object") || strings.HasPrefix(typ, "optional") {
		return "an " + typ
	}
	return "a " + typ
}

// runsAllTheSame reports whether a call that the checker refuses gives a sound
// result when it runs. args is cel-go's signature.
func runsAllTheSame(function, args string) bool {
	list := splitArgs(args)
	object := func(t string) bool { return strings.HasPrefix(t, objectMark) }
	container := func(t string) bool {
		return object(t) || strings.HasPrefix(t, "list(") || strings.HasPrefix(t, "map(")
	}
	number := func(t string) bool { return t == "int" || t == "uint" || t == "double" }
	switch function {
	case "_?_:_", "orValue", "or", "format":
		return true
	case "_==_", "_!=_":
		if len(list) != 2 {
			return true
		}
		a, b := list[0], list[1]
		return a == "null" || b == "null" || number(a) && number(b) || container(a) && container(b)
	case "@in":
		if len(list) != 2 {
			return true
		}
		elem, isList := strings.CutPrefix(list[1], "list(")
		elem = strings.TrimSuffix(elem, ")")
		switch {
		case object(list[1]):
			return list[0] == "string"
		case isList:
			return runsAllTheSame("_==_", "("+list[0]+", "+elem+")")
		}
	case "_[_]", "_[?_]", "size":
		// Of an object by a name that isn't written out, as of a map.
		return len(list) > 0 && object(strings.TrimPrefix(list[0], "optional_type("))
	}
	return false
}

// splitArgs takes "(string, map(string, int))" and "string.(int)" apart.
func splitArgs(args string) []string {
	var out []string
	target, rest, member := strings.Cut(args, ".(")
	if member && !strings.HasPrefix(args, "(") {
		out, args = append(out, target), "("+rest
	}
	args = strings.TrimSuffix(strings.TrimPrefix(args, "("), ")")
	depth, start := 0, 0
	for i, r := range args {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(args[start:i]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(args[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}
