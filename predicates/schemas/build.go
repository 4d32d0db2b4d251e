package schemas

import (
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxDepth bounds how deep a schema's objects and lists nest; what lies deeper is
// of any type.
const maxDepth = 64

// maxObjects bounds how many objects with fields the kinds of one document have
// together: kinds that all refer to one another would take the square of their
// number. The largest document of Kubernetes has some ten thousand.
const maxObjects = 100_000

// builder makes the types of one kind.
type builder struct {
	// references are the document's schemas by name; nil in a CRD, which has none.
	references map[string]any
	resolved   map[string]*Type
	schema     *Schema
	left       *int // of the document's maxObjects; what is beyond is of any type
}

// build makes a schema of a kind's OpenAPI object. What Kubernetes itself says of
// every object (apiVersion, kind, metadata) comes in the place of what is written.
func build(kind schema.GroupVersionKind, written map[string]any, references map[string]any, left *int) *Schema {
	b := &builder{references: references, resolved: map[string]*Type{}, schema: &Schema{Kind: kind}, left: left}
	root := b.object(written, 0)
	root.Fields["apiVersion"], root.Fields["kind"] = &Type{Form: String}, &Type{Form: String}
	root.Fields["metadata"] = b.objectMeta()
	b.schema.Root = root
	return b.schema
}

// number gives an object its number.
func (b *builder) number(t *Type) *Type {
	t.Number = len(b.schema.Objects)
	b.schema.Objects = append(b.schema.Objects, t)
	*b.left--
	return t
}

// typeOf makes the type of a schema. Whatever it doesn't understand is of any type.
func (b *builder) typeOf(written any, depth int) *Type {
	s, ok := written.(map[string]any)
	if !ok || depth > maxDepth || *b.left <= 0 {
		return &Type{}
	}
	if name, ok := reference(s); ok {
		return b.referred(name, depth)
	}
	for _, extension := range []string{"x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"} {
		if set, _ := s[extension].(bool); set {
			return &Type{}
		}
	}
	form, _ := s["type"].(string)
	format, _ := s["format"].(string)
	switch {
	case format == "int-or-string":
		return &Type{}
	case form == "string":
		return &Type{Form: String, Enum: enum(s), MaxLength: bound(s, "maxLength")}
	case form == "integer":
		return &Type{Form: Int}
	case form == "boolean":
		return &Type{Form: Bool}
	case form == "array":
		return &Type{Form: List, Elem: b.typeOf(s["items"], depth+1), MaxItems: bound(s, "maxItems")}
	case form == "object":
		return b.objectOrMap(s, depth)
	}
	return &Type{}
}

func (b *builder) objectOrMap(s map[string]any, depth int) *Type {
	properties, _ := s["properties"].(map[string]any)
	if len(properties) > 0 {
		return b.object(s, depth)
	}
	if preserves(s) {
		return &Type{}
	}
	switch values := s["additionalProperties"].(type) {
	case map[string]any:
		return &Type{Form: Map, Elem: b.typeOf(values, depth+1), MaxItems: bound(s, "maxProperties")}
	case bool:
		if values {
			return &Type{Form: Map, Elem: &Type{}}
		}
	}
	// An object of which nothing is known: a raw extension, or one that is always empty.
	return &Type{}
}

// object makes the type of a schema with properties.
func (b *builder) object(s map[string]any, depth int) *Type {
	t := b.number(&Type{Form: Object, Fields: map[string]*Type{}})
	b.fill(t, s, depth)
	return t
}

func (b *builder) fill(t *Type, s map[string]any, depth int) {
	properties, _ := s["properties"].(map[string]any)
	for name, written := range properties {
		t.Fields[name] = b.typeOf(written, depth+1)
	}
	_, additional := s["additionalProperties"].(map[string]any)
	allowed, _ := s["additionalProperties"].(bool)
	t.Open = preserves(s) || additional || allowed || len(properties) == 0
	for _, union := range []string{"oneOf", "anyOf", "allOf"} {
		// Properties may also stand there in an OpenAPI document, beside those here.
		t.Open = t.Open || hasProperties(s[union])
	}
}

// referred makes the type of one of the document's schemas, once: a schema may
// refer to itself.
func (b *builder) referred(name string, depth int) *Type {
	if t, ok := b.resolved[name]; ok {
		return t
	}
	s, ok := b.references[name].(map[string]any)
	if !ok {
		return &Type{}
	}
	if properties, _ := s["properties"].(map[string]any); len(properties) == 0 || s["type"] != "object" {
		b.resolved[name] = &Type{} // what it is of while it refers to itself
		t := b.typeOf(s, depth+1)
		b.resolved[name] = t
		return t
	}
	if strings.HasSuffix(name, ".ObjectMeta") {
		t := b.objectMeta()
		b.resolved[name] = t
		return t
	}
	t := b.number(&Type{Form: Object, Fields: map[string]*Type{}})
	b.resolved[name] = t
	b.fill(t, s, 0)
	return t
}

// reference returns the name that a schema refers to: by itself, or as the only
// one of allOf, which is how Kubernetes adds a description or a default to one.
func reference(s map[string]any) (string, bool) {
	ref, ok := s["$ref"].(string)
	if !ok {
		all, _ := s["allOf"].([]any)
		if _, typed := s["type"]; typed || len(all) != 1 {
			return "", false
		}
		only, _ := all[0].(map[string]any)
		if ref, ok = only["$ref"].(string); !ok {
			return "", false
		}
	}
	return ref[strings.LastIndexByte(ref, '/')+1:], true
}

func preserves(s map[string]any) bool {
	set, _ := s["x-kubernetes-preserve-unknown-fields"].(bool)
	return set
}

func hasProperties(union any) bool {
	list, _ := union.([]any)
	for _, one := range list {
		s, _ := one.(map[string]any)
		if s["properties"] != nil || s["$ref"] != nil {
			return true
		}
	}
	return false
}

// enum returns the allowed values, nil if they aren't all strings.
func enum(s map[string]any) []string {
	list, _ := s["enum"].([]any)
	var values []string
	for _, value := range list {
		text, ok := value.(string)
		if !ok {
			if value == nil {
				continue // of a nullable field
			}
			return nil
		}
		values = append(values, text)
	}
	return values
}

// bound returns a limit, 0 if there is none.
func bound(s map[string]any, name string) int64 {
	switch n := s[name].(type) {
	case float64:
		if n > 0 && n < math.MaxInt32 {
			return int64(n)
		}
	case int64:
		return max(n, 0)
	}
	return 0
}

// objectMeta is the metadata of every object. CRDs don't spell it out.
func (b *builder) objectMeta() *Type {
	text, number, flag := &Type{Form: String}, &Type{Form: Int}, &Type{Form: Bool}
	texts := &Type{Form: Map, Elem: text}
	owner := b.number(&Type{Form: Object, Fields: map[string]*Type{
		"apiVersion": text, "kind": text, "name": text, "uid": text,
		"controller": flag, "blockOwnerDeletion": flag,
	}})
	managed := b.number(&Type{Form: Object, Fields: map[string]*Type{
		"manager": text, "operation": text, "apiVersion": text, "time": text,
		"fieldsType": text, "subresource": text, "fieldsV1": {},
	}})
	return b.number(&Type{Form: Object, Fields: map[string]*Type{
		"name": text, "generateName": text, "namespace": text, "selfLink": text,
		"uid": text, "resourceVersion": text, "generation": number,
		"creationTimestamp": text, "deletionTimestamp": text, "deletionGracePeriodSeconds": number,
		"labels": texts, "annotations": texts,
		"finalizers":      {Form: List, Elem: text},
		"ownerReferences": {Form: List, Elem: owner},
		"managedFields":   {Form: List, Elem: managed},
	}})
}
