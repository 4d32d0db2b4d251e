package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AttachmentState is the phase of an AzVolumeAttachment. The empty state of a
// new object means the same as AttachmentPending.
type AttachmentState string

// States of an AzVolumeAttachment. The Azure side moves Pending → Attaching →
// Attached or AttachmentFailed, and Attached → Detaching → gone or
// DetachmentFailed.
const (
	AttachmentUnknown            AttachmentState = "Unknown"
	AttachmentPending            AttachmentState = "Pending"
	AttachmentAttaching          AttachmentState = "Attaching"
	AttachmentAttached           AttachmentState = "Attached"
	AttachmentFailed             AttachmentState = "AttachmentFailed"
	AttachmentDetaching          AttachmentState = "Detaching"
	AttachmentDetached           AttachmentState = "Detached"
	AttachmentDetachmentFailed   AttachmentState = "DetachmentFailed"
	AttachmentForceDetachPending AttachmentState = "ForceDetachPending"
)

// Role says what an attachment is for: a workload that runs on the node
// (RolePrimary), or one that may move there (RoleReplica).
type Role string

// Roles of an attachment.
const (
	RolePrimary Role = "Primary"
	RoleReplica Role = "Replica"
)

// AzVolumeAttachment is one disk on one node: the driver writes what is
// wanted, the Azure side reports what is attached.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,path=azvolumeattachments,singular=azvolumeattachment
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="NodeName",type=string,JSONPath=`.spec.nodeName`,priority=10
// +kubebuilder:printcolumn:name="VolumeName",type=string,JSONPath=`.spec.volumeName`,priority=10
// +kubebuilder:printcolumn:name="RequestedRole",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.status.detail.role`
// +kubebuilder:printcolumn:name="PreviousRole",type=string,JSONPath=`.status.detail.previous_role`,priority=10
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
type AzVolumeAttachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the attachment that is wanted.
	Spec AzVolumeAttachmentSpec `json:"spec"`

	// Status is the attachment as the Azure side reports it. It is absent on a
	// new object: the API server drops it from a create.
	Status AzVolumeAttachmentStatus `json:"status,omitzero"`
}

// AzVolumeAttachmentSpec is the attachment that is wanted.
type AzVolumeAttachmentSpec struct {
	// VolumeName is the name of the disk in lower case.
	VolumeName string `json:"volumeName"`

	// VolumeID is the resource URI of the disk.
	VolumeID string `json:"volume_id"`

	// NodeName is the node ID.
	NodeName string `json:"nodeName"`

	// VolumeContext is the volume context of the request. The server refuses
	// null: use an empty map for none.
	VolumeContext map[string]string `json:"volume_context"`

	// RequestedRole is the role that the attachment is wanted in.
	RequestedRole Role `json:"role"`
}

// AzVolumeAttachmentStatus is the attachment as the Azure side reports it.
type AzVolumeAttachmentStatus struct {
	// State is the phase the attachment is in.
	State AttachmentState `json:"state,omitempty"`

	// Detail describes the attachment; it is absent until the disk has a LUN.
	Detail *AzVolumeAttachmentStatusDetail `json:"detail,omitempty"`

	// Error is the failure of the latest operation, if it failed.
	Error *AzError `json:"error,omitempty"`

	// Annotation has the requests that are made through the status.
	Annotation map[string]string `json:"annotation,omitempty"`
}

// AzVolumeAttachmentStatusDetail describes a disk that has a LUN on the node.
type AzVolumeAttachmentStatusDetail struct {
	// Role is the role that the attachment is in.
	Role Role `json:"role"`

	// PreviousRole is the role before the latest write of this detail.
	PreviousRole Role `json:"previous_role,omitempty"`

	// PublishContext is handed to the node; its key PublishContextLUN says
	// where to find the disk.
	PublishContext map[string]string `json:"publish_context,omitempty"`
}

// AzVolumeAttachmentList is a list of AzVolumeAttachments.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type AzVolumeAttachmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []AzVolumeAttachment `json:"items"`
}
