package suite

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// Gate decides whether a set may come into force: the suites that come with a
// config must pass, and what is bound to an operation must keep the contracts of
// that operation. It is immutable and safe for concurrent use.
type Gate struct {
	runner    *Runner
	contracts []*Contract
	beside    ReadFile // nil: none
}

// GateOption changes how a Gate works.
type GateOption func(*Gate)

// WithObjects reads what suites name as objects and their source doesn't have, for
// who looks at a config before it is packed; each is warned about, for the config
// as it stands doesn't come with it.
func WithObjects(read ReadFile) GateOption {
	return func(g *Gate) { g.beside = read }
}

// maxRefused is how many violated rows of one contract are reported: a predicate
// that is wrong altogether violates most of them.
const maxRefused = 8

// NewGate returns the gate of a program with these operations and contracts. It is
// an error if a contract is about no operation, or doesn't give the params that
// the operation's callers give.
func NewGate(operations []engine.Operation, contracts []*Contract, opts ...GateOption) (*Gate, error) {
	for _, c := range contracts {
		i := slices.IndexFunc(operations, func(o engine.Operation) bool { return o.Name == c.Operation })
		if i < 0 {
			return nil, fmt.Errorf("contract %s (%s) is about operation %q, which isn't declared", c.Name, c.File, c.Operation)
		}
		for _, row := range c.rows {
			for _, param := range operations[i].Params {
				if _, ok := row.params[param.Name]; !ok && row.presence == engine.Present {
					return nil, fmt.Errorf("contract %s (%s), case %q: the callers of %s give %s, and the case doesn't", c.Name, c.File, row.name, c.Operation, param.Name)
				}
			}
		}
	}
	g := &Gate{runner: NewRunner(operations), contracts: contracts}
	for _, opt := range opts {
		opt(g)
	}
	return g, nil
}

// NewGateOf is NewGate with the contracts of a file system: see ParseContracts.
func NewGateOf(operations []engine.Operation, contracts fs.FS, opts ...GateOption) (*Gate, error) {
	parsed, err := ParseContracts(contracts)
	if err != nil {
		return nil, fmt.Errorf("load the contracts of the operations: %w", err)
	}
	return NewGate(operations, parsed, opts...)
}

// Check returns what keeps the set from coming into force, and warnings about what
// doesn't. The sources are those that the set was made of. It is what a
// predicates.Gate is to do; the judging ends with ctx, which refuses the set.
func (g *Gate) Check(ctx context.Context, set *predicates.Set, sources []predicates.Source) []predicates.Problem {
	var problems []predicates.Problem
	places := &places{set: set, sources: sources}
	for _, contract := range g.contracts {
		binding, err := set.Binding(contract.Operation)
		if err != nil {
			continue // nothing is bound: nothing can lie
		}
		problems = append(problems, g.keep(ctx, contract, binding, places)...)
	}
	problems = append(problems, g.suites(ctx, set, sources)...)
	if err := ctx.Err(); err != nil {
		problems = append(problems, predicates.Problem{Message: fmt.Sprintf("the gate was interrupted: %v", err)})
	}
	return problems
}

// keep judges every row of a contract through the binding.
func (g *Gate) keep(ctx context.Context, contract *Contract, binding *engine.Binding, places *places) []predicates.Problem {
	var refused []predicates.Problem
	var unusual []deviation
	id := binding.Predicate.ID()
	for i := range contract.rows {
		row := &contract.rows[i]
		t, failed := g.runner.prepareRow(contract, binding, row)
		if failed != nil {
			refused = append(refused, places.problem(binding, "", fmt.Sprintf("contract case %q can't be judged: %s", row.name, failed.message), failed.hint))
			continue
		}
		judgement := t.judge.Judge(ctx, t.observation)
		verdict, why := row.is.violation(judgement, binding.Timeout)
		if why == "" && row.beside {
			continue
		}
		// The engine ends waits by Judge, and people read Describe: neither may lie.
		judgement = t.judge.Describe(ctx, t.observation)
		if described, whyNot := row.is.violation(judgement, binding.Timeout); whyNot != "" {
			verdict, why = described, whyNot // with its texts
		}
		if why != "" {
			refused = append(refused, places.problem(binding, verdict.Rule, violated(contract, row, id, verdict, why), row.because))
			continue
		}
		if row.usually == nil {
			continue
		}
		usual, hold := firstEnd(judgement)
		if row.usually.differences(usual, hold) != nil {
			unusual = append(unusual, deviation{row, usual})
		}
	}
	if n := len(refused) - maxRefused; n > 0 {
		more := refused[maxRefused]
		more.Message, more.Hint = fmt.Sprintf("%d more cases of contract %s are violated", n, contract.Name), ""
		refused = append(refused[:maxRefused], more)
	}
	if len(unusual) > 0 {
		warning := places.problem(binding, "", warningOf(contract, id, unusual), unusual[0].row.because)
		warning.Warning = true
		refused = append(refused, warning)
	}
	return refused
}

