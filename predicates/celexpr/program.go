package celexpr

import (
	"math"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Program is a compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	env      *Environment
	cel      *cel.Env // what the expression was checked in
	source   string
	variable string // the variable's name, if it is one's expression
	want     Output
	celType  *cel.Type
	plan     cel.Program
	bounded  *boundedPlan // nil for the programs that need no limits
}

// boundedPlan is the plan of a program that needs limits. The cost limit is part
// of a plan, and only known when the program first runs.
type boundedPlan struct {
	ast *cel.Ast

	mu    sync.Mutex
	limit uint64
	plan  cel.Program
}

// Source returns the expression.
func (p *Program) Source() string { return p.source }

// Bool evaluates a condition.
func (p *Program) Bool(ev *Evaluation) (bool, *Error) {
	out, err := p.eval(ev)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, wrongType(p, out.Type().TypeName(), "bool")
	}
	return bool(b), nil
}

// Text evaluates a message, reason or code.
func (p *Program) Text(ev *Evaluation) (string, *Error) {
	out, err := p.eval(ev)
	if err != nil {
		return "", err
	}
	s, ok := out.(types.String)
	if !ok {
		return "", wrongType(p, out.Type().TypeName(), "string")
	}
	return string(s), nil
}

func (p *Program) eval(ev *Evaluation) (ref.Val, *Error) {
	if p.bounded != nil {
		return p.evalBounded(ev)
	}
	out, _, err := p.plan.Eval(ev)
	if err != nil {
		return nil, newError(ev.ctx, ev, p, err)
	}
	return out, nil
}

func (p *Program) evalBounded(ev *Evaluation) (ref.Val, *Error) {
	plan, err := p.bounded.get(p.cel, ev.limits.Cost)
	if err != nil {
		return nil, newError(ev.ctx, ev, p, err)
	}
	ctx := ev.bounded()
	if ctx.Err() != nil {
		return nil, interruptedError(ctx, p, ctx.Err())
	}
	out, details, err := plan.ContextEval(ctx, ev)
	if err != nil {
		return nil, newError(ctx, ev, p, err)
	}
	if err := ev.spend(p, details.ActualCost()); err != nil {
		return nil, err
	}
	return out, nil
}

func (b *boundedPlan) get(env *cel.Env, limit uint64) (cel.Program, error) {
	if limit == 0 {
		limit = math.MaxUint64
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plan == nil || b.limit != limit {
		plan, err := env.Program(b.ast, boundedOptions(limit)...)
		if err != nil {
			return nil, err
		}
		b.plan, b.limit = plan, limit
	}
	return b.plan, nil
}
