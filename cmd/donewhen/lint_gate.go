package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

// runGate adds what the gate says of the set, and a warning if it has looked at
// nothing that the documents say.
func (l *linted) runGate(ctx context.Context, set *predicates.Set, sources []predicates.Source) error {
	gate, err := suite.NewGateOf(provisioner.Operations(), provisioner.Contracts(), suite.WithObjects(os.ReadFile))
	if err != nil {
		return err
	}
	l.gate = gate.Look(ctx, set, sources)
	for _, problem := range l.gate.Problems {
		if problem.Warning {
			l.warnings = append(l.warnings, problem)
		} else {
			l.errors = append(l.errors, problem)
		}
	}
	if operations, _ := ownOperations(l.gate); len(operations) == 0 && (l.gate.Checks == 0 || l.predicates+l.bindings > 0) {
		l.warnings = append(l.warnings, predicates.Problem{
			Source: sources[len(sources)-1].Name, Warning: true,
			Message: "the contracts of operations say nothing of these documents, for no predicate in them ends an operation",
			Hint:    "bind one with a Binding whose action is Enforce, or give it the name of one that is bound (donewhen operations lists both)",
		})
	}
	return nil
}

// ownOperations returns the operations that the documents change, and in how many
// cases those were judged.
func ownOperations(report *suite.GateReport) (operations []string, cases int) {
	for _, judged := range report.Judged {
		if judged.Configured {
			operations, cases = append(operations, judged.Operation), cases+judged.Cases
		}
	}
	return operations, cases
}

// judgedText says what was judged.
func judgedText(report *suite.GateReport) string {
	operations, cases := ownOperations(report)
	text := fmt.Sprintf("the gate has judged %s of these documents", number(len(operations), "operation"))
	if len(operations) > 0 {
		text += fmt.Sprintf(" (%s) in %s of contracts", strings.Join(operations, ", "), number(cases, "case"))
	}
	return text + ", and " + number(report.Checks, "suite check") + "\n"
}

// lintGate is what the gate has judged, in JSON.
type lintGate struct {
	Operations  []lintJudged `json:"operations"`
	SuiteChecks int          `json:"suiteChecks"`
}

type lintJudged struct {
	Operation string `json:"operation"`
	Predicate string `json:"predicate"`
	Cases     int    `json:"cases"`
	// Own: the documents say what ends it, and not donewhen-driver's own set.
	Own bool `json:"own"`
}

func judgedJSON(report *suite.GateReport) *lintGate {
	gate := &lintGate{Operations: []lintJudged{}, SuiteChecks: report.Checks}
	for _, judged := range report.Judged {
		gate.Operations = append(gate.Operations, lintJudged{judged.Operation, judged.Predicate.Name, judged.Cases, judged.Configured})
	}
	return gate
}
