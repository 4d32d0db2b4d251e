package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every type in this package. It is also the
// name of the CSI driver and the prefix of its labels and annotations.
const GroupName = "disk.csi.azure.com"

// Version is the API version of every type in this package.
const Version = "v1beta2"

// Kinds, as they stand in the kind field of an object.
const (
	KindAzVolume           = "AzVolume"
	KindAzVolumeAttachment = "AzVolumeAttachment"
	KindAzDriverNode       = "AzDriverNode"
)

// SchemeGroupVersion is the group and version of every type in this package.
// It is a variable only because a struct can't be a constant: never assign it.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: Version}

// Resource qualifies an unqualified resource or kind name with the group, for
// use in API errors. Safe for concurrent use.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

// AzVolumes returns the resource that serves AzVolume objects.
// Safe for concurrent use.
func AzVolumes() schema.GroupVersionResource {
	return SchemeGroupVersion.WithResource("azvolumes")
}

// AzVolumeAttachments returns the resource that serves AzVolumeAttachment
// objects. Safe for concurrent use.
func AzVolumeAttachments() schema.GroupVersionResource {
	return SchemeGroupVersion.WithResource("azvolumeattachments")
}

// AzDriverNodes returns the resource that serves AzDriverNode objects.
// Safe for concurrent use.
func AzDriverNodes() schema.GroupVersionResource {
	return SchemeGroupVersion.WithResource("azdrivernodes")
}

// AddToScheme registers the types of this package and the meta types that go
// with their group. It returns nil always: a conflicting registration panics
// in the scheme. Not safe for concurrent use of the same scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&AzVolume{}, &AzVolumeList{},
		&AzVolumeAttachment{}, &AzVolumeAttachmentList{},
		&AzDriverNode{}, &AzDriverNodeList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
