package celexpr

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// condition(object, 'Ready') has a type of its own, so that a misspelt field is a
// compile error, and is total: whatever the object looks like there is a value.

const conditionTypeName = "donewhen.Condition"

// Condition status values as the API conventions spell them.
const (
	statusTrue    = "True"
	statusUnknown = "Unknown"
)

// condition is the value of condition(object, type).
type condition struct {
	present            bool
	status             string // "Unknown" if absent
	reason             string
	message            string
	observedGeneration int64
	// current is false if the condition's or the status' observedGeneration is
	// behind metadata.generation.
	current bool
}

// conditionField is one field of the type.
type conditionField struct {
	typ *types.Type
	get func(*condition) ref.Val
}

func conditionFieldOf(name string) (conditionField, bool) {
	switch name {
	case "present":
		return conditionField{types.BoolType, func(c *condition) ref.Val { return types.Bool(c.present) }}, true
	case "status":
		return conditionField{types.StringType, func(c *condition) ref.Val { return types.String(c.status) }}, true
	case "reason":
		return conditionField{types.StringType, func(c *condition) ref.Val { return types.String(c.reason) }}, true
	case "message":
		return conditionField{types.StringType, func(c *condition) ref.Val { return types.String(c.message) }}, true
	case "observedGeneration":
		return conditionField{types.IntType, func(c *condition) ref.Val { return types.Int(c.observedGeneration) }}, true
	case "current":
		return conditionField{types.BoolType, func(c *condition) ref.Val { return types.Bool(c.current) }}, true
	}
	return conditionField{}, false
}

func conditionFieldNames() []string {
	return []string{"present", "status", "reason", "message", "observedGeneration", "current"}
}

// conditionType is the type's only instance; it is immutable.
var conditionType = types.NewObjectType(conditionTypeName, traits.IndexerType, traits.FieldTesterType)

func conditionFunction() cel.EnvOption {
	return cel.Function("condition", cel.Overload("condition_dyn_string",
		[]*cel.Type{cel.DynType, cel.StringType}, conditionType,
		cel.BinaryBinding(func(object, typ ref.Val) ref.Val {
			c := findCondition(object, string(typ.(types.String)))
			return &c
		})))
}

func isTrueFunction() cel.EnvOption {
	return cel.Function("isTrue", cel.Overload("isTrue_dyn_string",
		[]*cel.Type{cel.DynType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(object, typ ref.Val) ref.Val {
			c := findCondition(object, string(typ.(types.String)))
			return types.Bool(c.status == statusTrue && c.current)
		})))
}

// findCondition reads the first condition of the type. What is missing or of
// another type reads as absent.
func findCondition(root any, typ string) condition {
	c := condition{status: statusUnknown, current: true}
	generation, _ := integer(child(child(root, "metadata"), "generation"))
	status := child(root, "status")
	if seen, ok := integer(child(status, "observedGeneration")); ok && seen < generation {
		c.current = false
	}
	eachElement(child(status, "conditions"), func(entry any) bool {
		if text(child(entry, "type")) != typ {
			return true
		}
		c.present = true
		if s := text(child(entry, "status")); s != "" {
			c.status = s
		}
		c.reason = text(child(entry, "reason"))
		c.message = text(child(entry, "message"))
		if seen, ok := integer(child(entry, "observedGeneration")); ok {
			c.observedGeneration = seen
			if seen < generation {
				c.current = false
			}
		}
		return false
	})
	return c
}

// condition is condition(object, type) of the evaluation's object.
func (ev *Evaluation) condition(typ string) condition {
	if ev.typed {
		return ev.env.compiler.conditions.find(ev.root.v, typ)
	}
	return findCondition(ev.object, typ)
}

// conditionPaths are what findCondition reads, for typed objects.
type conditionPaths struct{ generation, seen, list, typ, status, reason, message, listSeen *jsonform.Path }

func newConditionPaths() *conditionPaths {
	return &conditionPaths{
		generation: jsonform.NewPath("metadata", "generation"), seen: jsonform.NewPath("status", "observedGeneration"),
		list: jsonform.NewPath("status", "conditions"), typ: jsonform.NewPath("type"), status: jsonform.NewPath("status"),
		reason: jsonform.NewPath("reason"), message: jsonform.NewPath("message"), listSeen: jsonform.NewPath("observedGeneration"),
	}
}

