package suite

import (
	"bytes"
	"testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// TestSameSuiteForRulesAndModules runs one suite against a predicate of rules and
// against a module behind the same name.
func TestSameSuiteForRulesAndModules(t *testing.T) {
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	report := NewRunner(nil, WithLoading(predicates.WithWasm(runtime))).Files(t.Context(), "testdata/modules/cel_test.yaml", "testdata/modules/wasm_test.yaml")
	for _, p := range report.Problems {
		t.Error(p)
	}
	if len(report.Suites) != 2 || len(report.Suites[0].Checks) != len(report.Suites[1].Checks) {
		t.Fatalf("%d suites", len(report.Suites))
	}
	for i := range report.Suites {
		s := &report.Suites[i]
		for j := range s.Checks {
			if c := &s.Checks[j]; !c.Passed() {
				var failure bytes.Buffer
				writeFailure(&failure, c)
				t.Errorf("%s, %s:\n%s", s.Name, c.Name, failure.String())
			}
		}
	}
}
