package schemas

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const widgets = `
apiVersion: v1
kind: ConfigMap
metadata: {name: not-a-schema}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object}
          spec:
            type: object
            properties:
              size: {type: integer, format: int64}
              ratio: {type: number}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              partly: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
              template: {type: object, x-kubernetes-embedded-resource: true}
              labels: {type: object, additionalProperties: {type: string}}
              empty: {type: object}
              namespace: {type: string}
          status:
            type: object
            properties:
              state: {type: string, enum: [Up, Down]}
              since: {type: string, format: date-time}
              ok: {type: boolean}
              conditions:
                type: array
                maxItems: 8
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
  - name: v2
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {phase: {type: string}}}}}}
`

// at follows a path through a type: "[]" is an element.
func at(t *testing.T, s *Schema, path string) *Type {
	t.Helper()
	typ := s.Root
	for _, name := range strings.Split(path, ".") {
		if name == "[]" {
			typ = typ.Elem
		} else {
			typ = typ.Fields[name]
		}
		if typ == nil {
			t.Fatalf("no %s in %s", name, path)
		}
	}
	return typ
}

func TestParseCRD(t *testing.T) {
	known, err := Parse("widgets.yaml", []byte(widgets))
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	s, err := known.Schema(kind)
	if err != nil || s == nil || s.Kind != kind {
		t.Fatalf("schema %v, error %v of %v", s, err, known.Kinds())
	}
	for path, want := range map[string]Form{
		"apiVersion": String, "metadata.name": String, "metadata.labels.[]": String, "metadata.generation": Int,
		"metadata.deletionTimestamp": String, "metadata.ownerReferences.[].controller": Bool,
		"spec.size": Int, "spec.ratio": Any, "spec.port": Any, "spec.free": Any, "spec.template": Any, "spec.empty": Any,
		"spec.partly": Object, "spec.labels": Map, "spec.labels.[]": String, "spec.namespace": String,
		"status.state": String, "status.since": String, "status.ok": Bool, "status.conditions": List, "status.conditions.[]": Object,
	} {
		if got := at(t, s, path).Form; got != want {
			t.Errorf("%s has form %d, want %d", path, got, want)
		}
	}
	if !at(t, s, "spec.partly").Open || at(t, s, "status").Open {
		t.Error("only what preserves unknown fields is open")
	}
	if got := at(t, s, "status.state").Enum; !slices.Equal(got, []string{"Up", "Down"}) {
		t.Errorf("enum %v", got)
	}
	if got := at(t, s, "status.conditions").MaxItems; got != 8 {
		t.Errorf("maxItems %d", got)
	}
	for i, o := range s.Objects {
		if o.Number != i || o.Form != Object {
			t.Errorf("object %d has number %d", i, o.Number)
		}
	}
	if got := known.Kinds(); len(got) != 2 || got[1].Version != "v2" {
		t.Errorf("kinds %v", got)
	}
}

// An OpenAPI document has references, also to the schema itself.
func TestParseOpenAPI(t *testing.T) {
	known, err := Parse("v1.json", []byte(`{"openapi": "3.0.0", "components": {"schemas": {
		"io.example.v1.Node": {"type": "object",
			"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Node"}],
			"properties": {
				"metadata": {"allOf": [{"$ref": "#/components/schemas/io.k8s.ObjectMeta"}], "default": {}},
				"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.example.v1.Spec"}]},
				"size": {"$ref": "#/components/schemas/io.k8s.Quantity"},
				"time": {"$ref": "#/components/schemas/io.k8s.Time"},
				"port": {"$ref": "#/components/schemas/io.k8s.IntOrString"},
				"loop": {"$ref": "#/components/schemas/loop"},
				"gone": {"$ref": "#/components/schemas/nowhere"}}},
		"io.example.v1.Spec": {"type": "object", "properties": {
			"name": {"type": "string"},
			"children": {"type": "array", "items": {"$ref": "#/components/schemas/io.example.v1.Spec"}}}},
		"io.k8s.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}}},
		"io.k8s.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
		"io.k8s.Time": {"type": "string", "format": "date-time"},
		"io.k8s.IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
		"loop": {"$ref": "#/components/schemas/loop"},
		"io.k8s.DeleteOptions": {"type": "object", "properties": {"kind": {"type": "string"}},
			"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "DeleteOptions"}]}
	}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := known.Kinds(); len(got) != 1 {
		t.Fatalf("kinds %v: what has no metadata is no object", got)
	}
	s := known[schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Node"}]
	for path, want := range map[string]Form{
		"metadata.finalizers": List, "spec": Object, "spec.children.[].children.[].name": String,
		"size": Any, "time": String, "port": Any, "loop": Any, "gone": Any,
	} {
		if got := at(t, s, path).Form; got != want {
			t.Errorf("%s has form %d, want %d", path, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a: b":        "neither a CustomResourceDefinition nor",
		"a: b: c":     "read schemas from x:",
		"\x00":        "read schemas from x:",
		"[1]":         "read schemas from x:",
		"kind: List":  "neither",
		"kind: Table": "neither",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: some}": "CustomResourceDefinition some lacks",
	} {
		if _, err := Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": widgets, "b.yaml": "kind: Pod", "c.txt": "CustomResourceDefinition"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		dir: "", filepath.Join(dir, "a.yaml"): "",
		filepath.Join(dir, "b.yaml"): "neither", filepath.Join(dir, "no"): "no such file", t.TempDir(): "no .yaml",
	} {
		known, err := Read(path)
		if want == "" && (err != nil || len(known) != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, error %v, want %q", path, known.Kinds(), err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(widgets)
	f.Add(`{"openapi": "3.0.0", "components": {"schemas": {"a": {"x-kubernetes-group-version-kind": [{}], "properties": {"metadata": {"$ref": "a"}}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		known, err := Parse("f", []byte(text))
		if err == nil && len(known) == 0 {
			t.Error("nothing was read, and nothing is said")
		}
	})
}

// A document whose kinds all lead to one another is read in bounded work: the first
// kinds are known whole, of the others what is left open is of any type.
func TestKindsThatAllReferToOneAnother(t *testing.T) {
	const kinds = 1000
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.0","components":{"schemas":{`)
	for i := range kinds {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%04d":{"type":"object","x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"K%d"}],`+
			`"properties":{"next":{"$ref":"#/components/schemas/k%04d"},"metadata":{"type":"object"}}}`, i, i, (i+1)%kinds)
	}
	b.WriteString("}}}")
	known, err := Parse("ring.json", []byte(b.String()))
	if err != nil || len(known) != kinds {
		t.Fatalf("%d kinds, %v", len(known), err)
	}
	objects := 0
	for _, s := range known {
		objects += len(s.Objects)
	}
	if objects < maxObjects || objects > maxObjects+10*kinds {
		t.Errorf("%d objects in all, want about %d", objects, maxObjects)
	}
	gvk := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K0"}
	if at := known[gvk].Root; at.Fields["next"].Fields["next"].Form != Object {
		t.Error("the first kind isn't known whole")
	}
}
