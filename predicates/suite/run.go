package suite

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// Runner runs suites. It is immutable and safe for concurrent use.
type Runner struct {
	operations []engine.Operation
	loading    []predicates.LoaderOption
	clock      clock.PassiveClock
	match      func(name string) bool
}

// Option changes how a Runner runs.
type Option func(*Runner)

// WithFilter runs only the checks whose name, "suite/case" or "suite/case/row",
// the expression matches somewhere.
func WithFilter(expression *regexp.Regexp) Option {
	return func(r *Runner) { r.match = expression.MatchString }
}

// WithLoading has the sets under test loaded with these options, for example with
// the schemas of their kinds.
func WithLoading(opts ...predicates.LoaderOption) Option {
	return func(r *Runner) { r.loading = append(r.loading, opts...) }
}

// WithClock gives the clock by which elapsed times are measured.
func WithClock(c clock.PassiveClock) Option {
	return func(r *Runner) { r.clock = c }
}

// NewRunner returns a runner of suites about these operations: those that
// bindings may name, with the params that their callers give.
func NewRunner(operations []engine.Operation, opts ...Option) *Runner {
	r := &Runner{
		operations: operations,
		clock:      clock.RealClock{},
		match:      func(string) bool { return true },
	}
	for _, opt := range opts {
		opt(r)
	}
	return r
}

// Run judges every check of the suites by the set. A suite that asks for what the
// set doesn't have is a problem of the report, and none of it runs.
func (r *Runner) Run(ctx context.Context, set engine.Set, suites ...*Suite) *Report {
	report := &Report{}
	for _, s := range suites {
		r.run(ctx, set, s, report)
	}
	return report
}

func (r *Runner) run(ctx context.Context, set engine.Set, s *Suite, report *Report) {
	var trials []*trial
	var problems []predicates.Problem
	for i := range s.checks {
		c := &s.checks[i]
		if !r.match(s.Name + "/" + c.name) {
			continue
		}
		t, problem := r.ready(set, s, c)
		if problem != nil {
			if !slices.Contains(problems, *problem) {
				problems = append(problems, *problem)
			}
			continue
		}
		trials = append(trials, t)
	}
	if len(problems) > 0 {
		report.Problems = append(report.Problems, problems...)
		return
	}
	if len(trials) == 0 && len(s.checks) > 0 {
		return // the filter wants none of it
	}
	result := SuiteResult{Name: s.Name, File: s.File}
	for _, t := range trials {
		result.Checks = append(result.Checks, t.run(ctx, r.clock))
	}
	report.Suites = append(report.Suites, result)
}

// ready is prepare, with what doesn't fit the set as a problem of the suite. What is
// wrong with a default is the same problem for all cases that use it.
func (r *Runner) ready(set engine.Set, s *Suite, c *check) (*trial, *predicates.Problem) {
	t, failed := r.prepare(set, s, c)
	if failed == nil {
		return t, nil
	}
	line, column := s.doc.Position(failed.at...)
	problem := &predicates.Problem{
		File: s.File, Line: line, Column: column, Document: "Suite " + s.Name,
		Message: fmt.Sprintf("case %q: %s", c.name, failed.message), Hint: failed.hint,
		Excerpt: s.doc.Excerpt(line, column),
	}
	if isDefault(failed.at) {
		problem.Message = failed.message
	}
	return nil, problem
}
