package celexpr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// PathIssue is an issue of one program among several.
type PathIssue struct {
	Program int
	Issue
}

// LintPaths returns the paths through a value that has no parts: one that an
// expression of the same predicate compares with a text, number or bool, or one
// of an object's metadata that is a text by definition. Such a path has a value
// in no object, which reads as missing data for ever.
func LintPaths(programs []*Program) []PathIssue {
	scalars := map[string]string{}
	for _, p := range programs {
		for path, why := range p.scalars() {
			if _, ok := scalars[path]; !ok {
				scalars[path] = why
			}
		}
	}
	var out []PathIssue
	for i, p := range programs {
		for _, issue := range p.throughScalars(scalars) {
			out = append(out, PathIssue{i, issue})
		}
	}
	return out
}

// scalars returns the paths of the object that the expression compares with a
// literal.
func (p *Program) scalars() map[string]string {
	out := map[string]string{}
	note := func(x ast.Expr, values ...ast.Expr) {
		c := p.env.path(x)
		if c.root != rootObject || len(c.parts) == 0 {
			return
		}
		for _, v := range values {
			if l, ok := literal(v); ok && kindOf(l) != "null" {
				out[c.String()] = "it is compared with " + constantText(l)
				return
			}
		}
	}
	ast.PreOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_":
			note(args[0], args[1])
			note(args[1], args[0])
		case "@in":
			if args[1].Kind() == ast.ListKind {
				note(args[0], args[1].AsList().Elements()...)
			}
		}
	}))
	return out
}

// throughScalars returns the selections of the parts of scalars.
func (p *Program) throughScalars(scalars map[string]string) []Issue {
	l := linter{env: p.env, ast: p.ast}
	ast.PreOrderVisit(l.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		operand := selected(e)
		if operand == nil {
			return
		}
		if _, value, ok := p.env.fallback(operand); ok && isScalar(value) {
			c := p.env.path(operand)
			if c.root == "" {
				return
			}
			l.warn(e, fmt.Sprintf("a part of %s is selected, which falls back to a value without parts", c), "give orValue a map: .orValue({})")
			return
		}
		c := p.env.path(operand)
		if c.root != rootObject || len(c.parts) == 0 {
			return
		}
		why, ok := scalars[c.String()]
		if !ok {
			if why, ok = scalarOfMetadata(c); !ok {
				return
			}
		}
		hint := ""
		if last := c.parts[len(c.parts)-1]; inMetadataMap(c) && last.value != nil {
			hint = fmt.Sprintf("write a key with dots in brackets: ['%v.%s…']", last.value, p.env.path(e).last())
		}
		l.warn(e, fmt.Sprintf("%s has no parts (%s): this is missing in every object", c, why), hint)
	}))
	slices.SortStableFunc(l.issues, func(a, b Issue) int { return a.Line*1000 + a.Column - b.Line*1000 - b.Column })
	return slices.CompactFunc(l.issues, func(a, b Issue) bool { return a.Line == b.Line && a.Column == b.Column })
}

// selected returns what a selection selects of, nil if it is none.
func selected(e ast.Expr) ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand()
	case ast.CallKind:
		switch e.AsCall().FunctionName() {
		case "_?._", "_[_]", "_[?_]":
			return e.AsCall().Args()[0]
		}
	}
	return nil
}

func isScalar(e ast.Expr) bool {
	_, ok := literal(e)
	return ok
}

// scalarOfMetadata reports whether a path is one that has no parts in any object.
func scalarOfMetadata(c chain) (why string, ok bool) {
	names := make([]string, len(c.parts))
	for i, p := range c.parts {
		names[i], _ = p.value.(string)
	}
	switch path := strings.Join(names, "."); path {
	case "apiVersion", "kind":
		return "it is a text", true
	case "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generateName",
		"metadata.creationTimestamp", "metadata.deletionTimestamp":
		return "it is a text", true
	case "metadata.generation", "metadata.deletionGracePeriodSeconds":
		return "it is a number", true
	}
	if len(names) == 3 && names[0] == "metadata" && (names[1] == "labels" || names[1] == "annotations") {
		return "values of " + names[1] + " are texts", true
	}
	return "", false
}
