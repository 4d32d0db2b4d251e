package schemas

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Scheme has the schemas of the kinds that a scheme has Go types of, for example
// those of client-go's: all that are built into Kubernetes, as of its version. It
// is safe for concurrent use.
type Scheme struct {
	types map[schema.GroupVersionKind]reflect.Type

	mu    sync.Mutex
	built Known
}

// FromScheme returns the schemas of the scheme's types as they are now.
func FromScheme(s *runtime.Scheme) *Scheme {
	return &Scheme{types: s.AllKnownTypes(), built: Known{}}
}

// Schema returns the schema of a kind, nil if the scheme doesn't have it. The error
// is always nil.
func (s *Scheme) Schema(kind schema.GroupVersionKind) (*Schema, error) {
	t, ok := s.types[kind]
	if !ok || kind.Version == runtime.APIVersionInternal || !reflect.PointerTo(t).Implements(reflect.TypeFor[metav1.Object]()) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.built[kind] == nil {
		s.built[kind] = ofGo(kind, t)
	}
	return s.built[kind], nil
}

// Kinds returns the kinds that Schema knows, in no order.
func (s *Scheme) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for kind, t := range s.types {
		if kind.Version != runtime.APIVersionInternal && reflect.PointerTo(t).Implements(reflect.TypeFor[metav1.Object]()) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// goBuilder makes the types of one kind from Go types.
type goBuilder struct {
	builder
	seen map[reflect.Type]*Type
}

func ofGo(kind schema.GroupVersionKind, t reflect.Type) *Schema {
	left := maxObjects
	b := &goBuilder{builder: builder{schema: &Schema{Kind: kind}, left: &left}, seen: map[reflect.Type]*Type{}}
	root := b.goType(t)
	if root.Form != Object {
		root = b.number(&Type{Form: Object, Fields: map[string]*Type{}, Open: true})
	}
	root.Fields["apiVersion"], root.Fields["kind"] = &Type{Form: String}, &Type{Form: String}
	b.schema.Root = root
	return b.schema
}

func (b *goBuilder) goType(t reflect.Type) *Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration]():
		return &Type{Form: String}
	case reflect.TypeFor[metav1.ObjectMeta]():
		if b.seen[t] == nil {
			b.seen[t] = b.objectMeta()
		}
		return b.seen[t]
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString]():
		return &Type{}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return &Type{} // it has a form of its own
	}
	switch t.Kind() {
	case reflect.String:
		return &Type{Form: String}
	case reflect.Bool:
		return &Type{Form: Bool}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return &Type{Form: Int}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Type{Form: String}
		}
		return &Type{Form: List, Elem: b.goType(t.Elem())}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return &Type{Form: Map, Elem: b.goType(t.Elem())}
		}
	case reflect.Struct:
		return b.goStruct(t)
	}
	return &Type{}
}

// goStruct makes an object of a struct, once: a type may refer to itself.
func (b *goBuilder) goStruct(t reflect.Type) *Type {
	if known := b.seen[t]; known != nil {
		return known
	}
	object := b.number(&Type{Form: Object, Fields: map[string]*Type{}})
	b.seen[t] = object
	b.goFields(object, t)
	return object
}

func (b *goBuilder) goFields(object *Type, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := field.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-", !field.IsExported() && !field.Anonymous:
		case name == "" && inner.Kind() == reflect.Struct && (field.Anonymous || strings.Contains(options, "inline")):
			b.goFields(object, inner)
		case name == "":
			object.Fields[field.Name] = b.goType(field.Type)
		default:
			object.Fields[name] = b.goType(field.Type)
		}
	}
}
