package jsonform

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// plain is the view of a value as encoding/json decodes it. Other Go values, which
// programs put into unstructured objects by mistake, are viewed by their types.
func plain(v any) Value {
	switch x := v.(type) {
	case nil:
		return Value{kind: Null}
	case bool:
		return Value{kind: Bool, json: v}
	case int64:
		return Value{kind: Int, json: v}
	case float64:
		return Value{kind: Double, json: v}
	case string:
		return Value{kind: String, json: v}
	case []any:
		if x != nil {
			return Value{kind: List, json: v}
		}
	case map[string]any:
		if x != nil {
			return Value{kind: Map, json: v}
		}
	}
	return NewPlans().Of(v)
}

// textual is the view of a text, without the cost of making it an interface.
func textual(s string) Value { return Value{kind: String, text: validUTF8(s)} }

func invalid(err error) Value { return Value{kind: Invalid, json: err} }

// view returns the view of a Go value: of what pointers and interfaces hold, of
// what a type with a form of its own writes.
func (p *plan) view(rv reflect.Value) Value {
	for {
		switch p.form {
		case formBool:
			return Value{kind: Bool, plan: p, rv: rv}
		case formInt:
			return Value{kind: Int, plan: p, rv: rv}
		case formString:
			return Value{kind: String, plan: p, rv: rv}
		case formStruct:
			return Value{kind: Map, plan: p, rv: rv}
		case formPointer:
			if rv.IsNil() {
				return Value{kind: Null}
			}
			rv, p = rv.Elem(), p.elem
		case formInterface:
			if rv.IsNil() {
				return Value{kind: Null}
			}
			rv = rv.Elem()
			p = p.plans.of(rv.Type())
		case formAddressable:
			if rv.CanAddr() {
				p = p.addr
			} else {
				p = p.elem
			}
		case formList:
			if rv.Kind() == reflect.Slice && rv.IsNil() {
				return Value{kind: Null}
			}
			return Value{kind: List, plan: p, rv: rv}
		case formMap:
			if rv.IsNil() {
				return Value{kind: Null}
			}
			return Value{kind: Map, plan: p, rv: rv}
		case formBytes:
			if rv.IsNil() {
				return Value{kind: Null}
			}
			return Value{kind: String, plan: p, rv: rv}
		default:
			return p.converted(rv)
		}
	}
}

// converted is the view of what has to be written first.
func (p *plan) converted(rv reflect.Value) Value {
	switch p.form {
	case formUint:
		if n := rv.Uint(); n > math.MaxInt64 {
			return plain(float64(n))
		}
		return plain(int64(rv.Uint()))
	case formFloat:
		return number(rv.Float(), rv.Type().Bits())
	case formNumber:
		return parsed(rv.String())
	case formOwn:
		v, err := p.own(rv)
		if err != nil {
			return invalid(err)
		}
		return plain(v)
	case formQuoted:
		if p.elem.form == formNumber {
			if v := parsed(rv.String()); v.kind == Invalid {
				return v
			}
			return plain(rv.String())
		}
		text, err := json.Marshal(rv.Interface())
		if err != nil {
			return invalid(err)
		}
		return plain(string(text))
	}
	return invalid(fmt.Errorf("a %v has no JSON form", p.typ))
}

// number returns a float as JSON writes it and reads it again: a whole one is an
// int64, and a float32 the number with its shortest text.
func number(f float64, bits int) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return invalid(fmt.Errorf("%v has no JSON form", f))
	}
	const exact = 1 << 53 // up to here a float64's text is its value
	if bits == 64 && math.Abs(f) < exact {
		if f == math.Trunc(f) {
			return plain(int64(f))
		}
		return plain(f)
	}
	text, err := json.Marshal(f)
	if bits == 32 {
		text, err = json.Marshal(float32(f))
	}
	if err != nil {
		return invalid(err)
	}
	return parsed(string(text))
}

// parsed reads the text of a number.
func parsed(text string) Value {
	if text == "" {
		text = "0" // a json.Number's zero value
	}
	if !json.Valid([]byte(text)) || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return invalid(fmt.Errorf("%q is no number", text))
	}
	if !strings.Contains(text, ".") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return plain(i)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return invalid(err)
	}
	return plain(f)
}