// find does what findCondition does, without CEL values.
func (p *conditionPaths) find(object jsonform.Value, typ string) condition {
	c := condition{status: statusUnknown, current: true}
	generation, _ := number(p.generation, object)
	if seen, ok := number(p.seen, object); ok && seen < generation {
		c.current = false
	}
	list, missing := p.list.Find(object)
	if missing >= 0 || list.Kind() != jsonform.List {
		return c
	}
	for i := range list.Len() {
		entry := list.Index(i)
		if words(p.typ, entry) != typ {
			continue
		}
		c.present = true
		if s := words(p.status, entry); s != "" {
			c.status = s
		}
		c.reason, c.message = words(p.reason, entry), words(p.message, entry)
		if seen, ok := number(p.listSeen, entry); ok {
			c.observedGeneration = seen
			if seen < generation {
				c.current = false
			}
		}
		break
	}
	return c
}

// number and words return what is at a path, if it is a number or text.
func number(p *jsonform.Path, of jsonform.Value) (int64, bool) {
	v, missing := p.Find(of)
	if missing >= 0 {
		return 0, false
	}
	if v.Kind() == jsonform.Double {
		return toInt(v.Double())
	}
	return v.Int(), v.Kind() == jsonform.Int
}

func words(p *jsonform.Path, of jsonform.Value) string {
	v, missing := p.Find(of)
	if missing >= 0 {
		return ""
	}
	return v.Text()
}

// child returns the value of a key of a JSON object, given as a Go map or a CEL
// value, or nil.
func child(v any, key string) any {
	switch m := v.(type) {
	case map[string]any:
		return m[key]
	case *typedMap:
		if found := m.v.Field(key); found.Kind() != jsonform.Absent {
			return viewed(m.adapter, found)
		}
		return nil
	case traits.Mapper:
		if native, ok := m.Value().(map[string]any); ok {
			return native[key]
		}
		if found, ok := m.Find(types.String(key)); ok {
			return found
		}
	}
	return nil
}

// eachElement calls f with the elements of a JSON array until it returns false.
func eachElement(v any, f func(any) bool) {
	switch l := v.(type) {
	case []any:
		for _, elem := range l {
			if !f(elem) {
				return
			}
		}
	case traits.Lister:
		size, _ := l.Size().(types.Int)
		for i := types.Int(0); i < size; i++ {
			if !f(l.Get(i)) {
				return
			}
		}
	}
}

func text(v any) string {
	switch s := v.(type) {
	case string:
		return s
	case types.String:
		return string(s)
	}
	return ""
}

func integer(v any) (int64, bool) {
	if val, ok := v.(ref.Val); ok {
		v = val.Value()
	}
	return toInt(v)
}

// ConvertToNative implements ref.Val.
func (c *condition) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a condition can't be converted to %v", t)
}

// ConvertToType implements ref.Val.
func (c *condition) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return conditionType
	}
	return types.NewErr("a condition can't be converted to %s", t.TypeName())
}

// Equal implements ref.Val.
func (c *condition) Equal(other ref.Val) ref.Val {
	o, ok := other.(*condition)
	return types.Bool(ok && *c == *o)
}

// Type implements ref.Val.
func (c *condition) Type() ref.Type { return conditionType }

// Value implements ref.Val.
func (c *condition) Value() any { return c }

// Get implements traits.Indexer, for conditions whose type got lost in a dyn.
func (c *condition) Get(index ref.Val) ref.Val {
	name, _ := index.(types.String)
	f, ok := conditionFieldOf(string(name))
	if !ok {
		return types.NewErr("no such key: %v", index)
	}
	return f.get(c)
}

// IsSet implements traits.FieldTester: every field always has a value.
func (c *condition) IsSet(field ref.Val) ref.Val {
	name, _ := field.(types.String)
	_, ok := conditionFieldOf(string(name))
	return types.Bool(ok)
}

// conditionProvider adds the condition type to the types of the libraries.
type conditionProvider struct{ types.Provider }

// FindStructType implements types.Provider.
func (p *conditionProvider) FindStructType(name string) (*types.Type, bool) {
	if name == conditionTypeName {
		return types.NewTypeTypeWithParam(conditionType), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *conditionProvider) FindStructFieldNames(name string) ([]string, bool) {
	if name == conditionTypeName {
		return conditionFieldNames(), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *conditionProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != conditionTypeName {
		return p.Provider.FindStructFieldType(name, field)
	}
	f, ok := conditionFieldOf(field)
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type:  f.typ,
		IsSet: func(any) bool { return true },
		GetFrom: func(target any) (any, error) {
			c, ok := target.(*condition)
			if !ok {
				return nil, fmt.Errorf("want a condition, got %T", target)
			}
			return f.get(c), nil
		},
	}, true
}

// NewValue implements types.Provider: conditions come from condition() only.
func (p *conditionProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if name == conditionTypeName {
		return types.NewErr("a condition can't be made by hand: use condition(object, type)")
	}
	return p.Provider.NewValue(name, fields)
}
