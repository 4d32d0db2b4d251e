package celexpr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// Missing says what was missing, by its path where that can be had:
// "object.status.detail (no such key: detail)". It must be called before the evaluation is
// closed, and is slow: the expression is parsed again.
func (e *Error) Missing(ev *Evaluation) string {
	path := e.path(ev)
	if path == "" {
		return e.Error()
	}
	return path + " (" + e.Message + ")"
}

// path returns the path that failed, up to the first part that isn't there.
func (e *Error) path(ev *Evaluation) string {
	if e.program == nil || e.node <= 0 {
		return ""
	}
	parsed, issues := e.program.cel.Parse(e.program.source)
	if issues.Err() != nil {
		return ""
	}
	var found ast.Expr
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(n ast.Expr) {
		if n.ID() == e.node && found == nil {
			found = n
		}
	}))
	if found == nil {
		return ""
	}
	_, key, _ := strings.Cut(e.Message, ": ")
	if found.Kind() == ast.CallKind && found.AsCall().FunctionName() == "value" {
		found = found.AsCall().Target() // of an optional
	}
	c := chainOf(found)
	if c.root == "" {
		return ""
	}
	return c.upTo(c.firstMissing(ev, key))
}

// chain is a path through values: a root and the parts selected of it.
type chain struct {
	root  string
	parts []part
}

// part is one selection. value is nil if it isn't a constant.
type part struct{ value any }

// chainOf takes an expression apart; the root is empty if it is no path.
func chainOf(e ast.Expr) chain {
	switch e.Kind() {
	case ast.IdentKind:
		return chain{root: e.AsIdent()}
	case ast.SelectKind:
		sel := e.AsSelect()
		return chainOf(sel.Operand()).with(part{sel.FieldName()})
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case "_?._", "_[_]", "_[?_]":
			if len(args) == 2 {
				return chainOf(args[0]).with(part{constant(args[1])})
			}
		case "condition":
			return chain{root: "condition(…)"}
		}
	}
	return chain{}
}

func (c chain) with(p part) chain {
	if c.root != "" {
		c.parts = append(c.parts, p)
	}
	return c
}

func constant(e ast.Expr) any {
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	return e.AsLiteral().Value()
}

// firstMissing returns the number of the part that isn't there: by looking at the
// object, or else by its key.
func (c chain) firstMissing(ev *Evaluation, key string) int {
	if c.root == rootObject {
		var v any = ev.object
		if ev.typed {
			v = ev.root.v
		}
		for i, p := range c.parts {
			next, ok := step(v, p.value)
			if !ok {
				return i
			}
			v = next
		}
	}
	for i, p := range c.parts {
		if p.value != nil && fmt.Sprint(p.value) == key {
			return i
		}
	}
	return len(c.parts) - 1
}

// step selects a part of a value in JSON form.
func step(v, selector any) (any, bool) {
	if view, ok := v.(jsonform.Value); ok {
		return stepView(view, selector)
	}
	switch s := selector.(type) {
	case string:
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		next, ok := m[s]
		return next, ok
	case int64:
		l, ok := v.([]any)
		if !ok || s < 0 || s >= int64(len(l)) {
			return nil, false
		}
		return l[s], true
	}
	return nil, false
}

func stepView(v jsonform.Value, selector any) (any, bool) {
	var next jsonform.Value
	switch s := selector.(type) {
	case string:
		next = v.Field(s)
	case int64:
		next = v.Index(int(s))
	}
	return next, next.Kind() != jsonform.Absent
}

// upTo writes the path as far as the part of that number.
func (c chain) upTo(last int) string {
	var b strings.Builder
	b.WriteString(c.root)
	for i, p := range c.parts {
		if i > last {
			break
		}
		switch v := p.value.(type) {
		case string:
			if checkIdentifier(v) == nil {
				b.WriteString("." + v)
			} else {
				b.WriteString("['" + v + "']")
			}
		case nil:
			b.WriteString("[…]")
		case int64:
			b.WriteString("[" + strconv.FormatInt(v, 10) + "]")
		case ref.Val:
			fmt.Fprintf(&b, "[%v]", v.Value())
		default:
			fmt.Fprintf(&b, "[%v]", v)
		}
	}
	return b.String()
}
