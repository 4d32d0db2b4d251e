package suite

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// Report is what running suites has shown.
type Report struct {
	Suites []SuiteResult
	// Problems are what kept suites from running: nothing of those is in Suites.
	Problems []predicates.Problem
	// Warnings are those of the sets that were tested, of each once.
	Warnings []predicates.Problem
}

// SuiteResult is what one suite has shown, check by check.
type SuiteResult struct {
	Name, File string
	Checks     []CheckResult
}

// CheckResult is the outcome of one check: of a case, or of a row of its table or
// sweep.
type CheckResult struct {
	// Suite and Name ("case" or "case/row") name the check, File, Line and Column
	// say where it stands.
	Suite, Name  string
	File         string
	Line, Column int
	// Operation is set if the predicate was found through its binding.
	Operation string
	Predicate engine.PredicateID
	Want      *Expectation
	// Verdict is what the predicate says once every `for` has passed; For is the
	// time that the deciding rule has to hold.
	Verdict engine.Verdict
	For     time.Duration
	// Differences say how Verdict differs from Want; none means passed.
	Differences []string
	// Trace has a line per step of an events case. Want and Verdict are then those
	// of the first step that differs, else of the last one that expects something,
	// and each difference names its step.
	Trace   []string
	Elapsed time.Duration
}

// Passed reports whether the check has passed.
func (c *CheckResult) Passed() bool { return len(c.Differences) == 0 }

// Count returns how many of the suite's checks have passed and failed.
func (s *SuiteResult) Count() (passed, failed int) {
	for i := range s.Checks {
		if s.Checks[i].Passed() {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

// Count returns how many checks have passed and failed.
func (r *Report) Count() (passed, failed int) {
	for i := range r.Suites {
		p, f := r.Suites[i].Count()
		passed, failed = passed+p, failed+f
	}
	return passed, failed
}

// Err returns nil if everything loaded and passed, at least one check; else an
// error that names the first failures. It is a *predicates.LoadError if something didn't load.
func (r *Report) Err() error {
	if len(r.Problems) > 0 {
		return &predicates.LoadError{Problems: r.Problems}
	}
	var failures []string
	for _, s := range r.Suites {
		for _, c := range s.Checks {
			if !c.Passed() {
				failures = append(failures, fmt.Sprintf("%s/%s (%s)", c.Suite, c.Name, c.Differences[0]))
			}
		}
	}
	if passed, failed := r.Count(); passed+failed == 0 {
		return errors.New("no suite check ran: is there a suite with a case, and does the filter leave one?")
	}
	if len(failures) == 0 {
		return nil
	}
	const shown = 3
	more := ""
	if n := len(failures) - shown; n > 0 {
		failures, more = failures[:shown], fmt.Sprintf("; and %d more", n)
	}
	passed, failed := r.Count()
	return fmt.Errorf("%d of %d suite checks failed: %s%s", failed, passed+failed, strings.Join(failures, "; "), more)
}
