package suite

import "reflect"

// DocumentType returns the type that a Suite document is read into, for who makes
// a schema of it. Its fields have the tags of package v1alpha1.
func DocumentType() reflect.Type { return reflect.TypeFor[suiteDocument]() }
