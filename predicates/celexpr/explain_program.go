package celexpr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// explained is the second form of a program, which evaluates everything and says
// what everything was. It is made when a program is first explained.
type explained struct {
	root    *piece
	layout  layout
	program *interpreter.ObservableInterpretable
}

// explanation is a program's part in explaining, all of it made when it is needed.
type explanation struct {
	flowOnce sync.Once
	flow     flow

	mu    sync.Mutex // held while second is made
	built atomic.Pointer[explained]
}

// explaining is what all programs are explained with.
type explaining struct {
	once       sync.Once
	parser     *cel.Env
	dispatcher interpreter.Dispatcher
	err        error
}

// forExplaining returns a parser that keeps the calls of macros, as an expression
// is shown as it was written and not as the loops that macros stand for, and the
// functions.
func (c *Compiler) forExplaining() (*cel.Env, interpreter.Dispatcher, error) {
	x := &c.explaining
	x.once.Do(func() {
		if x.parser, x.err = c.base.Extend(cel.EnableMacroCallTracking()); x.err == nil {
			x.dispatcher, x.err = dispatcherOf(c.base)
		}
	})
	return x.parser, x.dispatcher, x.err
}

// dispatcherOf holds the functions of an environment. Two of them are known to
// cel-go's own planning only, as they must not evaluate what they don't need;
// here everything is evaluated in any case.
func dispatcherOf(env *cel.Env) (interpreter.Dispatcher, error) {
	d := interpreter.NewDispatcher()
	for name, f := range env.Functions() {
		bindings, err := f.Bindings()
		if err != nil {
			return nil, fmt.Errorf("bind the function %s: %w", name, err)
		}
		if err := d.Add(bindings...); err != nil {
			return nil, fmt.Errorf("bind the function %s: %w", name, err)
		}
	}
	for _, name := range [...]string{"or", "optional_or_optional", "orValue", "optional_orValue_value"} {
		if _, ok := d.FindOverload(name); ok {
			continue
		}
		unwrap := name == "orValue" || name == "optional_orValue_value"
		if err := d.Add(&functions.Overload{
			Operator: name, NonStrict: true,
			Binary: func(optional, other ref.Val) ref.Val { return optionalOr(optional, other, unwrap) },
		}); err != nil {
			return nil, fmt.Errorf("bind the function %s: %w", name, err)
		}
	}
	return d, nil
}

func optionalOr(optional, other ref.Val, unwrap bool) ref.Val {
	o, ok := optional.(*types.Optional)
	switch {
	case types.IsUnknownOrError(optional):
		return optional
	case !ok:
		return types.NoSuchOverloadErr()
	case !o.HasValue():
		return other
	case unwrap:
		return o.GetValue()
	}
	return optional
}

// second returns the program's second form.
func (p *Program) second() (*explained, error) {
	if x := p.explain.built.Load(); x != nil {
		return x, nil
	}
	p.explain.mu.Lock()
	defer p.explain.mu.Unlock()
	if x := p.explain.built.Load(); x != nil {
		return x, nil
	}
	parser, dispatcher, err := p.env.compiler.forExplaining()
	if err != nil {
		return nil, err
	}
	parsed, issues := parser.Parse(p.source)
	if issues.Err() != nil {
		return nil, fmt.Errorf("parse the expression again: %w", issues.Err())
	}
	checked, errs := p.env.compiler.checkers.check(parsed.NativeRep(), parsed.Source(), p.env)
	if len(errs) > 0 {
		return nil, fmt.Errorf("check the expression again: %s", errs[0].Message)
	}
	x := &explained{}
	x.root, x.layout = buildPieces(p.env, checked)
	env := p.cel
	attributes := interpreter.NewAttributeFactory(env.Container, env.CELTypeAdapter(), env.CELTypeProvider())
	planner := interpreter.NewInterpreter(dispatcher, env.Container, env.CELTypeProvider(), env.CELTypeAdapter(), attributes)
	program, err := planner.NewInterpretable(checked, interpreter.ExhaustiveEval(),
		interpreter.EvalStateObserver(interpreter.EvalStateFactory(func() interpreter.EvalState { return newRecorder(&x.layout) })))
	if err != nil {
		return nil, fmt.Errorf("plan the expression again: %w", err)
	}
	observable, ok := program.(*interpreter.ObservableInterpretable)
	if !ok {
		return nil, errors.New("plan the expression again: it can't be observed")
	}
	x.program = observable
	p.explain.built.Store(x)
	return x, nil
}

// run evaluates everything. The recorder holds what was evaluated also if there is
// an error; it is nil if nothing was.
func (x *explained) run(ctx context.Context, vars interpreter.Activation) (r *recorder, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = errors.New(p.message)
		default:
			err = errors.New("the expression can't be explained: evaluating it panicked")
		}
	}()
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	x.program.ObserveExec(frame, func(state any) {
		if found, ok := state.(*recorder); ok && r == nil {
			r, found.ctx = found, ctx
		}
	})
	return r, nil
}
