package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// readObjects reads the objects of the files, in their order; "-" is the standard
// input. A file is a stream of YAML documents or JSON; a List is taken apart. All
// that is wrong is reported at once.
func readObjects(in io.Reader, paths []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var wrong []error
	for _, path := range paths {
		name, data, err := readInput(in, path)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		found, err := parseObjects(name, data)
		objects, wrong = append(objects, found...), append(wrong, err)
	}
	return objects, errors.Join(wrong...)
}

func readInput(in io.Reader, path string) (name string, data []byte, err error) {
	if path == "-" {
		if data, err = io.ReadAll(in); err != nil {
			return "", nil, fmt.Errorf("can't read the standard input: %w", err)
		}
		return "standard input", data, nil
	}
	if data, err = os.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("can't read the object: %w", err)
	}
	return filepath.ToSlash(filepath.Clean(path)), data, nil
}

// parseObjects reads one stream of documents.
func parseObjects(name string, data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var wrong []error
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		at := fmt.Sprintf("%s, document %d", name, number)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", at, err))
			break
		}
		found, err := parseObject(at, document)
		objects, wrong = append(objects, found...), append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s: there is no object in it", name)
	}
	return objects, nil
}

// parseObject reads one document: an object, a List of them, or nothing.
func parseObject(at string, document []byte) ([]*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	var content any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	fields, ok := content.(map[string]any)
	switch {
	case content == nil:
		return nil, nil // only comments
	case !ok:
		return nil, fmt.Errorf("%s: it is no object: an object has apiVersion, kind and metadata", at)
	}
	object := &unstructured.Unstructured{Object: fields}
	if object.GetAPIVersion() == "" || object.GetKind() == "" {
		return nil, fmt.Errorf("%s: apiVersion or kind is missing", at)
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	var items []*unstructured.Unstructured
	list, _ := fields["items"].([]any)
	for i, item := range list {
		fields, _ := item.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		if object.GetAPIVersion() == "" || object.GetKind() == "" {
			return nil, fmt.Errorf("%s: items[%d]: apiVersion or kind is missing", at, i)
		}
		items = append(items, object)
	}
	return items, nil
}
