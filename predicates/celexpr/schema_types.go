package celexpr

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// kindTypes are the types that a kind's schema declares, as the checker knows them.
type kindTypes struct {
	schema  *schemas.Schema
	objects []kindObject // by their number
	root    *cel.Type
}

// kindObject is a type with fields.
type kindObject struct {
	typ    *schemas.Type
	cel    *cel.Type
	fields map[string]*cel.Type
}

// objectMark begins the names of types with fields. The checker takes a type's
// name for that of a variable too, so it must be one that no expression can have.
const objectMark = "@"

// typesOf returns the types of a schema. They are made once, and live as long as
// the schema.
func typesOf(s *schemas.Schema) *kindTypes {
	return s.Memo(func() any { return newKindTypes(s) }).(*kindTypes)
}

func newKindTypes(s *schemas.Schema) *kindTypes {
	k := &kindTypes{schema: s, objects: make([]kindObject, len(s.Objects))}
	for i, t := range s.Objects {
		name := objectMark + strconv.Itoa(i)
		k.objects[i] = kindObject{typ: t, cel: types.NewObjectType(name, traits.FieldTesterType, traits.IndexerType)}
	}
	for i, t := range s.Objects {
		fields := make(map[string]*cel.Type, len(t.Fields))
		for name, field := range t.Fields {
			fields[name] = k.celType(field)
		}
		k.objects[i].fields = fields
	}
	k.root = k.celType(s.Root)
	return k
}

// celType returns the checker's type. Schemas that refer to themselves do so
// through an object, which ends the way here.
func (k *kindTypes) celType(t *schemas.Type) *cel.Type {
	switch t.Form {
	case schemas.Object:
		return k.objects[t.Number].cel
	case schemas.Map:
		return cel.MapType(cel.StringType, k.celType(t.Elem))
	case schemas.List:
		return cel.ListType(k.celType(t.Elem))
	case schemas.String:
		return cel.StringType
	case schemas.Int:
		return cel.IntType
	case schemas.Bool:
		return cel.BoolType
	}
	return cel.DynType
}

// object returns a type with fields, by its name.
func (k *kindTypes) object(name string) (*kindObject, bool) {
	digits, ok := strings.CutPrefix(name, objectMark)
	if !ok {
		return nil, false
	}
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(k.objects) {
		return nil, false
	}
	return &k.objects[i], true
}

// celType implements objectType.
func (o *kindObject) celType() *cel.Type { return o.cel }

// field implements objectType.
func (o *kindObject) field(name string) (*cel.Type, bool) {
	if t, ok := o.fields[name]; ok {
		return t, true
	}
	return cel.DynType, o.typ.Open
}

// fieldNames implements objectType.
func (o *kindObject) fieldNames() []string { return o.typ.Names() }

// kindScope is what expressions of one environment see of one schema: object, and
// the variables with the types that they have by it.
type kindScope struct {
	*kindTypes
	env *Environment
	// variables has the types of the environment's variables, enums what texts they
	// may have, and values what the schema says of them, nil where that isn't known.
	variables []*cel.Type
	enums     [][]string
	values    []*schemas.Type
}

// typeOf implements names.
func (k *kindScope) typeOf(name string) (*cel.Type, bool) {
	if name == rootObject {
		return k.root, true
	}
	s, ok := k.env.slots[name]
	if ok && s.kind == slotVariable {
		return k.variables[s.index], true
	}
	return k.env.typeOf(name)
}

// object implements names.
func (k *kindScope) object(name string) (objectType, bool) {
	o, ok := k.kindTypes.object(name)
	return o, ok
}

// label names the version that the scope is of.
func (k *kindScope) label() string { return k.schema.Kind.GroupVersion().String() }
