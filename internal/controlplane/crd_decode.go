package controlplane

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const crdGroup = "apiextensions.k8s.io"

// decodeCRDs reads CRDs from files of YAML documents. Empty documents are passed over.
func decodeCRDs(files [][]byte) ([]*unstructured.Unstructured, error) {
	var crds []*unstructured.Unstructured
	for i, file := range files {
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
		for n := 1; ; n++ {
			doc, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read CRD file %d: %w", i+1, err)
			}
			crd := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(doc, &crd.Object); err != nil {
				return nil, fmt.Errorf("CRD file %d, document %d: %w", i+1, n, err)
			}
			if len(crd.Object) == 0 {
				continue
			}
			if gvk := crd.GroupVersionKind(); gvk != (schema.GroupVersionKind{Group: crdGroup, Version: "v1", Kind: "CustomResourceDefinition"}) {
				return nil, fmt.Errorf("CRD file %d, document %d: is %s, want a CustomResourceDefinition of %s/v1", i+1, n, gvk, crdGroup)
			}
			crds = append(crds, crd)
		}
	}
	if len(crds) == 0 {
		return nil, errors.New("no CustomResourceDefinition to install")
	}
	return crds, nil
}

// served is what the server must list before clients can rely on it.
type served struct {
	gv             schema.GroupVersion
	resource, kind string
}

func servedBy(crds []*unstructured.Unstructured) []served {
	var all []served
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		resource, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			name, _, _ := unstructured.NestedString(version, "name")
			if on, _, _ := unstructured.NestedBool(version, "served"); on {
				all = append(all, served{gv: schema.GroupVersion{Group: group, Version: name}, resource: resource, kind: kind})
			}
		}
	}
	return all
}

func conditionsOf(crd *unstructured.Unstructured) ([]metav1.Condition, error) {
	var obj struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, &obj); err != nil {
		return nil, fmt.Errorf("read its conditions: %w", err)
	}
	return obj.Status.Conditions, nil
}
