package celexpr

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// Typed objects as CEL values: fields and elements are read where they are; what
// needs a whole map or list (comparing, converting, printing) makes it first. Both
// must behave as cel-go's own values of the JSON form do.

// viewed returns the CEL value of a view.
func viewed(adapter types.Adapter, v jsonform.Value) ref.Val {
	if decoded, ok := v.JSON(); ok {
		return adapter.NativeToValue(decoded)
	}
	switch v.Kind() {
	case jsonform.Null:
		return types.NullValue
	case jsonform.Bool:
		return types.Bool(v.Bool())
	case jsonform.Int:
		return types.Int(v.Int())
	case jsonform.Double:
		return types.Double(v.Double())
	case jsonform.String:
		return types.String(v.Text())
	case jsonform.List:
		return &typedList{typedValue{v: v, adapter: adapter}}
	case jsonform.Map:
		return &typedMap{typedValue{v: v, adapter: adapter}}
	}
	return types.NewErr("read the object: %v", v.Err())
}

// whole returns cel-go's own value of all that the view shows.
func whole(adapter types.Adapter, v jsonform.Value) ref.Val {
	decoded, err := v.Any()
	if err != nil {
		return types.NewErr("read the object: %v", err)
	}
	return adapter.NativeToValue(decoded)
}

// typedValue is what maps and lists of a typed object have in common.
type typedValue struct {
	v       jsonform.Value
	adapter types.Adapter
}

// ConvertToNative implements ref.Val.
func (v *typedValue) ConvertToNative(t reflect.Type) (any, error) {
	return whole(v.adapter, v.v).ConvertToNative(t)
}

// Value implements ref.Val: the JSON form.
func (v *typedValue) Value() any { return whole(v.adapter, v.v).Value() }

// IsZeroValue implements traits.Zeroer.
func (v *typedValue) IsZeroValue() bool { return v.v.Len() == 0 }

// String is what messages show.
func (v *typedValue) String() string { return fmt.Sprint(whole(v.adapter, v.v)) }

// typedMap is a struct or map of a typed object.
type typedMap struct{ typedValue }

var (
	_ traits.Mapper   = (*typedMap)(nil)
	_ traits.Foldable = (*typedMap)(nil)
	_ traits.Lister   = (*typedList)(nil)
	_ traits.Foldable = (*typedList)(nil)
)

// Find implements traits.Mapper.
func (m *typedMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v := m.v.Field(string(name))
	if v.Kind() == jsonform.Absent {
		return nil, false
	}
	return viewed(m.adapter, v), true
}

// Get implements traits.Indexer.
func (m *typedMap) Get(key ref.Val) ref.Val {
	v, found := m.Find(key)
	if !found {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

// Contains implements traits.Container.
func (m *typedMap) Contains(key ref.Val) ref.Val {
	_, found := m.Find(key)
	return types.Bool(found)
}

// Size implements traits.Sizer.
func (m *typedMap) Size() ref.Val { return types.Int(m.v.Len()) }

// Iterator implements traits.Iterable: the keys, sorted.
func (m *typedMap) Iterator() traits.Iterator {
	names := make([]string, 0, m.v.Len())
	for name := range m.v.Entries() {
		names = append(names, name)
	}
	return types.NewStringList(m.adapter, names).Iterator()
}

// Fold implements traits.Foldable.
func (m *typedMap) Fold(f traits.Folder) {
	for name, v := range m.v.Entries() {
		if !f.FoldEntry(name, viewed(m.adapter, v)) {
			return
		}
	}
}

// Equal implements ref.Val.
func (m *typedMap) Equal(other ref.Val) ref.Val {
	if _, ok := other.(traits.Mapper); !ok {
		return types.False
	}
	return whole(m.adapter, m.v).Equal(other)
}

// ConvertToType implements ref.Val.
func (m *typedMap) ConvertToType(t ref.Type) ref.Val {
	if t == types.MapType {
		return m
	}
	return whole(m.adapter, m.v).ConvertToType(t)
}

// Type implements ref.Val.
func (m *typedMap) Type() ref.Type { return types.MapType }

// typedList is a list of a typed object.
type typedList struct{ typedValue }

// Add implements traits.Adder.
func (l *typedList) Add(other ref.Val) ref.Val {
	return whole(l.adapter, l.v).(traits.Adder).Add(other)
}

// Contains implements traits.Container.
func (l *typedList) Contains(elem ref.Val) ref.Val {
	for v := range l.v.Elements() {
		if elem.Equal(viewed(l.adapter, v)) == types.True {
			return types.True
		}
	}
	return types.False
}

// Get implements traits.Indexer.
func (l *typedList) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.ValOrErr(index, "%v", err)
	}
	if i < 0 || i >= l.v.Len() {
		return types.NewErr("index '%d' out of range in list size '%d'", i, l.Size())
	}
	return viewed(l.adapter, l.v.Index(i))
}

// Size implements traits.Sizer.
func (l *typedList) Size() ref.Val { return types.Int(l.v.Len()) }

// Iterator implements traits.Iterable.
func (l *typedList) Iterator() traits.Iterator { return &typedIterator{list: l} }

// Fold implements traits.Foldable.
func (l *typedList) Fold(f traits.Folder) {
	i := types.Int(0)
	for v := range l.v.Elements() {
		if !f.FoldEntry(i, viewed(l.adapter, v)) {
			return
		}
		i++
	}
}

// Equal implements ref.Val.
func (l *typedList) Equal(other ref.Val) ref.Val {
	if _, ok := other.(traits.Lister); !ok {
		return types.False
	}
	return whole(l.adapter, l.v).Equal(other)
}

// ConvertToType implements ref.Val.
func (l *typedList) ConvertToType(t ref.Type) ref.Val {
	if t == types.ListType {
		return l
	}
	return whole(l.adapter, l.v).ConvertToType(t)
}

// Type implements ref.Val.
func (l *typedList) Type() ref.Type { return types.ListType }

// typedIterator goes through a list.
type typedIterator struct {
	list *typedList
	next int
}

// HasNext implements traits.Iterator.
func (i *typedIterator) HasNext() ref.Val { return types.Bool(i.next < i.list.v.Len()) }

// Next implements traits.Iterator.
func (i *typedIterator) Next() ref.Val {
	i.next++
	return viewed(i.list.adapter, i.list.v.Index(i.next-1))
}

// ConvertToNative implements ref.Val.
func (i *typedIterator) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("an iterator can't be converted to %v", t)
}

// ConvertToType implements ref.Val.
func (i *typedIterator) ConvertToType(ref.Type) ref.Val { return types.NoSuchOverloadErr() }

// Equal implements ref.Val.
func (i *typedIterator) Equal(ref.Val) ref.Val { return types.NoSuchOverloadErr() }

// Type implements ref.Val.
func (i *typedIterator) Type() ref.Type { return types.IteratorType }

// Value implements ref.Val.
func (i *typedIterator) Value() any { return nil }
