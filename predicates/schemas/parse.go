package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const crdKind = "CustomResourceDefinition"

// Parse reads the schemas in a file: CustomResourceDefinitions, as YAML documents
// or JSON, single or in a List, or one OpenAPI v3 document as the API server has
// it under /openapi/v3. Other documents are passed over. name is used in errors
// only; a file without any schema is one.
func Parse(name string, data []byte) (Known, error) {
	known := Known{}
	documents, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read schemas from %s: %w", name, err)
	}
	for _, d := range documents {
		if err := known.add(d); err != nil {
			return nil, fmt.Errorf("read schemas from %s: %w", name, err)
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("read schemas from %s: it has neither a CustomResourceDefinition nor the schema of a kind in an OpenAPI v3 document (kubectl get --raw /openapi/v3/apis/GROUP/VERSION)", name)
	}
	return known, nil
}

// Read reads the schemas in a file, or in a directory's .yaml, .yml and .json
// files, subdirectories left out; files without a schema are passed over there. A
// later file's schema replaces an earlier one of the same kind.
func Read(path string) (Known, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read schemas from %s: %w", path, pathless(err))
	}
	if !info.IsDir() {
		return readFile(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read schemas from %s: %w", path, pathless(err))
	}
	known := Known{}
	for _, e := range entries {
		if e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			continue
		}
		file := filepath.Join(path, e.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read schemas from %s: %w", file, pathless(err))
		}
		if !Looks(data) {
			continue
		}
		more, err := Parse(file, data)
		if err != nil {
			return nil, err
		}
		for kind, s := range more {
			known[kind] = s
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("read schemas from %s: no .yaml, .yml or .json file there has a CustomResourceDefinition or an OpenAPI v3 document", path)
	}
	return known, nil
}

func readFile(path string) (Known, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read schemas from %s: %w", path, pathless(err))
	}
	return Parse(path, data)
}

// Looks reports whether a file may hold schemas at all, at a glance.
func Looks(data []byte) bool {
	return bytes.Contains(data, []byte(crdKind)) || bytes.Contains(data, []byte("openapi")) && bytes.Contains(data, []byte("schemas"))
}

// pathless returns the cause of an error that names the file once more.
func pathless(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func decode(data []byte) ([]map[string]any, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var documents []map[string]any
	for {
		var d map[string]any
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
}

// add takes the schemas of a document, if it has any.
func (k Known) add(d map[string]any) error {
	kind, _ := d["kind"].(string)
	group, _, _ := strings.Cut(text(d["apiVersion"]), "/")
	switch {
	case kind == crdKind && group == "apiextensions.k8s.io":
		return k.addCRD(d)
	case strings.HasSuffix(kind, "List"):
		items, _ := d["items"].([]any)
		for _, item := range items {
			if item, ok := item.(map[string]any); ok {
				if err := k.add(item); err != nil {
					return err
				}
			}
		}
	case strings.HasPrefix(text(d["openapi"]), "3."):
		k.addOpenAPI(d)
	}
	return nil
}

func (k Known) addCRD(d map[string]any) error {
	spec, _ := d["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind := schema.GroupVersionKind{Group: text(spec["group"]), Kind: text(names["kind"])}
	versions, _ := spec["versions"].([]any)
	if kind.Group == "" || kind.Kind == "" || len(versions) == 0 {
		metadata, _ := d["metadata"].(map[string]any)
		return fmt.Errorf("CustomResourceDefinition %s lacks spec.group, spec.names.kind or spec.versions", text(metadata["name"]))
	}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		holder, _ := version["schema"].(map[string]any)
		if written, ok := holder["openAPIV3Schema"].(map[string]any); ok {
			kind.Version = text(version["name"])
			left := maxObjects
			k[kind] = build(kind, written, nil, &left)
		}
	}
	return nil
}

// addOpenAPI takes the kinds of an OpenAPI v3 document. A type that several groups
// share, like DeleteOptions, is nobody's kind.
func (k Known) addOpenAPI(d map[string]any) {
	components, _ := d["components"].(map[string]any)
	written, _ := components["schemas"].(map[string]any)
	left := maxObjects
	for _, name := range slices.Sorted(maps.Keys(written)) {
		s, _ := written[name].(map[string]any)
		kinds, _ := s["x-kubernetes-group-version-kind"].([]any)
		properties, _ := s["properties"].(map[string]any)
		if len(kinds) != 1 || properties["metadata"] == nil {
			continue
		}
		of, _ := kinds[0].(map[string]any)
		kind := schema.GroupVersionKind{Group: text(of["group"]), Version: text(of["version"]), Kind: text(of["kind"])}
		k[kind] = build(kind, s, written, &left)
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
