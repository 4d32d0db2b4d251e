package engine

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Reference names the one object that a waiter is about. Namespace is empty for
// a cluster-scoped resource. UID is empty until it is known; a UID given here
// pins the wait to that object, so that one of the same name made later never
// answers for it.
type Reference struct {
	Resource  schema.GroupVersionResource
	Namespace string
	Name      string
	UID       types.UID
}

// NamespacedName returns the namespace and name of the reference.
func (r Reference) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// String returns "azvolumes.disk.csi.azure.com namespace/name", the form used in
// errors and logs.
func (r Reference) String() string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	return r.Resource.GroupResource().String() + " " + name
}

// versioned names resources in errors about which version of them is meant:
// "azvolumes.disk.csi.azure.com/v1beta2".
func versioned(resources ...schema.GroupVersionResource) string {
	names := make([]string, len(resources))
	for i, r := range resources {
		names[i] = r.GroupResource().String() + "/" + r.Version
	}
	return strings.Join(names, ", ")
}
