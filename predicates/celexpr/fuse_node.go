package celexpr

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// constantTest is true or false.
type constantTest outcome

func (t constantTest) test(*Evaluation) (outcome, *Error) { return outcome(t), nil }

// constantSource is a literal.
type constantSource operand

func (s constantSource) operand(*Evaluation) (operand, outcome, *Error) { return operand(s), yes, nil }

// junction is a chain of && or ||: one term may decide, whatever the others are;
// else the first error counts.
type junction struct {
	terms   []test
	decides outcome // no for &&, yes for ||
}

func (j *junction) test(ev *Evaluation) (outcome, *Error) {
	var first *Error
	for _, term := range j.terms {
		result, err := term.test(ev)
		switch result {
		case j.decides, unsure:
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
	return yes + no - j.decides, nil
}

// negation is !x.
type negation struct{ of test }

func (n *negation) test(ev *Evaluation) (outcome, *Error) {
	result, err := n.of.test(ev)
	switch result {
	case yes:
		return no, nil
	case no:
		return yes, nil
	}
	return result, err
}

// truth is a value that must be a bool.
type truth struct{ of source }

func (t *truth) test(ev *Evaluation) (outcome, *Error) {
	o, result, err := t.of.operand(ev)
	switch {
	case result != yes:
		return result, err
	case o.kind != operandBool:
		return unsure, nil
	}
	return outcomeOf(o.bits == 1), nil
}

// presence is has(path).
type presence struct{ path *path }

func (t *presence) test(ev *Evaluation) (outcome, *Error) {
	p := t.path
	switch {
	case p.root == rootedInObject && !ev.typed:
		_, missing, known := p.findNative(ev.object)
		return p.outcome(missing, known)
	case p.root == rootedInObject && p.lead == len(p.parts):
		missing, lacking := p.names.Has(&ev.root.v)
		return p.outcome(missing, missing < 0 || lacking != jsonform.List && lacking != jsonform.Invalid)
	}
	var at fusedValue
	return p.find(ev, &at)
}

// optionalPresence is path.hasValue().
type optionalPresence struct{ path *path }

func (t *optionalPresence) test(ev *Evaluation) (outcome, *Error) {
	var at fusedValue
	return t.path.find(ev, &at)
}

// textEquality is path == 'text' or path != 'text'.
type textEquality struct {
	path    *path
	text    string
	negated bool
}

func (t *textEquality) test(ev *Evaluation) (outcome, *Error) {
	o, result, err := t.path.operand(ev)
	switch {
	case result != yes:
		return result, err
	case o.kind == operandOther:
		return unsure, nil
	}
	return outcomeOf((o.kind == operandText && o.text == t.text) != t.negated), nil
}

// equality is a == b or a != b.
type equality struct {
	left, right source
	negated     bool
}

func (t *equality) test(ev *Evaluation) (outcome, *Error) {
	left, right, result, err := both(ev, t.left, t.right)
	if result != yes {
		return result, err
	}
	equal, known := left.equal(right)
	if !known {
		return unsure, nil
	}
	return outcomeOf(equal != t.negated), nil
}

// ordering is a < b, a <= b, a > b or a >= b.
type ordering struct {
	left, right source
	less        bool // < or <=
	same        bool // <= or >=
}

func (t *ordering) test(ev *Evaluation) (outcome, *Error) {
	left, right, result, err := both(ev, t.left, t.right)
	if result != yes {
		return result, err
	}
	order, known := left.compare(right)
	if !known {
		return unsure, nil
	}
	return outcomeOf(order == 0 && t.same || order < 0 && t.less || order > 0 && !t.less), nil
}

// both evaluates two operands; the left one's error counts first.
func both(ev *Evaluation, l, r source) (left, right operand, result outcome, err *Error) {
	left, result, err = l.operand(ev)
	if result == unsure {
		return left, right, result, err
	}
	right, other, otherErr := r.operand(ev)
	if result == yes || other == unsure {
		return left, right, other, otherErr
	}
	return left, right, result, err
}

// membership is x in ['a', 'b'].
type membership struct {
	elem source
	list []operand
}

func (t *membership) test(ev *Evaluation) (outcome, *Error) {
	elem, result, err := t.elem.operand(ev)
	if result != yes {
		return result, err
	}
	switch elem.kind {
	case operandText, operandInt, operandBool:
	default:
		return unsure, nil // has rules of its own, as cel-go makes a set of the list
	}
	for _, o := range t.list {
		if equal, known := o.equal(elem); !known {
			return unsure, nil
		} else if equal {
			return yes, nil
		}
	}
	return no, nil
}

// contained is x in a list, or in the keys of a map.
type contained struct {
	elem source
	in   *path
}

func (t *contained) test(ev *Evaluation) (outcome, *Error) {
	elem, result, err := t.elem.operand(ev)
	if result == unsure {
		return unsure, nil
	}
	var in fusedValue
	other, otherErr := t.in.find(ev, &in)
	switch {
	case other == unsure:
		return unsure, nil
	case result == fault:
		return fault, err
	case other == fault:
		return fault, otherErr
	case elem.kind != operandText:
		return unsure, nil
	}
	if n := in.length(); n > maxFusedElements || t.in.inLoop && !ev.affords(uint64(n)) {
		return unsure, nil
	}
	if in.typed {
		return containedTyped(&in.view, elem)
	}
	switch c := in.native.(type) {
	case map[string]any:
		_, ok := c[elem.text]
		return outcomeOf(ok), nil
	case []any:
		for _, v := range c {
			if s, ok := v.(string); ok && s == elem.text {
				return yes, nil
			}
		}
		return no, nil
	}
	return unsure, nil
}

func containedTyped(in *jsonform.Value, elem operand) (outcome, *Error) {
	switch in.Kind() {
	case jsonform.Map:
		return outcomeOf(in.Field(elem.text).Kind() != jsonform.Absent), nil
	case jsonform.List:
		for i := range in.Len() {
			v := in.Index(i)
			if v.Kind() == jsonform.Invalid {
				return unsure, nil
			}
			if v.Kind() == jsonform.String && v.Text() == elem.text {
				return yes, nil
			}
		}
		return no, nil
	}
	return unsure, nil
}

// textTest is a.startsWith(b), a.endsWith(b) or a.contains(b).
type textTest struct {
	text, part source
	function   string
}

func (t *textTest) test(ev *Evaluation) (outcome, *Error) {
	text, part, result, err := both(ev, t.text, t.part)
	switch {
	case result != yes:
		return result, err
	case text.kind != operandText || part.kind != operandText:
		return unsure, nil
	}
	switch t.function {
	case "startsWith":
		return outcomeOf(strings.HasPrefix(text.text, part.text)), nil
	case "endsWith":
		return outcomeOf(strings.HasSuffix(text.text, part.text)), nil
	}
	return outcomeOf(strings.Contains(text.text, part.text)), nil
}

// unfused is a term of a chain that only cel-go can evaluate. Often another term
// decides first.
type unfused struct{ program *Program }

func newUnfused(of *Program, e ast.Expr) *unfused {
	info := of.ast.SourceInfo()
	term := ast.NewCheckedAST(ast.NewAST(e, info), of.ast.TypeMap(), of.ast.ReferenceMap())
	return &unfused{&Program{
		env: of.env, cel: of.cel, ast: term, source: of.source, variable: of.variable,
		want: OutputBool, celType: of.ast.GetType(e.ID()), bounded: of.bounded,
	}}
}

func (t *unfused) test(ev *Evaluation) (outcome, *Error) {
	v, err := t.program.eval(ev)
	if err != nil {
		if err.Kind != MissingData || err.node <= 0 {
			return unsure, nil // where cel-go says it is depends on the whole expression
		}
		return fault, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return unsure, nil
	}
	return outcomeOf(bool(b)), nil
}
