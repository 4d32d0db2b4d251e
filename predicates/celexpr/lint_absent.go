package celexpr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// absent finds what makes a condition true on data that isn't there: comparisons
// with a default that it doesn't equal, and all() over an empty list. positive is
// false below an odd number of negations. What stands beside in the same && (and)
// or || (or) may show that the author has thought of it.
func (l *linter) absent(e ast.Expr, positive bool, and, or []ast.Expr) {
	if e.Kind() == ast.ComprehensionKind {
		l.emptyList(e, positive, and)
		if m := loopOf(e); m.kind == "exists" && positive || m.kind == "all" && positive {
			l.absent(m.predicate, positive, nil, nil)
		}
		return
	}
	if e.Kind() != ast.CallKind {
		return
	}
	args := e.AsCall().Args()
	switch name := e.AsCall().FunctionName(); name {
	case "!_":
		l.absent(args[0], !positive, and, or)
	case "_&&_", "_||_":
		parts := operands(e, name)
		for i, part := range parts {
			others := slices.Concat(parts[:i], parts[i+1:])
			if (name == "_&&_") == positive {
				l.absent(part, positive, slices.Concat(and, others), nil)
			} else {
				l.absent(part, positive, and, slices.Concat(or, others))
			}
		}
	case "_?_:_":
		l.absent(args[1], positive, append(slices.Clip(and), args[0]), or)
		l.absent(args[2], positive, append(slices.Clip(and), args[0]), or)
	case "_!=_", "_==_":
		if (name == "_!=_") == positive {
			l.differs(e, args[0], args[1], and, or)
			l.differs(e, args[1], args[0], and, or)
		}
	case "@in":
		if !positive {
			l.notIn(e, args[0], args[1], and, or)
		}
	}
}

// differs looks at x != other.
func (l *linter) differs(e, x, other ast.Expr, and, or []ast.Expr) {
	_, value, ok := l.env.fallback(x)
	if !ok {
		return
	}
	d, ok := literal(value)
	if !ok {
		return
	}
	if v, ok := literal(other); ok {
		if v.Equal(d) == types.True {
			return
		}
	} else if other.Kind() != ast.IdentKind || !strings.HasPrefix(other.AsIdent(), rootParams+".") {
		return
	}
	l.onDefault(e, x, d, and, or)
}

// notIn looks at !(x in list).
func (l *linter) notIn(e, x, list ast.Expr, and, or []ast.Expr) {
	_, value, ok := l.env.fallback(x)
	if !ok {
		return
	}
	d, ok := literal(value)
	if !ok {
		return
	}
	if values, ok := literals(list); ok {
		if contains(values, d) {
			return
		}
	} else if list.Kind() != ast.IdentKind || !strings.HasPrefix(list.AsIdent(), rootParams+".") {
		return
	}
	l.onDefault(e, x, d, and, or)
}

func (l *linter) onDefault(e, x ast.Expr, d ref.Val, and, or []ast.Expr) {
	path := l.env.path(x)
	key := l.env.key(x)
	for _, other := range and {
		if l.requires(other, path, key) {
			return
		}
	}
	for _, other := range or {
		if l.saysDefault(other, path, key, d) {
			return
		}
	}
	what := "the value"
	if path.root != "" {
		what = path.String()
	}
	l.warn(e, "true while "+what+" is absent, as the default differs",
		"name the values that count (== or in), or say that absence counts: … == "+constantText(d)+" || …")
}

// requires reports whether a condition beside is false or has no value where the
// path is absent.
func (l *linter) requires(e ast.Expr, path chain, key string) bool {
	if l.spent() {
		return true
	}
	e = l.env.definition(e)
	if path.root != "" && l.readsPlainly(e, path) {
		return true
	}
	if e.Kind() != ast.CallKind {
		return false
	}
	args := e.AsCall().Args()
	switch name := e.AsCall().FunctionName(); name {
	case "hasValue":
		p := l.env.path(e.AsCall().Target())
		return path.root != "" && path.within(p) || p.within(path)
	case "_==_", "@in":
		return l.env.key(args[0]) == key || name == "_==_" && l.env.key(args[1]) == key
	case "_!=_":
		// != default
		for i := range 2 {
			if l.env.key(args[i]) != key {
				continue
			}
			_, value, _ := l.env.fallback(args[i])
			v, ok := literal(args[1-i])
			d, is := literal(value)
			return ok && is && v.Equal(d) == types.True
		}
	case "_&&_":
		return l.requires(args[0], path, key) || l.requires(args[1], path, key)
	}
	return false
}

