package jsonform

import (
	"encoding"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// entry returns the entry of a Go map. Those of labels and of free-form objects are
// read without reflection, which would copy them to the heap.
func (v Value) entry(name string) Value {
	if !v.rv.CanInterface() {
		return v.entryByReflection(name)
	}
	switch m := v.rv.Interface().(type) {
	case map[string]string:
		if s, ok := m[name]; ok {
			return textual(s)
		}
	case map[string]any:
		if x, ok := m[name]; ok {
			return v.plan.plans.Of(x)
		}
	default:
		return v.entryByReflection(name)
	}
	return v.searched(name)
}

func (v Value) entryByReflection(name string) Value {
	if key := v.rv.Type().Key(); key.Kind() == reflect.String {
		if at := v.rv.MapIndex(reflect.ValueOf(name).Convert(key)); at.IsValid() {
			return v.plan.elem.view(at)
		}
		return v.searched(name)
	}
	return v.search(name)
}

// searched looks for a key that JSON writes in another way than Go.
func (v Value) searched(name string) Value {
	if !strings.ContainsRune(name, '\uFFFD') {
		return Value{}
	}
	return v.search(name)
}

func (v Value) search(name string) Value {
	for it := v.rv.MapRange(); it.Next(); {
		if keyName(it.Key()) == name {
			return v.plan.elem.view(it.Value())
		}
	}
	return Value{}
}

// keyName is how JSON writes a map's key.
func keyName(k reflect.Value) string {
	switch k.Kind() {
	case reflect.String:
		return validUTF8(k.String())
	case reflect.Pointer, reflect.Interface:
		if k.IsNil() {
			return ""
		}
	}
	if t, ok := k.Interface().(encoding.TextMarshaler); ok {
		text, err := t.MarshalText()
		if err != nil {
			return ""
		}
		return validUTF8(string(text))
	}
	if k.CanInt() {
		return strconv.FormatInt(k.Int(), 10)
	}
	return strconv.FormatUint(k.Uint(), 10)
}

func (v Value) mapEntries() iter.Seq2[string, Value] {
	type entry struct {
		name  string
		value reflect.Value
	}
	return func(yield func(string, Value) bool) {
		entries := make([]entry, 0, v.rv.Len())
		for it := v.rv.MapRange(); it.Next(); {
			entries = append(entries, entry{keyName(it.Key()), it.Value()})
		}
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		for _, e := range entries {
			if !yield(e.name, v.plan.elem.view(e.value)) {
				return
			}
		}
	}
}
