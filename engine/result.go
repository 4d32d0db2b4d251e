package engine

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Result is what ended a wait by a verdict. It is safe for concurrent use.
type Result struct {
	// Absent reports that the deciding observation was an absence: Object and
	// Peek return nil.
	Absent bool
	// Verdict is the deciding verdict, Done or Failed.
	Verdict Verdict
	// ResourceVersion is the version judged; for an absence the version at which
	// it was seen, empty if that is unknown.
	ResourceVersion string
	// Delivered is when the deciding observation reached the engine, Ended when
	// the wait ended: what lies between is the engine's own share.
	Delivered, Ended time.Time

	object metav1.Object
	once   sync.Once
	copied metav1.Object
}

// Object returns a deep copy of the object judged, made on first use, which the
// caller may change; nil (not a typed nil) if Absent.
func (r *Result) Object() metav1.Object {
	r.once.Do(func() {
		o, ok := r.object.(runtime.Object)
		if !ok {
			return
		}
		// The deep copy of an API object is of the object's own type.
		r.copied, _ = o.DeepCopyObject().(metav1.Object)
	})
	return r.copied
}

// Peek returns the informer's own object, which must not be changed; nil (not a
// typed nil) if Absent.
func (r *Result) Peek() metav1.Object { return r.object }
