package suite

import (
	"strings"
	"testing"
)

// Conditions as people write them for the kinds that they wait for: each has an
// object that is done, one that is pending, one that failed where that can be
// known, and one without a status.
func TestConditions(t *testing.T) {
	report := NewRunner(nil).Files(t.Context(), "testdata/conditions")
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	predicates, verdicts := map[string]bool{}, map[string]int{}
	for _, s := range report.Suites {
		for _, c := range s.Checks {
			predicates[c.Predicate.Name] = true
			verdicts[c.Verdict.Decision.String()]++
		}
	}
	passed, failed := report.Count()
	t.Logf("%d conditions, %d checks passed, %d failed: %v", len(predicates), passed, failed, verdicts)
	// Reading fewer cases than there are must not look like success.
	if len(predicates) < 60 || passed < 269 || verdicts["Failed"] < 40 || verdicts["Done"] < 68 {
		t.Error("conditions or checks are missing")
	}
	// What is written as it should be is warned of by no lint; most of these kinds
	// have no schema here.
	for _, w := range report.Warnings {
		if !strings.Contains(w.Message, "no schema of ") {
			t.Error(w)
		}
	}
}
