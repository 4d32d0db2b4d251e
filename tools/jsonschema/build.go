package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

const module = "github.com/donewhen/donewhen"

// kinds are the documents by the name of their schema.
var kinds = []struct {
	name, kind string
	typ        reflect.Type
}{
	{"predicate", v1alpha1.KindPredicate, reflect.TypeFor[v1alpha1.Predicate]()},
	{"binding", v1alpha1.KindBinding, reflect.TypeFor[v1alpha1.Binding]()},
	{"suite", v1alpha1.KindSuite, suite.DocumentType()},
}

// words are the values of fields that take one of a few, by type and field.
var words = map[string][]any{
	"PredicateSpec.expect":             {v1alpha1.ExpectPresent, v1alpha1.ExpectGone},
	"PredicateSpec.observedGeneration": {v1alpha1.ObservedGenerationAuto, v1alpha1.ObservedGenerationRequire, v1alpha1.ObservedGenerationIgnore},
	"PredicateSpec.failurePolicy":      {v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyPending},
	"PredicateSpec.onEmpty":            {v1alpha1.VerdictPending, v1alpha1.VerdictDone},
	"Policy.verdict":                   {v1alpha1.VerdictPending, v1alpha1.VerdictDone, v1alpha1.VerdictFailed, v1alpha1.VerdictJudge},
	"BindingSpec.action":               {v1alpha1.ActionEnforce, v1alpha1.ActionShadow},
	"BindingSpec.inFlight":             {v1alpha1.InFlightMove, v1alpha1.InFlightPin},
	"expectSpec.verdict":               {v1alpha1.VerdictPending, v1alpha1.VerdictDone, v1alpha1.VerdictFailed},
	"caseSpec.absent":                  {"never", "deleted"},
}

// all returns the schema of each kind, and "donewhen" for files of all kinds.
func all() (map[string]*jsonschema.Schema, error) {
	schemas := map[string]*jsonschema.Schema{}
	any := &jsonschema.Schema{Version: jsonschema.Version, Title: "A document of " + v1alpha1.APIVersion, Definitions: jsonschema.Definitions{}}
	for _, k := range kinds {
		schema, err := of(k.typ, k.kind)
		if err != nil {
			return nil, err
		}
		schemas[k.name] = schema
		for name, definition := range schema.Definitions {
			any.Definitions[name] = definition
		}
		is := jsonschema.NewProperties()
		is.Set("kind", &jsonschema.Schema{Const: k.kind})
		any.AllOf = append(any.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: is, Required: []string{"kind"}},
			Then: &jsonschema.Schema{Ref: schema.Ref},
		})
	}
	one := jsonschema.NewProperties()
	one.Set("apiVersion", &jsonschema.Schema{Const: v1alpha1.APIVersion})
	one.Set("kind", &jsonschema.Schema{Enum: []interface{}{v1alpha1.KindPredicate, v1alpha1.KindBinding, v1alpha1.KindSuite}})
	any.Type, any.Properties, any.Required = "object", one, []string{"apiVersion", "kind"}
	schemas["donewhen"] = any
	return schemas, nil
}

// of returns the schema of one kind of documents.
func of(typ reflect.Type, kind string) (*jsonschema.Schema, error) {
	r := &jsonschema.Reflector{Anonymous: true, Mapper: mapped, AllowAdditionalProperties: false}
	for _, dir := range []string{"predicates/v1alpha1", "predicates/suite"} {
		if err := r.AddGoComments(module, "../../"+dir); err != nil {
			return nil, fmt.Errorf("read the comments of %s: %w", dir, err)
		}
	}
	// Paths of comments begin where they were read from.
	for name, text := range r.CommentMap {
		if at := strings.Index(name, "predicates/"); at > 0 {
			r.CommentMap[module+"/"+name[at:]] = strings.Join(strings.Fields(text), " ")
		}
	}
	schema := r.ReflectFromType(typ)
	schema.Title = "A " + kind + " of " + v1alpha1.APIVersion
	shorten(schema, typ, map[reflect.Type]bool{})
	document := schema.Definitions[typ.Name()]
	if document == nil || document.Properties == nil {
		return nil, fmt.Errorf("no schema of %s was made", typ)
	}
	document.Properties.Set("apiVersion", &jsonschema.Schema{Const: v1alpha1.APIVersion})
	document.Properties.Set("kind", &jsonschema.Schema{Const: kind})
	return schema, nil
}

// mapped are types that are written otherwise than their fields.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return &jsonschema.Schema{Type: "string", Description: "A duration, like 30s or 10m", Examples: []interface{}{"30s", "10m"}}
	case reflect.TypeFor[resource.Quantity]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}}, Description: "A quantity, like 8Mi or 20M"}
	}
	return nil
}

// shorten applies what the form tags of a type say: a struct with a short field may
// be that field's value alone, a slice of many a single element.
func shorten(schema *jsonschema.Schema, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	definition := schema.Definitions[t.Name()]
	if t.Kind() != reflect.Struct || seen[t] || definition == nil || definition.Properties == nil {
		return
	}
	seen[t] = true
	var short *jsonschema.Schema
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property, ok := definition.Properties.Get(name)
		if !ok {
			continue
		}
		form := field.Tag.Get("form")
		if values := words[t.Name()+"."+name]; values != nil {
			property.Enum = values
		}
		if strings.Contains(form, "nonempty") {
			property.MinLength = new(uint64(1))
		}
		if strings.Contains(form, "short") {
			value := *property
			short = &value
		}
		if strings.Contains(form, "many") {
			list := *property
			list.Description = ""
			*property = jsonschema.Schema{Description: property.Description, OneOf: []*jsonschema.Schema{property.Items, &list}}
		}
		shorten(schema, field.Type, seen)
	}
	if t.Name() == "expectSpec" {
		definition.Required = nil // a step of events may leave out the verdict
	}
	if short != nil {
		whole := *definition
		*definition = jsonschema.Schema{Description: definition.Description, OneOf: []*jsonschema.Schema{short, &whole}}
	}
}
