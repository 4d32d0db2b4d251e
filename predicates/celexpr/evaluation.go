package celexpr

import (
	"context"
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Limits bound one evaluation, in the programs that need it.
type Limits struct {
	// Timeout counts from the first such program; 0 means no limit of its own.
	Timeout time.Duration
	// Cost is in cel-go's units, for each program and for all of them together;
	// 0 means no limit.
	Cost uint64
}

// Params are a predicate's params as CEL values, made by BindParams. They are
// immutable and safe for concurrent use.
type Params struct {
	values []any // ref.Val, in the order of declaration
}

// BindParams converts the declared params' values: string, bool, int64 (or int),
// float64, time.Duration, resource.Quantity, slices and maps of those; durations
// and quantities may be given as text. Every declared param must be there; others
// are ignored.
func (e *Environment) BindParams(values map[string]any) (*Params, error) {
	out := &Params{values: make([]any, len(e.params))}
	for i, p := range e.params {
		v, ok := values[p.name]
		if !ok {
			return nil, fmt.Errorf("param %q has no value", p.name)
		}
		val, err := p.typ.value(v)
		if err != nil {
			return nil, fmt.Errorf("param %q: %w", p.name, err)
		}
		out.values[i] = val
	}
	return out, nil
}

// Evaluation is one evaluation of an environment's programs on one object: each
// variable is evaluated at most once, when it is first needed. It is for one
// goroutine; Close ends it.
type Evaluation struct {
	env    *Environment
	ctx    context.Context
	cancel context.CancelFunc // non-nil once the deadline runs
	limits Limits
	spent  uint64
	texts  budget // of texts; while one is evaluated, of conditions
	inText bool
	params *Params
	memo   []any           // of variables: nil, or the value, or a *types.Err
	known  []knownVariable // of variables, by fused programs

	// object is in JSON form; root is a typed object's view instead.
	object map[string]any
	typed  bool
	root   typedMap
	// locals are the elements that the loops of a fused program are at.
	locals [maxNesting]fusedValue
	looped bool // whether there were any
}

// Evaluation begins an evaluation on an object in JSON form (maps, slices,
// strings, int64, float64, bool, nil), which is used as it is and must not change
// meanwhile. params must come from this environment's BindParams.
func (e *Environment) Evaluation(ctx context.Context, object map[string]any, params *Params, limits Limits) *Evaluation {
	ev := e.evaluation(ctx, params, limits)
	ev.object = object
	return ev
}

// EvaluationOf begins an evaluation on an API object as expressions see it: as the
// API server would send it. An unstructured object's map is used as it is; a typed
// object is read where it is, and meta gives it the apiVersion and kind that
// informers leave out. Neither may change meanwhile. An object that is nil, or isn't
// a map in JSON, is an error.
func (e *Environment) EvaluationOf(ctx context.Context, object metav1.Object, meta *metav1.TypeMeta, params *Params, limits Limits) (*Evaluation, error) {
	if u, ok := object.(*unstructured.Unstructured); ok && u != nil {
		return e.Evaluation(ctx, u.Object, params, limits), nil
	}
	v, err := viewOf(e.compiler.plans, object, meta)
	if err != nil {
		return nil, err
	}
	ev := e.evaluation(ctx, params, limits)
	ev.typed, ev.root = true, typedMap{typedValue{v: v, adapter: e.compiler.base.CELTypeAdapter()}}
	return ev, nil
}

func (e *Environment) evaluation(ctx context.Context, params *Params, limits Limits) *Evaluation {
	ev := e.pool.Get().(*Evaluation)
	ev.env, ev.ctx, ev.limits, ev.params = e, ctx, limits, params
	if cap(ev.memo) < len(e.variables) {
		ev.memo = make([]any, len(e.variables))
		ev.known = make([]knownVariable, len(e.variables))
	}
	ev.memo, ev.known = ev.memo[:len(e.variables)], ev.known[:len(e.variables)]
	return ev
}

// Close ends the evaluation. Neither it nor its errors may be used afterwards,
// except for their fields and Error.
func (ev *Evaluation) Close() {
	if ev.cancel != nil {
		ev.cancel()
	}
	if ev.texts.cancel != nil {
		ev.texts.cancel()
	}
	env := ev.env
	clear(ev.memo)
	clear(ev.known)
	ev.texts = budget{}
	ev.env, ev.ctx, ev.cancel, ev.spent, ev.params, ev.object = nil, nil, nil, 0, nil, nil
	if ev.typed {
		ev.typed, ev.root = false, typedMap{}
	}
	if ev.looped {
		ev.looped, ev.locals = false, [maxNesting]fusedValue{}
	}
	env.pool.Put(ev)
}

// activation is an evaluation as cel-go sees it; its methods aren't for others.
type activation Evaluation

// ResolveName implements cel.Activation: it finds the value of a variable by its
// whole name.
func (a *activation) ResolveName(name string) (any, bool) {
	ev := (*Evaluation)(a)
	if name == rootObject {
		if ev.typed {
			return &ev.root, true
		}
		return ev.object, true
	}
	s, ok := ev.env.slots[name]
	if !ok {
		return nil, false
	}
	if s.kind == slotParam {
		return ev.params.values[s.index], true
	}
	return ev.variable(s.index), true
}

// Parent implements cel.Activation: there is none.
func (a *activation) Parent() cel.Activation { return nil }

// variable returns a variable's value, which is evaluated when it is first needed.
// What can't be evaluated is an error value, which then is the outcome of every
// expression that needs the variable.
func (ev *Evaluation) variable(index int) any {
	if ev.memo[index] == nil {
		ev.memo[index] = ev.evaluated(ev.env.variables[index])
	}
	return ev.memo[index]
}

func (ev *Evaluation) evaluated(v variable) any {
	if v.program == nil {
		return types.NewErrWithNodeID(noNode, "%s.%s didn't compile", rootVariables, v.name)
	}
	out, err := v.program.eval(ev)
	if err != nil {
		return types.NewErrWithNodeID(noNode, "%w", err)
	}
	return out
}

// bounded returns the context of programs with limits.
func (ev *Evaluation) bounded() context.Context {
	if ev.cancel == nil && ev.limits.Timeout > 0 {
		timeout := ev.limits.Timeout
		if ev.inText {
			timeout /= textShare
		}
		cause := fmt.Errorf("the predicate ran for more than %v", timeout)
		ev.ctx, ev.cancel = context.WithTimeoutCause(ev.ctx, timeout, cause)
	}
	return ev.ctx
}

// spend counts the cost of a program.
func (ev *Evaluation) spend(p *Program, cost *uint64) *Error {
	if cost == nil || ev.limits.Cost == 0 {
		return nil
	}
	if ev.spent += *cost; ev.spent > ev.limits.Cost {
		return costError(ev, p)
	}
	return nil
}

var _ cel.Activation = (*activation)(nil)
