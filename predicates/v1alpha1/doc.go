// Package v1alpha1 has the Go types of Predicate and Binding documents, field by
// field as they are written in YAML.
//
//	apiVersion: donewhen.dev/v1alpha1
//	kind: Predicate
//	metadata: {name: claim-bound}
//	spec:
//	  match: {apiVersion: v1, kind: PersistentVolumeClaim}
//	  done: object.status.phase == 'Bound'
//
// The types are plain data. Package predicates reads them strictly and fills in
// what a document leaves out. The form tag says what YAML may write shorter: a
// struct with a "short" field may be that field's value alone, and a "many" slice
// may be a single element. A "nonempty" string that is written isn't blank.
package v1alpha1

// APIVersion is the apiVersion of every document of this format.
const APIVersion = "donewhen.dev/v1alpha1"

// Kinds of documents. Suites are read by package predicates/suite.
const (
	KindPredicate = "Predicate"
	KindBinding   = "Binding"
	KindSuite     = "Suite"
)

// Metadata names a document.
type Metadata struct {
	Name string `json:"name"`
}
