package celexpr

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// Kind tells evaluation errors apart.
type Kind int

const (
	// MissingData: a key, an element or an optional's value isn't there.
	MissingData Kind = iota
	// EvaluationError: anything else, such as operands of the wrong types.
	EvaluationError
	// LimitExceeded: the evaluation cost or lasted more than it may.
	LimitExceeded
)

// Error says why an expression has no value.
type Error struct {
	Kind Kind
	// Message says what happened, for example "no such key: detail".
	Message string

	program *Program // whose expression failed
	node    int64    // where, or noNode
}

// Error returns the message and, where the expression is a variable's, its name.
func (e *Error) Error() string {
	if e.program != nil && e.program.variable != "" {
		return rootVariables + "." + e.program.variable + ": " + e.Message
	}
	return e.Message
}

// newError classifies what evaluating the program gave.
func newError(ctx context.Context, ev *Evaluation, p *Program, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known // of a variable that the expression uses
	}
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) {
		return costError(ev, p)
	}
	var interrupted interpreter.InterruptError
	if errors.As(err, &interrupted) {
		return interruptedError(ctx, p, err)
	}
	out := &Error{Kind: EvaluationError, Message: err.Error(), program: p, node: noNode}
	var celErr *types.Err
	if errors.As(err, &celErr) {
		out.node = celErr.NodeID()
	}
	if message, ok := missing(out.Message); ok {
		out.Kind, out.Message = MissingData, message
	}
	return out
}

// costError is the error of an evaluation that cost more than it may.
func costError(ev *Evaluation, p *Program) *Error {
	return &Error{
		Kind: LimitExceeded, program: p, node: noNode,
		Message: fmt.Sprintf("the predicate costs more than its limit of %d", ev.limits.Cost),
	}
}

// interruptedError is the error of an evaluation whose context has ended.
func interruptedError(ctx context.Context, p *Program, err error) *Error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &Error{Kind: LimitExceeded, Message: err.Error(), program: p, node: noNode}
}

// missing reports whether an error of cel-go means that data isn't there, and
// says so in our words. cel-go has no type or code for it, only these texts.
func missing(message string) (string, bool) {
	switch {
	case strings.HasPrefix(message, "no such key: "):
		return message, true
	case strings.HasPrefix(message, "no such attribute(s): "):
		return message, true
	case strings.HasPrefix(message, "index out of bounds: "):
		return "no such element: " + strings.TrimPrefix(message, "index out of bounds: "), true
	case strings.HasPrefix(message, "index '") && strings.Contains(message, "' out of range in list size '"):
		index, _, _ := strings.Cut(strings.TrimPrefix(message, "index '"), "'")
		return "no such element: " + index, true
	case message == "optional.none() dereference":
		return "no value", true
	}
	return "", false
}

// wrongType is the error of a value that isn't what the expression must give.
func wrongType(p *Program, got, want string) *Error {
	return &Error{
		Kind:    EvaluationError,
		Message: fmt.Sprintf("the expression's value is of type %s, want %s", got, want),
		program: p, node: noNode,
	}
}
