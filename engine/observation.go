package engine

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Presence says whether an observation shows an object, and if not, why.
type Presence int8

const (
	// Present: the observation holds the object.
	Present Presence = iota
	// NeverExisted: a synced informer holds no such object, and the waiter never
	// knew one (no UID from the reference or from After, none judged by Wait).
	NeverExisted
	// Deleted: an object that the waiter knew is gone.
	Deleted
	// Replaced: an object of another UID has taken the name of the one that the
	// waiter knew, which is therefore gone.
	Replaced

	// outOfView: the informer shows only some objects, and not this one. No
	// predicate is asked about it.
	outOfView
)

// String returns the name of the constant.
func (p Presence) String() string {
	switch p {
	case Present:
		return "Present"
	case NeverExisted:
		return "NeverExisted"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	}
	if p == outOfView {
		return "OutOfView"
	}
	return "Presence(" + strconv.Itoa(int(p)) + ")"
}

// Observation is what an informer shows of a reference at one moment. It is
// passed by value and must not be changed: Object is the informer's own copy.
type Observation struct {
	// Ref is the reference observed. Its Resource gives typed objects, whose
	// TypeMeta informers leave empty, their apiVersion.
	Ref Reference
	// Presence says whether there is an object.
	Presence Presence
	// Object is the informer's object: an *unstructured.Unstructured or a pointer
	// to a typed API struct. It is nil unless Presence is Present.
	Object metav1.Object
	// UID is the UID of the object, or of the object that is gone where known.
	UID types.UID
	// ResourceVersion is the object's version; for an absence it is the version
	// at which the absence was seen, empty if that is unknown.
	ResourceVersion string
}
