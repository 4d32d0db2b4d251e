package celexpr

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// operandKind is what an operand of a fused comparison is.
type operandKind uint8

const (
	operandOther operandKind = iota // what only cel-go can compare
	operandNull
	operandBool
	operandInt
	operandDouble
	operandText
	operandList
	operandMap
)

// operand is a value in a form that needs no memory of its own. Lists and maps are
// only known to be such.
type operand struct {
	kind operandKind
	bits uint64 // of a bool, int or double
	text string
}

func boolOperand(b bool) operand {
	if b {
		return operand{kind: operandBool, bits: 1}
	}
	return operand{kind: operandBool}
}

func intOperand(i int64) operand   { return operand{kind: operandInt, bits: uint64(i)} }
func textOperand(s string) operand { return operand{kind: operandText, text: s} }
func (o operand) int() int64       { return int64(o.bits) }
func (o operand) double() float64  { return math.Float64frombits(o.bits) }
func doubleOperand(f float64) operand {
	return operand{kind: operandDouble, bits: math.Float64bits(f)}
}

// nativeOperand is that of a decoded JSON value.
func nativeOperand(v any) operand {
	switch x := v.(type) {
	case nil:
		return operand{kind: operandNull}
	case string:
		return textOperand(x)
	case int64:
		return intOperand(x)
	case bool:
		return boolOperand(x)
	case float64:
		return doubleOperand(x)
	case map[string]any:
		return operand{kind: operandMap}
	case []any:
		return operand{kind: operandList}
	}
	return operand{}
}

// viewOperand is that of a typed object's value.
func viewOperand(v *jsonform.Value) operand {
	switch v.Kind() {
	case jsonform.Null:
		return operand{kind: operandNull}
	case jsonform.String:
		return textOperand(v.Text())
	case jsonform.Int:
		return intOperand(v.Int())
	case jsonform.Bool:
		return boolOperand(v.Bool())
	case jsonform.Double:
		return doubleOperand(v.Double())
	case jsonform.Map:
		return operand{kind: operandMap}
	case jsonform.List:
		return operand{kind: operandList}
	}
	return operand{}
}

// valueOperand is that of a CEL value: a literal, param or variable.
func valueOperand(v ref.Val) operand {
	switch x := v.(type) {
	case types.Null:
		return operand{kind: operandNull}
	case types.String:
		return textOperand(string(x))
	case types.Int:
		return intOperand(int64(x))
	case types.Bool:
		return boolOperand(bool(x))
	case types.Double:
		return doubleOperand(float64(x))
	}
	return operand{}
}

// equal compares as CEL does: values of different types differ, except for numbers.
// It doesn't know about lists, maps and others.
func (o operand) equal(other operand) (equal, known bool) {
	switch {
	case o.kind == operandOther || other.kind == operandOther:
		return false, false
	case o.kind == other.kind:
		switch o.kind {
		case operandText:
			return o.text == other.text, true
		case operandDouble:
			return o.double() == other.double(), true
		case operandList, operandMap:
			return false, false
		}
		return o.bits == other.bits, true
	case o.kind == operandInt && other.kind == operandDouble:
		return types.Int(o.int()).Equal(types.Double(other.double())) == types.True, true
	case o.kind == operandDouble && other.kind == operandInt:
		return types.Double(o.double()).Equal(types.Int(other.int())) == types.True, true
	}
	return false, true
}

// compare orders two texts, ints or doubles; it doesn't know about others.
func (o operand) compare(other operand) (order int, known bool) {
	if o.kind != other.kind {
		return 0, false
	}
	switch o.kind {
	case operandText:
		return compareOrdered(o.text, other.text), true
	case operandInt:
		return compareOrdered(o.int(), other.int()), true
	case operandDouble:
		a, b := o.double(), other.double()
		return compareOrdered(a, b), a == a && b == b // NaN has no order
	}
	return 0, false
}

func compareOrdered[T string | int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
