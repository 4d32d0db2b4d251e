package celexpr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/donewhen/donewhen/predicates/internal/document"
)

// What one call may take at most. Cost and deadline are looked at between calls:
// a call that alone runs for minutes, or makes a text larger than the memory, must
// be refused before it begins.
const (
	maxPairs = 4_000_000 // comparisons of elements; a second has some ten millions
	maxText  = 8 << 20   // bytes of a text that a call makes; objects have at most 2 MiB
)

// guards say what a call of a function takes, by the function's name.
var guards = map[string]func(args []ref.Val) *Error{
	"distinct":        func(args []ref.Val) *Error { return pairs(args[0], args[0]) },
	"sets.contains":   func(args []ref.Val) *Error { return pairs(args[0], args[1]) },
	"sets.equivalent": func(args []ref.Val) *Error { return pairs(args[0], args[1]) },
	"sets.intersects": func(args []ref.Val) *Error { return pairs(args[0], args[1]) },
	"find":            matched,
	"findAll":         matched,
	"quantity":        quantities,
	"isQuantity":      quantities,
	"replace":         replaced,
	"join":            joined,
}

// guarded redeclares the guarded functions of an environment: the same overloads,
// which look at their arguments first.
func guarded(env *cel.Env) ([]cel.EnvOption, error) {
	var options []cel.EnvOption
	for name, guard := range guards {
		declared, ok := env.Functions()[name]
		if !ok {
			return nil, fmt.Errorf("guard the function %s: there is none", name)
		}
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, fmt.Errorf("guard the function %s: %w", name, err)
		}
		implementations := map[string]*functions.Overload{}
		for _, b := range bindings {
			implementations[b.Operator] = b
		}
		var overloads []cel.FunctionOpt
		for _, o := range declared.OverloadDecls() {
			binding, ok := guardedBinding(implementations[o.ID()], guard)
			if !ok {
				return nil, fmt.Errorf("guard the function %s: %s has no implementation", name, o.ID())
			}
			overload := decls.Overload
			if o.IsMemberFunction() {
				overload = decls.MemberOverload
			}
			overloads = append(overloads, overload(o.ID(), o.ArgTypes(), o.ResultType(), binding))
		}
		options = append(options, cel.Function(name, overloads...))
	}
	return options, nil
}

func guardedBinding(o *functions.Overload, guard func([]ref.Val) *Error) (cel.OverloadOpt, bool) {
	switch {
	case o == nil:
	case o.Unary != nil:
		return cel.UnaryBinding(func(arg ref.Val) ref.Val {
			if err := guard([]ref.Val{arg}); err != nil {
				return types.NewErr("%w", err)
			}
			return o.Unary(arg)
		}), true
	case o.Binary != nil:
		return cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			if err := guard([]ref.Val{a, b}); err != nil {
				return types.NewErr("%w", err)
			}
			return o.Binary(a, b)
		}), true
	case o.Function != nil:
		return cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			if err := guard(args); err != nil {
				return types.NewErr("%w", err)
			}
			return o.Function(args...)
		}), true
	}
	return nil, false
}

func pairs(a, b ref.Val) *Error {
	if n, m := length(a), length(b); n*m > maxPairs {
		return &Error{Kind: LimitExceeded, node: noNode, Message: fmt.Sprintf("comparing %d elements with %d is more than one call may do", n, m)}
	}
	return nil
}

func length(v ref.Val) uint64 {
	if l, ok := v.(traits.Lister); ok {
		return size(l)
	}
	return 0
}

// replaced is about text.replace(old, new) and text.replace(old, new, times).
func replaced(args []ref.Val) *Error {
	text, _ := args[0].(types.String)
	old, _ := args[1].(types.String)
	with, _ := args[2].(types.String)
	times := strings.Count(string(text), string(old))
	if len(args) > 3 {
		if n, _ := args[3].(types.Int); n >= 0 {
			times = min(times, int(n))
		}
	}
	return grown(len(text) + times*(len(with)-len(old)))
}

// joined is about list.join() and list.join(separator).
func joined(args []ref.Val) *Error {
	l, ok := args[0].(traits.Lister)
	if !ok {
		return nil
	}
	total := 0
	if len(args) > 1 {
		separator, _ := args[1].(types.String)
		total = len(separator) * int(size(l))
	}
	for i, n := types.Int(0), types.Int(size(l)); i < n && total <= maxText; i++ {
		text, _ := l.Get(i).(types.String)
		total += len(text)
	}
	return grown(total)
}

// quantities is about quantity(text) and isQuantity(text): the parser computes
// with exponents as they stand, and 10^2000000000 takes all memory there is.
func quantities(args []ref.Val) *Error {
	text, ok := args[0].(types.String)
	if !ok {
		return nil
	}
	if err := document.CheckQuantity(string(text)); err != nil {
		return &Error{Kind: EvaluationError, node: noNode, Message: err.Error()}
	}
	return nil
}

func grown(bytes int) *Error {
	if bytes <= maxText {
		return nil
	}
	return &Error{Kind: LimitExceeded, node: noNode, Message: fmt.Sprintf("a text of more than %d bytes is more than one call may make", maxText)}
}
