package predicates

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// maxTypeDepth bounds how deep lists and maps nest in a param's type.
const maxTypeDepth = 8

// paramType is a param's declared type.
type paramType struct {
	name    string     // of a scalar, or "list" or "map"
	element *paramType // of a list or map
}

// parseType parses string, int, double, bool, duration, quantity, list(T) and
// map(string, T).
func parseType(s string) (*paramType, error) { return parseTypeAt(s, 1) }

func parseTypeAt(s string, depth int) (*paramType, error) {
	s = strings.TrimSpace(s)
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("type nests deeper than %d levels", maxTypeDepth)
	}
	name, rest, ok := strings.Cut(s, "(")
	name = strings.TrimSpace(name)
	switch name {
	case "string", "int", "double", "bool", "duration", "quantity":
		if ok {
			return nil, fmt.Errorf("type %s takes no parentheses", name)
		}
		return &paramType{name: name}, nil
	case "list", "map":
		inner, closed := strings.CutSuffix(rest, ")")
		if name == "map" {
			var key string
			key, inner, _ = strings.Cut(inner, ",")
			ok = ok && strings.TrimSpace(key) == "string"
		}
		if !ok || !closed {
			return nil, fmt.Errorf("type %q must be written list(T) or map(string, T)", s)
		}
		element, err := parseTypeAt(inner, depth+1)
		if err != nil {
			return nil, err
		}
		return &paramType{name: name, element: element}, nil
	}
	return nil, fmt.Errorf("unknown type %q; %s", s, nearest.Hint(name, "types",
		[]string{"string", "int", "double", "bool", "duration", "quantity", "list(T)", "map(string, T)"}))
}

// String returns the type as it is declared.
func (t *paramType) String() string {
	switch t.name {
	case "list":
		return "list(" + t.element.String() + ")"
	case "map":
		return "map(string, " + t.element.String() + ")"
	}
	return t.name
}

// accepts reports whether every value of the other type can be converted.
func (t *paramType) accepts(other *paramType) bool {
	if t.element != nil {
		return t.name == other.name && t.element.accepts(other.element)
	}
	return t.name == other.name || t.name == "double" && other.name == "int"
}

// convert returns the value as the type's own Go type: string, int64, float64,
// bool, time.Duration, resource.Quantity, []any or map[string]any of those. It
// takes what callers and JSON have for them. The error doesn't show the value.
func (t *paramType) convert(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, fmt.Errorf("must be %s, it is null", t)
	case metav1.Duration:
		value = v.Duration
	case *resource.Quantity:
		if v == nil {
			return nil, fmt.Errorf("must be %s, it is nil", t)
		}
		value = *v
	case json.Number:
		return t.number(v)
	}
	v := reflect.ValueOf(value)
	switch t.name {
	case "string":
		if v.Kind() == reflect.String {
			return v.String(), nil
		}
	case "bool":
		if v.Kind() == reflect.Bool {
			return v.Bool(), nil
		}
	case "int":
		if v.Type() == reflect.TypeFor[time.Duration]() {
			break // nanoseconds would hardly be what is meant
		}
		switch {
		case v.CanInt():
			return v.Int(), nil
		case v.CanUint() && v.Uint() <= math.MaxInt64:
			return int64(v.Uint()), nil
		case v.CanFloat() && v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) <= 1<<53:
			return int64(v.Float()), nil
		case v.CanUint(), v.CanFloat():
			return nil, fmt.Errorf("must be int, it has a fraction or is out of range")
		}
	case "double":
		switch {
		case v.CanInt() && v.Type() != reflect.TypeFor[time.Duration]():
			return float64(v.Int()), nil
		case v.CanUint():
			return float64(v.Uint()), nil
		case v.CanFloat() && !math.IsInf(v.Float(), 0) && !math.IsNaN(v.Float()):
			return v.Float(), nil
		case v.CanFloat():
			return nil, fmt.Errorf("must be double, it is no finite number")
		}
	case "duration":
		if v.Type() == reflect.TypeFor[time.Duration]() {
			return value, nil
		}
		if v.Kind() == reflect.String {
			if d, err := time.ParseDuration(v.String()); err == nil {
				return d, nil
			}
			return nil, fmt.Errorf("must be duration, it is a string that can't be read as one; write it like 30s or 10m")
		}
	case "quantity":
		return toQuantity(value, v)
	case "list":
		return t.list(v)
	case "map":
		return t.mapping(v)
	}
	return nil, fmt.Errorf("must be %s, it is %s", t, kindOf(v))
}

// number converts a number that JSON left as text.
func (t *paramType) number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return t.convert(i)
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("must be %s, it is a number out of range", t)
	}
	return t.convert(f)
}

func toQuantity(value any, v reflect.Value) (any, error) {
	switch {
	case v.Type() == reflect.TypeFor[resource.Quantity]():
		q := value.(resource.Quantity).DeepCopy()
		_ = q.String() // it caches its text, which mustn't happen while it is shared
		return q, nil
	case v.Kind() == reflect.String:
		q, err := document.ParseQuantity(v.String())
		if err != nil {
			return nil, fmt.Errorf("must be quantity, it is a string that can't be read as one; write it like 10Gi")
		}
		_ = q.String()
		return q, nil
	case v.CanInt() && v.Type() != reflect.TypeFor[time.Duration]():
		q := *resource.NewQuantity(v.Int(), resource.DecimalSI)
		_ = q.String()
		return q, nil
	}
	return nil, fmt.Errorf("must be quantity, it is %s", kindOf(v))
}

func (t *paramType) list(v reflect.Value) (any, error) {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return nil, fmt.Errorf("must be %s, it is %s", t, kindOf(v))
	}
	list := make([]any, v.Len())
	for i := range list {
		e, err := t.element.convert(v.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d %w", i, err)
		}
		list[i] = e
	}
	return list, nil
}

func (t *paramType) mapping(v reflect.Value) (any, error) {
	if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("must be %s, it is %s", t, kindOf(v))
	}
	m := make(map[string]any, v.Len())
	for i := v.MapRange(); i.Next(); {
		e, err := t.element.convert(i.Value().Interface())
		if err != nil {
			return nil, fmt.Errorf("value of %q %w", i.Key().String(), err)
		}
		m[i.Key().String()] = e
	}
	return m, nil
}

// kindOf names a Go value's type in the words of params.
func kindOf(v reflect.Value) string {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return "a duration"
	case v.Type() == reflect.TypeFor[resource.Quantity]():
		return "a quantity"
	case v.CanInt(), v.CanUint():
		return "an int"
	case v.CanFloat():
		return "a double"
	case v.Kind() == reflect.String:
		return "a string"
	case v.Kind() == reflect.Bool:
		return "a bool"
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		return "a list"
	case v.Kind() == reflect.Map:
		return "a map"
	}
	return "a " + v.Type().String()
}

// plain returns a converted value in the form that JSON and YAML have for it, the
// same for all ways to write it: keys and digests are made of that.
func plain(value any) any {
	switch v := value.(type) {
	case time.Duration:
		return v.String()
	case resource.Quantity:
		// Equal quantities may differ in format: 1Gi, 1073741824, 1073741824.0.
		s := v.AsDec().String()
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = plain(e)
		}
		return m
	}
	return value
}
