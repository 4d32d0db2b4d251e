// Package jsonform views Go API objects in their JSON form, as the API server
// would send them, without converting them: dates are strings, omitted fields are
// absent, whole numbers are exact.
//
//	plans := jsonform.NewPlans()
//	v := plans.Object(deployment, &metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"})
//	available := v.Get("status", "availableReplicas") // Kind is Absent if it is 0
//	text, err := v.Get("metadata").AppendJSON(nil)
//
// What counts is encoding/json, decoded with whole numbers as int64.
// runtime.DefaultUnstructuredConverter differs from it: it ignores the rules for
// embedded fields of one name, knows no option "string" and no text marshalers, and
// keeps a whole float64 as a float and a []byte of length 0 that isn't nil as "".
package jsonform
