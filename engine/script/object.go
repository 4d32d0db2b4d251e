package script

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// keyOf returns "namespace/name", or "name".
func keyOf(object metav1.Object) string { return cache.MetaObjectToName(object).String() }

// with returns a changed copy of the object. Every API object can be copied.
func with(object metav1.Object, change func(metav1.Object)) metav1.Object {
	if o, ok := object.(runtime.Object); ok {
		if c, ok := o.DeepCopyObject().(metav1.Object); ok {
			object = c
		}
	}
	change(object)
	return object
}
