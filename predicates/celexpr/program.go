package celexpr

import (
	"sync"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Program is a compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	env      *Environment
	cel      *cel.Env // the functions that it calls
	ast      *ast.AST // checked
	source   string
	variable string // the variable's name, if it is one's expression
	want     Output
	celType  *cel.Type
	bounded  bool // whether it runs within limits
	warnings []Issue
	estimate estimate

	explain explanation

	// plan is the executable form, made when the program first runs. A cost limit
	// is part of it: planMu guards the making, and remaking for another limit.
	plan   atomic.Pointer[plan]
	planMu sync.Mutex
	// fused is the form that needs no cel-go, made when the program first runs.
	fused atomic.Pointer[fused]
}

// fused holds a program's fused form, nil if it has none: of a condition the test,
// of a variable the source.
type fused struct {
	test   test
	source source
}

// fusedForm returns the fused form, which is made when it is first needed.
func (p *Program) fusedForm() *fused {
	f := p.fused.Load()
	if f == nil {
		f = &fused{}
		if p.want == OutputBool {
			f.test = fuse(p)
		} else if p.variable != "" {
			f.source = fuseVariable(p)
		}
		p.fused.Store(f)
	}
	return f
}

type plan struct {
	program cel.Program
	limit   uint64
}

// Warnings returns what a schema of object says of the expression that isn't
// wrong for certain.
func (p *Program) Warnings() []Issue { return p.warnings }

// Source returns the expression.
func (p *Program) Source() string { return p.source }

// Bool evaluates a condition.
func (p *Program) Bool(ev *Evaluation) (bool, *Error) {
	if f := p.fusedForm(); f.test != nil {
		spent := ev.spent
		switch result, err := f.test.test(ev); result {
		case yes:
			return true, nil
		case no:
			return false, nil
		case fault:
			return false, err
		}
		ev.spent = spent
	}
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

// Text evaluates a message, reason or code, within a budget of its own: however
// dear it is, later conditions have theirs.
func (p *Program) Text(ev *Evaluation) (string, *Error) {
	ev.beginText()
	out, err := p.eval(ev)
	ev.endText(err)
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
	program, err := p.planned(ev.limits.Cost)
	if err != nil {
		return nil, newError(ev.ctx, ev, p, err)
	}
	if p.bounded {
		return p.evalBounded(ev, program)
	}
	out, _, err := program.Eval((*activation)(ev))
	if err != nil {
		return nil, newError(ev.ctx, ev, p, err)
	}
	return out, nil
}

func (p *Program) evalBounded(ev *Evaluation, program cel.Program) (ref.Val, *Error) {
	ctx := ev.bounded()
	if ctx.Err() != nil {
		return nil, interruptedError(ctx, p, ctx.Err())
	}
	out, details, err := program.ContextEval(ctx, (*activation)(ev))
	if err != nil {
		return nil, newError(ctx, ev, p, err)
	}
	if err := ev.spend(p, details.ActualCost()); err != nil {
		return nil, err
	}
	return out, nil
}

// planned returns the executable form.
func (p *Program) planned(limit uint64) (cel.Program, error) {
	if !p.bounded {
		limit = 0 // there is one form for all
	}
	if pl := p.plan.Load(); pl != nil && pl.limit == limit {
		return pl.program, nil
	}
	p.planMu.Lock()
	defer p.planMu.Unlock()
	if pl := p.plan.Load(); pl != nil && pl.limit == limit {
		return pl.program, nil
	}
	options := programOptions()
	if p.bounded {
		options = boundedOptions(limit)
	}
	program, err := p.cel.PlanProgram(p.ast, options...)
	if err != nil {
		return nil, err
	}
	p.plan.Store(&plan{program, limit})
	return program, nil
}
