//go:build integration

package chaos_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}                                  // a typed informer
	azVolumes  = schema.GroupVersionResource{Group: "disk.csi.azure.com", Version: "v1beta2", Resource: "azvolumes"} // a dynamic one
)

// kind is a resource with the informer that the engine sees it through, the plain handler beside the engine, and the
// writer, whose connection is a direct one.
type kind struct {
	*rig
	gvr      schema.GroupVersionResource
	informer cache.SharedIndexInformer
	seen     *recorder
	writer   dynamic.ResourceInterface
}

// written is one write: the object that the server returned (the last one, if it was deleted) and when the request was
// about to be sent. Nothing that it causes can be known before.
type written struct {
	*unstructured.Unstructured
	begun time.Time
}

// create writes a new object in that state.
func (k *kind) create(name, state string) written {
	k.Helper()
	object := map[string]any{
		"apiVersion": k.gvr.GroupVersion().String(),
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name, "annotations": map[string]any{stateKey: state}},
	}
	if k.gvr == azVolumes {
		object["kind"] = "AzVolume"
		object["spec"] = map[string]any{"maxMountReplicaCount": int64(0), "volumeCapability": []any{}, "volumeName": name}
	}
	begun := time.Now()
	created, err := k.writer.Create(k.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		k.Fatalf("creating %s %s: %v", k.gvr.Resource, name, err)
	}
	return written{created, begun}
}

// set writes the object's state.
func (k *kind) set(name, state string) written {
	k.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, stateKey, state)
	begun := time.Now()
	changed, err := k.writer.Patch(k.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		k.Fatalf("changing %s %s: %v", k.gvr.Resource, name, err)
	}
	return written{changed, begun}
}

// remove deletes the object.
func (k *kind) remove(object written) written {
	k.Helper()
	uid, begun := object.GetUID(), time.Now()
	err := k.writer.Delete(k.Context(), object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		k.Fatalf("deleting %s %s: %v", k.gvr.Resource, object.GetName(), err)
	}
	return written{object.Unstructured, begun}
}

// several creates objects in the state pending, named prefix-0 and so on.
func (k *kind) several(n int, prefix string) []written {
	k.Helper()
	objects := make([]written, n)
	for i := range objects {
		objects[i] = k.create(fmt.Sprintf("%s-%d", prefix, i), "pending")
	}
	return objects
}
