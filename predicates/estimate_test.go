package predicates

import (
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// A schema that bounds its lists says what a predicate may cost before it runs: more
// than its limit is a warning, with Strict an error. TestK48 is its counterpart.
func TestEstimateOfADocument(t *testing.T) {
	crd := strings.Replace(volumeCRD, "properties: {state:", "properties: {parts: {type: array, maxItems: 2000, items: {type: string, maxLength: 100}}, state:", 1)
	known, err := schemas.Parse("crd.yaml", []byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	dear := predicate("p", `  done: |-
    object.status.parts.all(a,
      object.status.parts.exists(b, a == b))
`)
	set, err := mustLoader(t, WithSchemas(known)).Load(source("s", dear))
	if err != nil {
		t.Fatal(err)
	}
	const warning = "spec.done[0].expression: it may cost 64,014,004, more than the predicate's limit of 1,000,000; object.status.parts may have 2,000 elements by its schema: look at fewer, or raise spec.limits.cost"
	var got []string
	for _, w := range set.Warnings() {
		if strings.Contains(w.Message, "may cost") {
			got = append(got, w.Summary())
		}
	}
	if len(got) != 1 || got[0] != "s, a.yaml:8:7: warning: Predicate p: "+warning {
		t.Errorf("warnings:\n%s", strings.Join(got, "\n"))
	}
	if _, err := mustLoader(t, Strict(), WithSchemas(known)).Load(source("s", dear)); err == nil || !strings.Contains(err.Error(), warning) {
		t.Errorf("strictly: %v", err)
	}
	// A limit of its own is what counts.
	raised := dear + "  limits: {cost: 100000000}\n"
	set, err = mustLoader(t, WithSchemas(known)).Load(source("s", raised))
	if err != nil || strings.Contains(summaries(set.Warnings()), "may cost") {
		t.Errorf("error %v, warnings:\n%s", err, summaries(set.Warnings()))
	}
}

// TestK48_AnExistsOverConditionsLoads: nothing is said of a loop over a list whose
// schema has no maxItems, not even strictly.
func TestK48_AnExistsOverConditionsLoads(t *testing.T) {
	crd := strings.Replace(volumeCRD, "properties: {state:", "properties: {conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}, state:", 1)
	known, err := schemas.Parse("crd.yaml", []byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	plain := predicate("p", `  done: |-
    object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')
`)
	if _, err := mustLoader(t, Strict(), WithSchemas(known)).Load(source("s", plain)); err != nil {
		t.Error(err)
	}
}
