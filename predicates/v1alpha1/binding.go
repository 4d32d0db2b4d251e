package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Values of BindingSpec.Action.
const (
	ActionEnforce = "Enforce"
	ActionShadow  = "Shadow"
)

// Values of BindingSpec.InFlight.
const (
	InFlightMove = "Move"
	InFlightPin  = "Pin"
)

// Binding says which predicate ends an operation. It is identified by operation
// and action, not by its name.
type Binding struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Metadata   Metadata    `json:"metadata"`
	Spec       BindingSpec `json:"spec"`
}

// BindingSpec names an operation and its predicate.
type BindingSpec struct {
	Operation string `json:"operation"`
	Predicate string `json:"predicate"`
	// Params are constants; the callers of the operation give the others.
	Params map[string]any `json:"params,omitempty"`
	// Timeout caps a wait; the caller's context still wins.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Action is Enforce (the default) or Shadow.
	Action string `json:"action,omitempty"`
	// InFlight is Move (the default) or Pin: what a reload does with running waits.
	InFlight string `json:"inFlight,omitempty"`
}
