package celexpr

import (
	"math/bits"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// costEstimator counts what calls cost. It is Kubernetes', and also counts what
// that one takes for free: cel-go knows a call's cost by its overload, and on
// values of type dyn there is none yet, so joining texts of an object cost 1
// whatever their length.
type costEstimator struct{ library.CostEstimator }

// charactersPerUnit is cel-go's rate for walking over a text.
const charactersPerUnit = 10

// CallCost implements cel-go's interpreter.ActualCostEstimator.
func (e *costEstimator) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	cost := e.CostEstimator.CallCost(function, overload, args, result)
	more := made(function, result)
	switch function {
	case "@in":
		if l, ok := args[1].(traits.Lister); ok {
			more = size(l)
		}
	case "sort", "@sortByAssociatedKeys", "distinct":
		if l, ok := args[0].(traits.Lister); ok {
			n := size(l)
			more += n * uint64(bits.Len64(n)) / comparisonsPerUnit
			if function == "distinct" {
				more += n * n / comparisonsPerUnit
			}
		}
	case "charAt", "reverse", "contains":
		if text, ok := args[0].(types.String); ok {
			more += uint64(len(text)) / charactersPerUnit
		}
	}
	if more == 0 {
		return cost
	}
	if cost != nil {
		more += *cost
	}
	return &more
}

// comparisonsPerUnit is how many comparisons of elements cost one.
const comparisonsPerUnit = 10

// made returns what a call costs for the text or list that it makes, 0 for one
// that only selects what there is.
func made(function string, result ref.Val) uint64 {
	switch function {
	case "_[_]", "_?._", "_[?_]", "_?_:_", "_&&_", "_||_", "orValue", "or", "value", "optional.of", "optional.none",
		"optional.ofNonZeroValue", "first", "last", "dyn", "min", "max", "string":
		return 0
	}
	switch r := result.(type) {
	case types.String:
		return uint64(len(r)) / charactersPerUnit
	case types.Bytes:
		return uint64(len(r)) / charactersPerUnit
	case traits.MutableLister:
		return 0 // a loop's result, which grows in place
	case traits.Lister:
		return size(r)
	}
	return 0
}

func size(s traits.Sizer) uint64 {
	n, _ := s.Size().(types.Int)
	return uint64(max(n, 0))
}
