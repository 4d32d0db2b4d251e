package celexpr

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// What an expression may cost at worst is known before it runs only as far as the
// schema bounds what it goes over. Lists, maps and texts without a bound count as
// having one element or character: most schemas have no bounds, and an estimate by
// guessed ones would refuse what never costs anything like it. So the estimate is
// what the bounded parts alone may cost.

// estimate is what an expression may cost at worst, by one schema.
type estimate struct {
	cost uint64
	// at is where the list, map or text is that counts most, what says how long it
	// may be.
	at   Issue
	what string
}

// Estimate says that the program may cost more than the limit, as far as schemas
// bound what it goes over; nil if it doesn't, or if its cost isn't counted.
func (p *Program) Estimate(limit uint64) *Issue {
	if !p.bounded || p.estimate.cost <= limit {
		return nil
	}
	issue := p.estimate.at
	issue.Message = fmt.Sprintf("it may cost %s, more than the predicate's limit of %s", grouped(p.estimate.cost), grouped(limit))
	issue.Hint = "raise spec.limits.cost"
	if p.estimate.what != "" {
		issue.Hint = p.estimate.what + " by its schema: look at fewer, or raise spec.limits.cost"
	}
	return &issue
}

// grouped writes a number with commas.
func grouped(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// estimator says how large things may be by a schema.
type estimator struct {
	kind *kindCheck
	// types are those of the expression's nodes, by id: nil where the schema doesn't say.
	types map[int64]*schemas.Type
	// asked are the bounded types whose size counted, with the node.
	asked map[*schemas.Type]ast.Expr
	// short counts as having one element.
	short *schemas.Type
}

// estimate returns what the checked expression may cost.
func (k *kindCheck) estimate(types map[int64]*schemas.Type) estimate {
	e := &estimator{kind: k, types: types, asked: map[*schemas.Type]ast.Expr{}}
	out := estimate{cost: e.cost(), at: Issue{Line: 1, Column: 1}}
	asked := slices.SortedFunc(maps.Keys(e.asked), func(a, b *schemas.Type) int {
		return int(e.asked[a].ID() - e.asked[b].ID())
	})
	least := out.cost
	for _, t := range asked {
		e.short = t
		if cost := e.cost(); cost < least {
			node := e.asked[t]
			least, out.at = cost, startOf(k.ast, node)
			elements := "elements"
			if t.Form == schemas.String {
				elements = "characters"
			}
			out.what = fmt.Sprintf("%s may have %s %s", k.describeValue(node), grouped(uint64(longest(t))), elements)
		}
	}
	return out
}

func (e *estimator) cost() uint64 {
	// That it can't be estimated is no news: an option has failed, and there is one
	// that never does.
	cost, err := checker.Cost(e.kind.ast, &library.CostEstimator{SizeEstimator: e}, checker.PresenceTestHasCost(false))
	if err != nil {
		return 0
	}
	return cost.Max
}

// EstimateCallCost implements checker.CostEstimator: calls cost what Kubernetes says.
func (e *estimator) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// EstimateSize implements checker.CostEstimator.
func (e *estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	one := &checker.SizeEstimate{Max: 1}
	var t *schemas.Type
	if expr := node.Expr(); expr != nil {
		t = e.types[expr.ID()]
	} else {
		t = e.kind.scope.typeAt(node.Path()) // an element of a list that is an argument
	}
	if t == nil || t == e.short {
		return one
	}
	size := longest(t)
	if size <= 1 {
		return one
	}
	if expr := node.Expr(); expr != nil && e.short == nil {
		if _, known := e.asked[t]; !known {
			e.asked[t] = expr
		}
	}
	return &checker.SizeEstimate{Max: uint64(size)}
}

// longest returns how many elements or characters a value of the type may have, 0
// if any number.
func longest(t *schemas.Type) int64 {
	switch t.Form {
	case schemas.List, schemas.Map:
		return t.MaxItems
	case schemas.String:
		if t.Enum == nil {
			return t.MaxLength
		}
		var size int64
		for _, value := range t.Enum {
			size = max(size, int64(len(value)))
		}
		return size
	}
	return 0
}

// typeAt returns the type at one of cel-go's paths.
func (k *kindScope) typeAt(path []string) *schemas.Type {
	if len(path) == 0 {
		return nil
	}
	t := k.valueOf(path[0])
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			t = elementOf(t)
		default:
			t = fieldOf(t, name)
		}
	}
	return t
}

