package celexpr

import (
	"unicode/utf8"
)

// fallback is path.orValue(x), of a path with an optional part.
type fallback struct {
	path *path
	or   source
}

func (s *fallback) operand(ev *Evaluation) (operand, outcome, *Error) {
	o, result, err := s.path.operand(ev)
	if result == no {
		return s.or.operand(ev)
	}
	return o, result, err
}

// sizeOf is size(path).
type sizeOf struct{ path *path }

func (s *sizeOf) operand(ev *Evaluation) (operand, outcome, *Error) {
	var at fusedValue
	result, err := s.path.find(ev, &at)
	if result != yes {
		return operand{}, result, err
	}
	switch o := at.operand(); {
	case o.kind == operandList || o.kind == operandMap && !s.path.inLoop:
		return intOperand(int64(at.size())), yes, nil
	case o.kind == operandText && !s.path.inLoop:
		return intOperand(int64(utf8.RuneCountInString(o.text))), yes, nil
	}
	return operand{}, unsure, nil
}

// conditionPart is condition(object, 'type').field.
type conditionPart struct{ typ, field string }

func (s *conditionPart) operand(ev *Evaluation) (operand, outcome, *Error) {
	c := ev.condition(s.typ)
	return c.operand(s.field)
}

// operand returns a field of a condition.
func (c *condition) operand(field string) (operand, outcome, *Error) {
	switch field {
	case "present":
		return boolOperand(c.present), yes, nil
	case "status":
		return textOperand(c.status), yes, nil
	case "reason":
		return textOperand(c.reason), yes, nil
	case "message":
		return textOperand(c.message), yes, nil
	case "observedGeneration":
		return intOperand(c.observedGeneration), yes, nil
	case "current":
		return boolOperand(c.current), yes, nil
	}
	return operand{}, unsure, nil
}

// conditionTrue is isTrue(object, 'type').
type conditionTrue struct{ typ string }

func (t *conditionTrue) test(ev *Evaluation) (outcome, *Error) {
	c := ev.condition(t.typ)
	return outcomeOf(c.status == statusTrue && c.current), nil
}

// answer is a condition as an operand.
type answer struct{ of test }

func (s *answer) operand(ev *Evaluation) (operand, outcome, *Error) {
	result, err := s.of.test(ev)
	if result == yes || result == no {
		return boolOperand(result == yes), yes, nil
	}
	return operand{}, result, err
}

// choice is condition ? a : b.
type choice struct {
	condition test
	yes, no   source
}

func (s *choice) operand(ev *Evaluation) (operand, outcome, *Error) {
	chosen := s.no
	switch result, _ := s.condition.test(ev); result {
	case yes:
		chosen = s.yes
	case unsure, fault:
		return operand{}, unsure, nil
	}
	o, result, _ := chosen.operand(ev)
	if result != yes {
		return operand{}, unsure, nil // cel-go's errors of a choice are about the whole of it
	}
	return o, yes, nil
}

// sum is a + b or a - b of numbers.
type sum struct {
	left, right source
	negated     bool
}

func (s *sum) operand(ev *Evaluation) (operand, outcome, *Error) {
	left, right, result, err := both(ev, s.left, s.right)
	switch {
	case result != yes:
		return operand{}, result, err
	case left.kind != right.kind:
	case left.kind == operandInt:
		a, b := left.int(), right.int()
		c := a + b
		overflow := (c > a) != (b > 0)
		if s.negated {
			c = a - b
			overflow = (c < a) != (b > 0)
		}
		if !overflow {
			return intOperand(c), yes, nil
		}
	case left.kind == operandDouble && s.negated:
		return doubleOperand(left.double() - right.double()), yes, nil
	case left.kind == operandDouble:
		return doubleOperand(left.double() + right.double()), yes, nil
	}
	return operand{}, unsure, nil
}
