package celexpr

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// JSONForm returns an object as expressions see it: as the API server would send
// it, so dates are strings and omitted fields are absent. An unstructured object's
// own map is returned, to be read only; a typed one is converted. Informers leave
// the TypeMeta of typed objects empty: then gvk fills in apiVersion and kind.
func JSONForm(object metav1.Object, gvk schema.GroupVersionKind) (map[string]any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		if u == nil {
			return nil, fmt.Errorf("convert the object: it is nil")
		}
		return u.Object, nil
	}
	if object == nil {
		return nil, fmt.Errorf("convert the object: there is none")
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert the object (%T) to its JSON form: %w", object, err)
	}
	if v, _ := m["apiVersion"].(string); v == "" {
		m["apiVersion"] = gvk.GroupVersion().String()
	}
	if k, _ := m["kind"].(string); k == "" {
		m["kind"] = gvk.Kind
	}
	return m, nil
}
