package engine

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// keyOf returns the namespace and name of an object delivered by an informer. It
// runs for every event of a watched resource and doesn't allocate.
func keyOf(obj any) (metav1.Object, types.NamespacedName, bool) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if o == nil {
			return nil, types.NamespacedName{}, false
		}
		// GetName and GetNamespace walk the path anew each time.
		metadata, _ := o.Object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		namespace, _ := metadata["namespace"].(string)
		return o, types.NamespacedName{Namespace: namespace, Name: name}, name != ""
	case metav1.Object:
		if isNil(o) {
			return nil, types.NamespacedName{}, false
		}
		key := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		return o, key, key.Name != ""
	}
	return nil, types.NamespacedName{}, false
}

// metaOf returns the object behind what a store or a tombstone holds; false if
// there is none, be it nil, a typed nil or something else.
func metaOf(item any) (metav1.Object, bool) {
	object, _, ok := keyOf(item)
	return object, ok
}

// isNil reports whether there is nothing behind an object: its methods would panic.
func isNil(o metav1.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// kindOf returns an object's kind: what its TypeMeta says, else the name of its
// Go type, which is the kind of every typed API object; empty if neither does.
func kindOf(object metav1.Object) string {
	if o, ok := object.(runtime.Object); ok {
		if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
			return kind
		}
	}
	switch object.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return ""
	}
	t := reflect.TypeOf(object)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// groupOf returns the API group that an object names, false if it names none.
func groupOf(object metav1.Object) (string, bool) {
	if o, ok := object.(runtime.Object); ok {
		if gvk := o.GetObjectKind().GroupVersionKind(); gvk.Kind != "" && gvk.Version != "" {
			return gvk.Group, true
		}
	}
	return "", false
}
