package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VolumeState is the phase of an AzVolume. The empty state of a new object
// means the same as VolumePending.
type VolumeState string

// States of an AzVolume. The Azure side moves Pending → Creating → Created or
// CreationFailed; an expansion Created → Updating → Updated or UpdateFailed; a
// deletion Deleting → Deleted or DeletionFailed.
const (
	VolumePending        VolumeState = "Pending"
	VolumeCreating       VolumeState = "Creating"
	VolumeCreationFailed VolumeState = "CreationFailed"
	VolumeCreated        VolumeState = "Created"
	VolumeUpdating       VolumeState = "Updating"
	VolumeUpdateFailed   VolumeState = "UpdateFailed"
	VolumeUpdated        VolumeState = "Updated"
	VolumeDeleting       VolumeState = "Deleting"
	VolumeDeletionFailed VolumeState = "DeletionFailed"
	VolumeDeleted        VolumeState = "Deleted"
)

// VolumeAccessType says how a volume is presented to a workload.
type VolumeAccessType int

// Ways to present a volume.
const (
	AccessTypeBlock VolumeAccessType = 0
	AccessTypeMount VolumeAccessType = 1
)

// VolumeAccessMode is the number of a CSI access mode
// (csi.VolumeCapability_AccessMode_Mode).
type VolumeAccessMode int

// ContentSourceType says what kind of object a volume is copied from.
type ContentSourceType int

// Kinds of content source. A volume made from nothing is written as
// ContentSourceVolume with an empty ID.
const (
	ContentSourceVolume   ContentSourceType = 0
	ContentSourceSnapshot ContentSourceType = 1
)

// AzVolume is one Azure disk: the driver writes what is wanted, the Azure side
// reports what exists.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,path=azvolumes,singular=azvolume
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
type AzVolume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the disk that is wanted.
	Spec AzVolumeSpec `json:"spec"`

	// Status is the disk as the Azure side reports it. It is absent on a new
	// object: the API server drops it from a create.
	Status AzVolumeStatus `json:"status,omitzero"`
}

// AzVolumeSpec is the disk that is wanted.
type AzVolumeSpec struct {
	// MaxMountReplicaCount is the number of nodes beside the primary one that
	// the disk may be attached to in advance.
	MaxMountReplicaCount int `json:"maxMountReplicaCount"`

	// VolumeCapability lists the capabilities the disk must have. The server
	// refuses null: use an empty slice for none.
	VolumeCapability []VolumeCapability `json:"volumeCapability"`

	// VolumeName is the name of the disk, with its case kept.
	VolumeName string `json:"volumeName"`

	// CapacityRange is the size asked for, as the caller gave it.
	CapacityRange *CapacityRange `json:"capacityRange,omitempty"`

	// Parameters are the parameters of the storage class.
	Parameters map[string]string `json:"parameters,omitempty"`

	// Secrets are the secrets of the request. Anyone who can read the object
	// can read them, so this driver leaves them empty.
	Secrets map[string]string `json:"secrets,omitempty"`

	// ContentVolumeSource is the volume or snapshot that the disk is copied
	// from.
	ContentVolumeSource *ContentVolumeSource `json:"contentVolumeSource,omitempty"`

	// AccessibilityRequirements says from where the disk must be reachable.
	AccessibilityRequirements *TopologyRequirement `json:"accessibilityRequirements,omitempty"`

	// PersistentVolume is the name of the PersistentVolume, or empty.
	//
	// +optional
	PersistentVolume string `json:"persistentVolume"`
}

// AzVolumeStatus is the disk as the Azure side reports it.
type AzVolumeStatus struct {
	// State is the phase the disk is in. Required in any status that is
	// written.
	State VolumeState `json:"state"`

	// Detail describes the disk; it is absent until the disk exists.
	Detail *AzVolumeStatusDetail `json:"detail,omitempty"`

	// Error is the failure of the latest operation, if it failed.
	Error *AzError `json:"error,omitempty"`

	// Annotation has the requests that are made through the status.
	Annotation map[string]string `json:"annotation,omitempty"`
}

// AzVolumeStatusDetail describes a disk that exists.
type AzVolumeStatusDetail struct {
	// VolumeID is the resource URI of the disk; CSI knows the volume by it.
	VolumeID string `json:"volume_id"`

	// CapacityBytes is the size of the disk in bytes.
	CapacityBytes int64 `json:"capacity_bytes"`

	// NodeExpansionRequired says that the node must grow the file system after
	// the disk has grown.
	NodeExpansionRequired bool `json:"node_expansion_required"`

	// Parameters become the volume context.
	Parameters map[string]string `json:"parameters,omitempty"`

	// ContentSource is what the disk was copied from.
	ContentSource *ContentVolumeSource `json:"content_source,omitempty"`

	// AccessibleTopology lists from where the disk is reachable.
	AccessibleTopology []Topology `json:"accessible_topology,omitempty"`
}

// VolumeCapability is one way in which a volume is used.
type VolumeCapability struct {
	// AccessType is 0 for block, 1 for mount.
	AccessType VolumeAccessType `json:"access_type"`

	// AccessMode is the number of the CSI access mode.
	AccessMode VolumeAccessMode `json:"access_mode"`

	// FSType is the file system of a mounted volume.
	FSType string `json:"fs_type,omitempty"`

	// MountFlags are the options of the mount.
	MountFlags []string `json:"mount_flags,omitempty"`
}

// CapacityRange is a size asked for. Zero means not given.
type CapacityRange struct {
	// RequiredBytes is the least size in bytes.
	RequiredBytes int64 `json:"required_bytes,omitempty"`

	// LimitBytes is the greatest size in bytes.
	LimitBytes int64 `json:"limit_bytes,omitempty"`
}

// ContentVolumeSource names what a volume is copied from.
type ContentVolumeSource struct {
	// ContentSource is 0 for a volume, 1 for a snapshot.
	ContentSource ContentSourceType `json:"content_source"`

	// ContentSourceID is the ID of the source, or empty for none.
	ContentSourceID string `json:"content_source_id"`
}

// TopologyRequirement says from where a volume must be reachable.
type TopologyRequirement struct {
	// Requisite lists the places of which at least one must reach the volume.
	Requisite []Topology `json:"requisite,omitempty"`

	// Preferred lists places in the order in which they should be tried.
	Preferred []Topology `json:"preferred,omitempty"`
}

// Topology is one place, as keys and values.
type Topology struct {
	// Segments are the keys and values that make up the place.
	Segments map[string]string `json:"segments,omitempty"`
}

// AzVolumeList is a list of AzVolumes.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type AzVolumeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []AzVolume `json:"items"`
}
