package celexpr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// maxFusedElements is how many elements a search through a list without counted cost
// may look at; cel-go counts longer ones.
const maxFusedElements = 10_000

// fusedLoop is list.exists(x, …) or list.all(x, …). Its cost is estimated before it runs:
// if that isn't far below the limit, cel-go runs and counts it.
type fusedLoop struct {
	over    *path
	slot    int
	body    test
	decides outcome // yes for exists, no for all
	steps   uint64  // estimated cost of one element
}

// fusedShare is the share of what is left of the cost limit that a fused loop may
// be estimated at.
const fusedShare = 4

// loop fuses the two macros; other comprehensions are cel-go's.
func (f *fuser) loop(e ast.Expr) test {
	c := e.AsComprehension()
	l := &fusedLoop{slot: len(f.locals)}
	accu := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == c.AccuVar() }
	if c.HasIterVar2() || l.slot == maxNesting || !accu(c.Result()) || c.LoopStep().Kind() != ast.CallKind ||
		c.AccuInit().Kind() != ast.LiteralKind || !stopsEarly(c.LoopCondition()) {
		return nil
	}
	step := c.LoopStep().AsCall()
	begin, isBool := c.AccuInit().AsLiteral().(types.Bool)
	switch name := step.FunctionName(); {
	case !isBool:
		return nil
	case name == operators.LogicalOr && begin == types.False:
		l.decides = yes
	case name == operators.LogicalAnd && begin == types.True:
		l.decides = no
	default:
		return nil
	}
	if len(step.Args()) != 2 || !accu(step.Args()[0]) {
		return nil
	}
	if l.over = f.path(c.IterRange()); l.over == nil || l.over.isOptional() || l.over.presence {
		return nil
	}
	f.locals = append(f.locals, c.IterVar())
	l.body = f.condition(step.Args()[1])
	f.locals = f.locals[:l.slot]
	if l.body == nil {
		return nil
	}
	l.steps = nodes(e)
	return l
}

// stopsEarly reports whether a loop's condition is that of exists and all: they end
// at the element that decides.
func stopsEarly(e ast.Expr) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.NotStrictlyFalse
}

// nodes counts the parts of an expression; a loop within counts as many elements,
// as it will be asked for its own estimate.
func nodes(e ast.Expr) uint64 {
	var n uint64
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(ast.Expr) { n++ }))
	return n
}

func (l *fusedLoop) test(ev *Evaluation) (outcome, *Error) {
	var over fusedValue
	if result, err := l.over.find(ev, &over); result != yes {
		return result, err
	}
	list, isList := over.native.([]any)
	if over.typed {
		isList = over.view.Kind() == jsonform.List
	}
	if !isList {
		return unsure, nil
	}
	n := over.length()
	if !ev.affords(uint64(n)*l.steps) || ev.ctx.Err() != nil {
		return unsure, nil
	}
	ev.looped = true
	at := &ev.locals[l.slot]
	// A variable may be evaluated within a loop of who needs it.
	around := *at
	defer func() { *at = around }()
	at.typed = over.typed
	var first *Error
	for i := range n {
		if over.typed {
			if at.view = over.view.Index(i); at.view.Kind() == jsonform.Invalid {
				return unsure, nil
			}
		} else {
			at.native = list[i]
		}
		result, err := l.body.test(ev)
		switch result {
		case l.decides, unsure:
			return result, nil
		case fault:
			if first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return fault, first
	}
	return yes + no - l.decides, nil
}

// affords counts an estimated cost, unless it is too near to the limit.
func (ev *Evaluation) affords(cost uint64) bool {
	limit := ev.limits.Cost
	if limit == 0 {
		limit = maxFusedElements * fusedShare
	}
	if ev.spent+cost*fusedShare > limit {
		return false
	}
	ev.spent += cost
	return true
}
