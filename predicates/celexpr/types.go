package celexpr

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/donewhen/donewhen/predicates/internal/document"
)

// maxTypeDepth bounds list(list(…)).
const maxTypeDepth = 8

// paramType is a param's declared type.
type paramType struct {
	name string
	elem *paramType // of list and map
	cel  *cel.Type
}

func parseType(s string) (*paramType, error) { return parseTypeAt(s, s, 0) }

func parseTypeAt(s, whole string, depth int) (*paramType, error) {
	s = strings.TrimSpace(s)
	if scalar, ok := scalarType(s); ok {
		return &paramType{name: s, cel: scalar}, nil
	}
	bad := fmt.Errorf("unknown type %q: want string, int, double, bool, duration, quantity, list(T) or map(string, T)", whole)
	if depth == maxTypeDepth {
		return nil, fmt.Errorf("type %q nests too deep", whole)
	}
	inner, ok := strings.CutSuffix(s, ")")
	if !ok {
		return nil, bad
	}
	if list, ok := strings.CutPrefix(inner, "list("); ok {
		elem, err := parseTypeAt(list, whole, depth+1)
		if err != nil {
			return nil, err
		}
		return &paramType{name: "list", elem: elem, cel: cel.ListType(elem.cel)}, nil
	}
	entries, ok := strings.CutPrefix(inner, "map(")
	if !ok {
		return nil, bad
	}
	key, value, ok := strings.Cut(entries, ",")
	if !ok || strings.TrimSpace(key) != "string" {
		return nil, bad
	}
	elem, err := parseTypeAt(value, whole, depth+1)
	if err != nil {
		return nil, err
	}
	return &paramType{name: "map", elem: elem, cel: cel.MapType(cel.StringType, elem.cel)}, nil
}

func scalarType(s string) (*cel.Type, bool) {
	switch s {
	case "string":
		return cel.StringType, true
	case "int":
		return cel.IntType, true
	case "double":
		return cel.DoubleType, true
	case "bool":
		return cel.BoolType, true
	case "duration":
		return cel.DurationType, true
	case "quantity":
		return apiservercel.QuantityType, true
	}
	return nil, false
}

// value converts a Go value to a CEL value of the type.
func (t *paramType) value(v any) (ref.Val, error) {
	switch t.name {
	case "string":
		if s, ok := v.(string); ok {
			return types.String(s), nil
		}
	case "bool":
		if b, ok := v.(bool); ok {
			return types.Bool(b), nil
		}
	case "int":
		if i, ok := toInt(v); ok {
			return types.Int(i), nil
		}
	case "double":
		if f, ok := v.(float64); ok {
			return types.Double(f), nil
		}
		if i, ok := toInt(v); ok {
			return types.Double(i), nil
		}
	case "duration":
		if d, ok := toDuration(v); ok {
			return types.Duration{Duration: d}, nil
		}
	case "quantity":
		if q, ok := toQuantity(v); ok {
			return apiservercel.Quantity{Quantity: q}, nil
		}
	case "list":
		return t.listValue(v)
	case "map":
		return t.mapValue(v)
	}
	return nil, fmt.Errorf("want %s, got %T", t.cel, v)
}

func (t *paramType) listValue(v any) (ref.Val, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() != reflect.Slice {
		return nil, fmt.Errorf("want %s, got %T", t.cel, v)
	}
	elems := make([]ref.Val, rv.Len())
	for i := range elems {
		elem, err := t.elem.value(rv.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		elems[i] = elem
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elems), nil
}

func (t *paramType) mapValue(v any) (ref.Val, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() != reflect.Map || rv.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("want %s, got %T", t.cel, v)
	}
	entries := make(map[ref.Val]ref.Val, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		key := it.Key().String()
		elem, err := t.elem.value(it.Value().Interface())
		if err != nil {
			return nil, fmt.Errorf("value of %q: %w", key, err)
		}
		entries[types.String(key)] = elem
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, entries), nil
}

func toInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		// Whole numbers that a float64 holds exactly.
		if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int64(n), true
		}
	}
	return 0, false
}

func toDuration(v any) (time.Duration, bool) {
	switch d := v.(type) {
	case time.Duration:
		return d, true
	case string:
		parsed, err := time.ParseDuration(d)
		return parsed, err == nil
	}
	return 0, false
}

func toQuantity(v any) (*resource.Quantity, bool) {
	var q resource.Quantity
	switch x := v.(type) {
	case resource.Quantity:
		q = x.DeepCopy()
	case *resource.Quantity:
		if x == nil {
			return nil, false
		}
		q = x.DeepCopy()
	case string:
		parsed, err := document.ParseQuantity(x)
		if err != nil {
			return nil, false
		}
		q = parsed
	default:
		i, ok := toInt(v)
		if !ok {
			return nil, false
		}
		q = *resource.NewQuantity(i, resource.BinarySI)
	}
	// String caches its result in the quantity, which is a write: do it now, as
	// the value is shared between goroutines.
	_ = q.String()
	return &q, true
}
