package celexpr

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// beginVariable begins at a variable: where that is a path itself, at its end.
func (p *path) beginVariable(ev *Evaluation, at *fusedValue) (outcome, *Error) {
	variable := ev.env.variables[p.slot].program
	if of, ok := variable.fusedForm().source.(*path); ok {
		if result, err := of.find(ev, at); result != unsure {
			return result, err
		}
		*at = fusedValue{}
	}
	return p.beginValue(ev, at)
}

// variable returns a variable's value, if it is a scalar that is known without
// cel-go; it is then kept for the evaluation.
func (p *path) variable(ev *Evaluation) (operand, outcome, *Error) {
	known := &ev.known[p.slot]
	if known.outcome != unsure || ev.memo[p.slot] != nil {
		return known.operand, known.outcome, known.err
	}
	source := ev.env.variables[p.slot].program.fusedForm().source
	if source == nil {
		return operand{}, unsure, nil
	}
	o, result, err := source.operand(ev)
	switch {
	case result == unsure, o.kind == operandList, o.kind == operandMap, o.kind == operandOther && result == yes:
		return operand{}, unsure, nil
	}
	*known = knownVariable{o, result, err}
	return o, result, err
}

// knownVariable is a variable's value: an operand or an error.
type knownVariable struct {
	operand operand
	outcome outcome
	err     *Error
}

// beginValue begins at a param or variable that isn't a scalar.
func (p *path) beginValue(ev *Evaluation, at *fusedValue) (outcome, *Error) {
	value, result, err := p.value(ev)
	if result != yes {
		return result, err
	}
	switch v := value.(type) {
	case *typedMap:
		at.typed, at.view = true, v.v
	case *typedList:
		at.typed, at.view = true, v.v
	case types.Null:
		at.native = nil
	case types.String, types.Int, types.Double, types.Bool:
		at.native = v.Value()
	case traits.Mapper:
		m, ok := v.Value().(map[string]any)
		if !ok {
			return unsure, nil
		}
		at.native = m
	case traits.Lister:
		l, ok := v.Value().([]any)
		if !ok {
			return unsure, nil
		}
		at.native = l
	default:
		return unsure, nil
	}
	return yes, nil
}

// value returns the CEL value of a param or variable.
func (p *path) value(ev *Evaluation) (ref.Val, outcome, *Error) {
	var v any
	if p.root == rootedInParam {
		v = ev.params.values[p.slot]
	} else {
		v = ev.variable(p.slot)
	}
	switch v := v.(type) {
	case *types.Err:
		return nil, fault, newError(ev.ctx, ev, p.program, v)
	case ref.Val:
		return v, yes, nil
	}
	return nil, unsure, nil
}
