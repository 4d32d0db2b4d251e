package celexpr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Form is a condition taken apart into alternatives, each a set of facts about
// values: what one condition says of another by its form alone can be read off
// it. It is immutable.
type Form struct {
	alternatives []facts
	// whole: nothing was left out.
	whole bool
}

// facts say of each value, by its key, what it may be. They hold together.
type facts map[string]domain

// domain is a set of literals, or all but a set.
type domain struct {
	values []string // sorted
	except bool
}

// Bounds of a form; a condition beyond has none.
const (
	maxAlternatives = 32
	maxFacts        = 64
)

// FormOf returns the form of a condition; that of nil always holds.
func FormOf(p *Program) Form {
	if p == nil {
		return Form{[]facts{{}}, true}
	}
	former := former{p.env, maxSteps}
	alternatives, ok := former.alternatives(p.ast.Expr(), true)
	if !ok {
		return Form{}
	}
	return Form{alternatives, true}
}

// Never reports whether the condition contradicts itself.
func (f Form) Never() bool { return f.whole && len(f.alternatives) == 0 }

// Always reports whether it holds whatever the object is.
func (f Form) Always() bool {
	return f.whole && slices.ContainsFunc(f.alternatives, func(a facts) bool { return len(a) == 0 })
}

// Implies reports whether other holds wherever f does, as far as can be seen.
func (f Form) Implies(other Form) bool {
	if !f.whole || !other.whole || len(f.alternatives) == 0 {
		return false
	}
	for _, a := range f.alternatives {
		if !a.implyOneOf(other) {
			return false
		}
	}
	return true
}

// MayImply reports whether other holds in one of f's alternatives.
func (f Form) MayImply(other Form) bool {
	return f.whole && other.whole && slices.ContainsFunc(f.alternatives, func(a facts) bool { return a.implyOneOf(other) })
}

func (a facts) implyOneOf(other Form) bool {
	return slices.ContainsFunc(other.alternatives, a.imply)
}

func (a facts) imply(b facts) bool {
	for key, wanted := range b {
		if have, ok := a[key]; !ok || !have.within(wanted) {
			return false
		}
	}
	return true
}

// former makes a form.
type former struct {
	*Environment
	steps int
}

// alternatives brings a condition, or its negation, into disjunctive form.
// Alternatives that contradict themselves are left out.
func (e *former) alternatives(x ast.Expr, positive bool) ([]facts, bool) {
	if e.steps--; e.steps < 0 {
		return nil, false
	}
	x = e.definition(x)
	if v, ok := literal(x); ok {
		if b, ok := v.(types.Bool); ok {
			if bool(b) == positive {
				return []facts{{}}, true
			}
			return nil, true
		}
	}
	if args := call(x, "!_"); args != nil {
		return e.alternatives(args[0], !positive)
	}
	for _, operator := range []string{"_&&_", "_||_"} {
		args := call(x, operator)
		if args == nil {
			continue
		}
		left, ok := e.alternatives(args[0], positive)
		if !ok {
			return nil, false
		}
		right, ok := e.alternatives(args[1], positive)
		if !ok {
			return nil, false
		}
		if (operator == "_||_") == positive {
			both := slices.Concat(left, right)
			return both, len(both) <= maxAlternatives
		}
		return product(left, right)
	}
	key, d := e.fact(x, positive)
	return []facts{{key: d}}, true
}

// product joins each of one's alternatives with each of the other's.
func product(left, right []facts) ([]facts, bool) {
	if len(left)*len(right) > maxAlternatives {
		return nil, false
	}
	var out []facts
	for _, a := range left {
		for _, b := range right {
			joined, possible := a.and(b)
			if len(joined) > maxFacts {
				return nil, false
			}
			if possible {
				out = append(out, joined)
			}
		}
	}
	return out, true
}

func (a facts) and(b facts) (joined facts, possible bool) {
	joined = make(facts, len(a)+len(b))
	for key, d := range a {
		joined[key] = d
	}
	for key, d := range b {
		if have, ok := joined[key]; ok {
			d = have.and(d)
		}
		if joined[key] = d; d.empty() {
			return nil, false
		}
	}
	return joined, true
}

// fact reads one condition without && and ||: of comparisons with literals, what
// the value may be; of any other, that it is true or false.
func (e *Environment) fact(x ast.Expr, positive bool) (string, domain) {
	if x.Kind() == ast.CallKind && len(x.AsCall().Args()) == 2 {
		args := x.AsCall().Args()
		switch x.AsCall().FunctionName() {
		case "_==_", "_!=_":
			equal := x.AsCall().FunctionName() == "_==_"
			for i := range 2 {
				if v, ok := literal(args[1-i]); ok {
					return e.key(args[i]), domain{[]string{valueKey(v)}, equal != positive}
				}
			}
			a, b := e.key(args[0]), e.key(args[1])
			return "==" + min(a, b) + "," + max(a, b), domain{[]string{"true"}, equal != positive}
		case "@in":
			if values, ok := literals(args[1]); ok {
				d := domain{except: !positive}
				for _, v := range values {
					d.values = append(d.values, valueKey(v))
				}
				slices.Sort(d.values)
				d.values = slices.Compact(d.values)
				return e.key(args[0]), d
			}
		}
	}
	return e.key(x), domain{[]string{"bool:true"}, !positive}
}

func (d domain) empty() bool { return !d.except && len(d.values) == 0 }

func (d domain) has(v string) bool {
	_, found := slices.BinarySearch(d.values, v)
	return found != d.except
}

// within reports whether d is a part of other.
func (d domain) within(other domain) bool {
	switch {
	case !d.except:
		return !slices.ContainsFunc(d.values, func(v string) bool { return !other.has(v) })
	case !other.except:
		return false
	}
	return !slices.ContainsFunc(other.values, func(v string) bool { return d.has(v) })
}

// and returns what is in both.
func (d domain) and(other domain) domain {
	if d.except && !other.except {
		d, other = other, d
	}
	if !d.except {
		return domain{values: slices.DeleteFunc(slices.Clone(d.values), func(v string) bool { return !other.has(v) })}
	}
	both := slices.Concat(d.values, other.values)
	slices.SortFunc(both, strings.Compare)
	return domain{slices.Compact(both), true}
}
