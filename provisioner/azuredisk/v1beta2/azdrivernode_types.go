package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AzDriverNode is one node plugin. Its name is the node ID. The plugin keeps
// it alive with a heartbeat; the controller takes its absence to mean that the
// node can't be attached to.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,path=azdrivernodes,singular=azdrivernode
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="NodeName",type=string,JSONPath=`.spec.nodeName`
// +kubebuilder:printcolumn:name="ReadyForVolumeAllocation",type=boolean,JSONPath=`.status.readyForVolumeAllocation`
// +kubebuilder:printcolumn:name="LastHeartbeatTime",type=date,JSONPath=`.status.lastHeartbeatTime`
// +kubebuilder:printcolumn:name="StatusMessage",type=string,JSONPath=`.status.statusMessage`
type AzDriverNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which node this is.
	Spec AzDriverNodeSpec `json:"spec"`

	// Status is the plugin as it reports itself.
	Status AzDriverNodeStatus `json:"status,omitzero"`
}

// AzDriverNodeSpec says which node an AzDriverNode stands for.
type AzDriverNodeSpec struct {
	// NodeName is the node ID.
	NodeName string `json:"nodeName"`
}

// AzDriverNodeStatus is a node plugin as it reports itself.
type AzDriverNodeStatus struct {
	// LastHeartbeatTime is when the plugin last reported.
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// ReadyForVolumeAllocation says whether disks may be attached to the node.
	ReadyForVolumeAllocation *bool `json:"readyForVolumeAllocation,omitempty"`

	// StatusMessage is a text for people.
	StatusMessage string `json:"statusMessage,omitempty"`

	// Conditions are further facts about the plugin.
	Conditions []AzDriverNodeCondition `json:"conditions,omitempty"`
}

// AzDriverNodeCondition is one fact about a node plugin.
type AzDriverNodeCondition struct {
	// Type is the name of the condition.
	Type string `json:"type"`

	// Status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`

	// LastHeartbeatTime is when the condition was last looked at.
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// LastTransitionTime is when the condition last changed.
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// Reason is one CamelCase word for machines.
	Reason string `json:"reason,omitempty"`

	// Message is a text for people.
	Message string `json:"message,omitempty"`
}

// AzDriverNodeList is a list of AzDriverNodes.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type AzDriverNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []AzDriverNode `json:"items"`
}