// valueOf returns the schema's type of object or a variable, nil if it says nothing.
func (k *kindScope) valueOf(name string) *schemas.Type {
	if name == rootObject {
		return k.schema.Root
	}
	if s, ok := k.env.slots[name]; ok && s.kind == slotVariable {
		return k.values[s.index]
	}
	return nil
}

func elementOf(t *schemas.Type) *schemas.Type {
	if t == nil || t.Form != schemas.List && t.Form != schemas.Map {
		return nil
	}
	return t.Elem
}

func fieldOf(t *schemas.Type, name string) *schemas.Type {
	switch {
	case t == nil:
		return nil
	case t.Form == schemas.Object:
		return t.Fields[name]
	case t.Form == schemas.Map:
		return t.Elem
	}
	return nil
}

// values follows what the schema says of values through an expression.
type values struct {
	scope *kindScope
	local map[string]*schemas.Type
	of    map[int64]*schemas.Type
}

// valuesOf returns the schema's types of an expression's nodes, by id. Only values
// that are parts of the object have one, and lists of such.
func (k *kindScope) valuesOf(e ast.Expr) map[int64]*schemas.Type {
	v := &values{scope: k, local: map[string]*schemas.Type{}, of: map[int64]*schemas.Type{}}
	v.visit(e)
	return v.of
}

func (v *values) visit(e ast.Expr) *schemas.Type {
	t := v.value(e)
	if t != nil {
		v.of[e.ID()] = t
	}
	return t
}

func (v *values) value(e ast.Expr) *schemas.Type {
	switch e.Kind() {
	case ast.IdentKind:
		if t, ok := v.local[e.AsIdent()]; ok {
			return t
		}
		return v.scope.valueOf(e.AsIdent())
	case ast.SelectKind:
		t := v.visit(e.AsSelect().Operand())
		if e.AsSelect().IsTestOnly() {
			return nil
		}
		return fieldOf(t, e.AsSelect().FieldName())
	case ast.CallKind:
		return v.call(e)
	case ast.ComprehensionKind:
		return v.comprehension(e.AsComprehension())
	}
	for _, child := range children(e) {
		v.visit(child)
	}
	return nil
}

func (v *values) call(e ast.Expr) *schemas.Type {
	var all []*schemas.Type
	parts := children(e)
	for _, part := range parts {
		all = append(all, v.visit(part))
	}
	switch name := e.AsCall().FunctionName(); name {
	case "_?._":
		field, _ := constant(parts[1]).(string)
		return fieldOf(all[0], field)
	case "_[_]", "_[?_]":
		return elementOf(all[0])
	case "orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn", "sort", "distinct":
		if len(all) > 0 {
			return all[0]
		}
	case "_?_:_":
		if all[1] == nil {
			return all[2]
		}
		return all[1]
	}
	return nil
}

// comprehension: of the lists that map and filter make, only what the elements are
// is of interest, as cel-go knows how many there may be.
func (v *values) comprehension(c ast.ComprehensionExpr) *schemas.Type {
	over := v.visit(c.IterRange())
	v.visit(c.AccuInit())
	bound := map[string]*schemas.Type{c.IterVar(): elementOf(over), c.AccuVar(): nil}
	switch {
	case c.HasIterVar2():
		bound[c.IterVar()], bound[c.IterVar2()] = nil, elementOf(over)
	case over != nil && over.Form == schemas.Map:
		bound[c.IterVar()] = nil // its keys
	}
	outer := maps.Clone(v.local)
	maps.Copy(v.local, bound)
	v.visit(c.LoopCondition())
	v.visit(c.LoopStep())
	gathered := v.gathered(c.LoopStep())
	v.local = outer
	v.visit(c.Result())
	if gathered == nil || over == nil {
		return nil
	}
	return &schemas.Type{Form: schemas.List, Elem: gathered, MaxItems: over.MaxItems}
}

// gathered returns the type of the elements that a loop's step adds to a list.
func (v *values) gathered(step ast.Expr) *schemas.Type {
	if args := call(step, "_?_:_"); len(args) == 3 {
		return v.gathered(args[1])
	}
	args := call(step, "_+_")
	if len(args) != 2 || args[1].Kind() != ast.ListKind || args[1].AsList().Size() != 1 {
		return nil
	}
	return v.of[args[1].AsList().Elements()[0].ID()]
}

// hasBounds reports whether an expression reads anything that is bounded.
func hasBounds(types map[int64]*schemas.Type) bool {
	for _, t := range types {
		if longest(t) > 1 {
			return true
		}
	}
	return false
}

var _ checker.CostEstimator = (*estimator)(nil)
