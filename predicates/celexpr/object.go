package celexpr

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// JSONForm returns an object as expressions see it: as the API server would send
// it, so dates are strings and omitted fields are absent. An unstructured object's
// own map is returned, to be read only; a typed one is converted, which takes long:
// EvaluationOf reads it without. Informers leave the TypeMeta of typed objects
// empty: then gvk fills in apiVersion and kind.
func JSONForm(object metav1.Object, gvk schema.GroupVersionKind) (map[string]any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok && u != nil {
		return u.Object, nil
	}
	v, err := viewOf(jsonform.NewPlans(), object, &metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind})
	if err != nil {
		return nil, err
	}
	m, err := v.Any()
	if err != nil {
		return nil, fmt.Errorf("convert the object (%T) to its JSON form: %w", object, err)
	}
	return m.(map[string]any), nil
}

// viewOf returns the view of an object, which is a map.
func viewOf(plans *jsonform.Plans, object metav1.Object, meta *metav1.TypeMeta) (jsonform.Value, error) {
	if object == nil {
		return jsonform.Value{}, fmt.Errorf("read the object: there is none")
	}
	v := plans.Object(object, meta)
	switch v.Kind() {
	case jsonform.Map:
		return v, nil
	case jsonform.Null:
		return jsonform.Value{}, fmt.Errorf("read the object (%T): it is nil", object)
	case jsonform.Invalid:
		return jsonform.Value{}, fmt.Errorf("read the object (%T): %w", object, v.Err())
	}
	return jsonform.Value{}, fmt.Errorf("read the object (%T): its JSON form is no object", object)
}
