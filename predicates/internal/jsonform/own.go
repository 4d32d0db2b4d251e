package jsonform

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ownJSON returns how values of a type with a MarshalJSON are read. The common ones
// of API objects are read without writing JSON. Quantities aren't among them: their
// String writes into the value, which others read at the same time.
func ownJSON(t reflect.Type) func(reflect.Value) (any, error) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return func(v reflect.Value) (any, error) {
			t := pointer[metav1.Time](v)
			if t.IsZero() {
				return nil, nil
			}
			return t.UTC().Format(time.RFC3339), nil
		}
	case reflect.TypeFor[metav1.MicroTime]():
		return func(v reflect.Value) (any, error) {
			t := pointer[metav1.MicroTime](v)
			if t.IsZero() {
				return nil, nil
			}
			return t.UTC().Format(metav1.RFC3339Micro), nil
		}
	case reflect.TypeFor[metav1.Duration]():
		return func(v reflect.Value) (any, error) { return pointer[metav1.Duration](v).Duration.String(), nil }
	case reflect.TypeFor[intstr.IntOrString]():
		return func(v reflect.Value) (any, error) {
			switch i := pointer[intstr.IntOrString](v); i.Type {
			case intstr.Int:
				return int64(i.IntVal), nil
			case intstr.String:
				return validUTF8(i.StrVal), nil
			default:
				return nil, fmt.Errorf("an IntOrString is of neither type")
			}
		}
	}
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		return marshalAddr
	}
	return marshal
}

// pointer returns v as a pointer, to a copy if v has no address.
func pointer[T any](v reflect.Value) *T { return addressed(v).Interface().(*T) }

// marshal is for pointers and interfaces, and marshalAddr for what can have an
// address, which then is not copied. A nil pointer is null.
func marshal(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	return decoded(v)
}

func marshalAddr(v reflect.Value) (any, error) { return decoded(addressed(v)) }

func decoded(v reflect.Value) (any, error) {
	data, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("write a %v as JSON: %w", v.Type(), err)
	}
	var out any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read the JSON that a %v writes: %w", v.Type(), err)
	}
	return out, nil
}

func marshalText(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Interface && v.IsNil() {
		return nil, nil
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return nil, fmt.Errorf("write a %v as text: %w", v.Type(), err)
	}
	return validUTF8(string(text)), nil
}

func marshalTextAddr(v reflect.Value) (any, error) { return marshalText(v.Addr()) }