// readsPlainly reports whether an expression selects the path, or what is below
// it, without an optional step, outside of || and of loops.
func (l *linter) readsPlainly(e ast.Expr, path chain) bool {
	switch e.Kind() {
	case ast.SelectKind:
		if c := chainOf(e); c.root == path.root && plain(e) && c.within(path) {
			return true
		}
	case ast.ComprehensionKind:
		return l.readsPlainly(e.AsComprehension().IterRange(), path)
	case ast.CallKind:
		switch e.AsCall().FunctionName() {
		case "_||_", "_?_:_", "orValue":
			return false
		}
	}
	for _, child := range children(e) {
		if l.readsPlainly(child, path) {
			return true
		}
	}
	return false
}

// plain reports whether a path has no optional step.
func plain(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return plain(e.AsSelect().Operand())
	case ast.CallKind:
		return e.AsCall().FunctionName() == "_[_]" && plain(e.AsCall().Args()[0])
	}
	return false
}

// within reports whether the path is other, or below it.
func (c chain) within(other chain) bool {
	if c.root == "" || c.root != other.root || len(c.parts) < len(other.parts) {
		return false
	}
	for i, p := range other.parts {
		if p.value == nil || p.value != c.parts[i].value {
			return false
		}
	}
	return true
}

// saysDefault reports whether a condition beside, in an ||, is about absence.
func (l *linter) saysDefault(e ast.Expr, path chain, key string, d ref.Val) bool {
	if e.Kind() != ast.CallKind {
		return false
	}
	args := e.AsCall().Args()
	switch e.AsCall().FunctionName() {
	case "_==_":
		for i := range 2 {
			if v, ok := literal(args[1-i]); ok && l.env.key(args[i]) == key && v.Equal(d) == types.True {
				return true
			}
		}
	case "@in":
		values, ok := literals(args[1])
		return ok && l.env.key(args[0]) == key && contains(values, d)
	case "!_":
		inner := args[0]
		if inner.Kind() == ast.SelectKind && inner.AsSelect().IsTestOnly() {
			return path.within(chainOf(inner))
		}
		if inner.Kind() == ast.CallKind && inner.AsCall().FunctionName() == "hasValue" {
			return path.within(l.env.path(inner.AsCall().Target()))
		}
	case "_&&_":
		return l.saysDefault(args[0], path, key, d) || l.saysDefault(args[1], path, key, d)
	}
	return false
}

// emptyList looks at a loop for all() over a list that may be empty.
func (l *linter) emptyList(e ast.Expr, positive bool, and []ast.Expr) {
	m := loopOf(e)
	if m.kind != "all" || !positive {
		return
	}
	base, filtered := m.ranges, false
	for {
		base = l.env.definition(base)
		inner := loopOf(base)
		if inner.kind != "filter" && inner.kind != "map" {
			break
		}
		base, filtered = inner.ranges, filtered || inner.kind == "filter"
	}
	_, orValue, optional := l.env.fallback(base)
	written := base
	if optional {
		written = orValue
	}
	if elements := written.Kind() == ast.ListKind && len(written.AsList().Elements()) > 0; elements && !filtered {
		return
	}
	if base.Kind() == ast.IdentKind && strings.HasPrefix(base.AsIdent(), rootParams+".") && !filtered {
		return // whoever gives the param says what must be
	}
	keys := []string{l.env.key(m.ranges)}
	if !filtered {
		keys = append(keys, l.env.key(base))
	}
	for _, other := range and {
		if l.asksForElements(other, keys) {
			return
		}
	}
	message := "all() is true on an empty list"
	switch {
	case filtered:
		message = "all() is true where filter() leaves nothing"
	case optional:
		message = "all() is true on an empty list, and on one that is absent"
	}
	l.warn(e, message, "ask for an element too: … .exists(x, …) && …, or size() > 0")
}

// asksForElements reports whether a condition beside looks into one of the lists
// or asks for its size.
func (l *linter) asksForElements(e ast.Expr, keys []string) bool {
	if l.spent() {
		return true
	}
	e = l.env.definition(e)
	if m := loopOf(e); m.kind == "exists" || m.kind == "exists_one" {
		if slices.Contains(keys, l.env.key(m.ranges)) {
			return true
		}
	}
	if e.Kind() == ast.CallKind {
		switch name := e.AsCall().FunctionName(); name {
		case "size", "_[_]", "_!=_", "isEmpty", "@in":
			for _, arg := range children(e) {
				if slices.Contains(keys, l.env.key(arg)) {
					return true
				}
			}
		case "_||_":
			return false
		}
	}
	return slices.ContainsFunc(children(e), func(child ast.Expr) bool { return l.asksForElements(child, keys) })
}

// constantText writes a literal as an expression has it.
func constantText(v ref.Val) string {
	switch x := v.(type) {
	case types.String:
		return "'" + string(x) + "'"
	case types.Null:
		return "null"
	}
	s, _ := v.ConvertToType(types.StringType).(types.String)
	return string(s)
}