// prepareRow makes what a row judges.
func (r *Runner) prepareRow(c *Contract, binding *engine.Binding, row *contractRow) (*trial, *prepareError) {
	return r.prepare(boundTo{binding}, &Suite{Name: c.Name, File: c.File, doc: c.doc}, &row.check)
}

// boundTo is a set of one binding.
type boundTo struct{ binding *engine.Binding }

func (b boundTo) Binding(string) (*engine.Binding, error) { return b.binding, nil }
func (b boundTo) Bindings() []*engine.Binding             { return []*engine.Binding{b.binding} }
func (b boundTo) Digest() string                          { return "" }
func (b boundTo) Predicate(string) (engine.Predicate, error) {
	return b.binding.Predicate, nil
}

// violated says which row a predicate breaks, and how.
func violated(contract *Contract, row *contractRow, id engine.PredicateID, v engine.Verdict, why string) string {
	return fmt.Sprintf("the contract of %s forbids it: in case %q (%s) predicate %s says %s: %s",
		contract.Operation, contract.Name+"/"+row.name, row.is, id, verdictText(v), why)
}

// verdictText returns a verdict in words, with the rule that gave it and why.
func verdictText(v engine.Verdict) string {
	var b strings.Builder
	b.WriteString(v.Decision.String())
	if v.Decision == engine.Failed {
		b.WriteString(" with code " + v.Code.String())
	}
	if v.Rule != "" {
		b.WriteString(" by " + v.Rule)
	}
	detail := v.Reason
	if v.Message != "" {
		detail = strings.TrimPrefix(detail+": "+v.Message, ": ")
	}
	if len(v.Missing) > 0 {
		detail = strings.TrimPrefix(detail+"; missing "+strings.Join(v.Missing, ", "), "; ")
	}
	if detail != "" {
		b.WriteString(" (" + detail + ")")
	}
	return b.String()
}

// deviation is a verdict that the contract allows, but isn't the usual one.
type deviation struct {
	row     *contractRow
	verdict engine.Verdict
}

// warningOf names the rows of a contract in which a predicate says something else
// than the program's own, with the first ones.
func warningOf(contract *Contract, id engine.PredicateID, unusual []deviation) string {
	const shown = 3
	var cases []string
	for _, d := range unusual[:min(shown, len(unusual))] {
		got := d.verdict.Decision.String()
		if d.verdict.Decision == engine.Failed {
			got += ", code " + d.verdict.Code.String()
		}
		cases = append(cases, fmt.Sprintf("%q: %s, usually %s", d.row.name, got, d.row.usually))
	}
	if n := len(unusual) - len(cases); n > 0 {
		cases = append(cases, fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("predicate %s isn't as usual for %s in contract %s: %s", id, contract.Operation, contract.Name, strings.Join(cases, "; "))
}

// suites runs the suites that come with the config: with every source but the
// first, the program's own.
func (g *Gate) suites(ctx context.Context, set *predicates.Set, sources []predicates.Source) []predicates.Problem {
	var problems []predicates.Problem
	for _, source := range sources[min(1, len(sources)):] {
		files := map[string]predicates.File{}
		for _, f := range source.Files {
			files[f.Name] = f
		}
		in := func(p predicates.Problem) {
			p.Source = source.Name
			problems = append(problems, p)
		}
		for _, file := range source.Files {
			if file.Binary || !suiteLine.Match(file.Data) {
				continue
			}
			read := &reader{source: source.Name, files: files, beside: g.beside}
			suites, err := Parse(file, read.file)
			report := &Report{Problems: read.warnings(file.Name)} // after Parse has read
			report.add(err)
			for _, s := range suites {
				for i, name := range s.Predicates {
					if _, ok := files[name]; !ok {
						report.Problems = append(report.Problems, s.missing(i, name, slices.Sorted(maps.Keys(files))))
					}
				}
			}
			ran := g.runner.Run(ctx, set, suites...)
			for _, p := range append(report.Problems, ran.Problems...) {
				in(p)
			}
			for _, result := range ran.Suites {
				for i := range result.Checks {
					if c := &result.Checks[i]; !c.Passed() {
						in(c.problem(file))
					}
				}
			}
		}
	}
	return problems
}
