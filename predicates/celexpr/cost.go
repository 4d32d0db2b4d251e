package celexpr

import (
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
	var grown uint64
	switch function {
	case "_+_", "format", "replace":
		switch r := result.(type) {
		case types.String:
			grown = uint64(len(r)) / charactersPerUnit
		case types.Bytes:
			grown = uint64(len(r)) / charactersPerUnit
		case traits.MutableLister:
			// a loop's result, which grows in place
		case traits.Lister:
			grown = size(r)
		}
	case "@in":
		if l, ok := args[1].(traits.Lister); ok {
			grown = size(l)
		}
	}
	cost := e.CostEstimator.CallCost(function, overload, args, result)
	if grown == 0 {
		return cost
	}
	if cost != nil {
		grown += *cost
	}
	return &grown
}

func size(s traits.Sizer) uint64 {
	n, _ := s.Size().(types.Int)
	return uint64(max(n, 0))
}
