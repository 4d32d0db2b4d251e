package suite

import (
	"context"
	"fmt"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// contracts judges every row of the contracts through the bindings. The error says
// why it couldn't go on.
func (l *look) contracts(ctx context.Context) error {
	for _, contract := range l.Gate.contracts {
		binding, err := l.set.Binding(contract.Operation)
		if err != nil {
			continue // nothing is bound: nothing can lie
		}
		judged := Judged{Operation: contract.Operation, Predicate: binding.Predicate.ID(), Configured: l.places.configured(binding)}
		err = l.keep(ctx, contract, binding, &judged)
		l.report.Judged = append(l.report.Judged, judged)
		if err != nil {
			return err
		}
	}
	return nil
}

// kept is what judging a row has shown.
type kept struct {
	failed  *prepareError
	verdict engine.Verdict
	why     string // it is violated; empty if not
	usual   engine.Verdict
	unusual bool
}

// keep judges every row of a contract through the binding.
func (l *look) keep(ctx context.Context, contract *Contract, binding *engine.Binding, judged *Judged) error {
	var refused []predicates.Problem
	var unusual []deviation
	id := binding.Predicate.ID()
	var ended error
	for i := range contract.rows {
		row := &contract.rows[i]
		k, err := timed(ctx, l.perCase, func(ctx context.Context) kept { return l.runner.keepRow(ctx, contract, binding, row) })
		if err != nil {
			l.at = l.places.problem(binding, "", fmt.Sprintf("contract case %q of %s", contract.Name+"/"+row.name, contract.Operation), "")
			ended = err
			break
		}
		judged.Cases++
		switch {
		case k.failed != nil:
			refused = append(refused, l.places.problem(binding, "", fmt.Sprintf("contract case %q can't be judged: %s", row.name, k.failed.message), k.failed.hint))
		case k.why != "":
			refused = append(refused, l.places.problem(binding, k.verdict.Rule, violated(contract, row, id, k.verdict, k.why), row.because))
		case k.unusual:
			unusual = append(unusual, deviation{row, k.usual})
		}
	}
	if n := len(refused) - maxRefused; n > 0 {
		more := refused[maxRefused]
		more.Message, more.Hint = fmt.Sprintf("%d more cases of contract %s are violated", n, contract.Name), ""
		refused = append(refused[:maxRefused], more)
	}
	if len(unusual) > 0 {
		warning := l.places.problem(binding, "", warningOf(contract, id, unusual), unusual[0].row.because)
		warning.Warning = true
		refused = append(refused, warning)
	}
	l.add(refused...)
	return ended
}

// keepRow judges a row.
func (r *Runner) keepRow(ctx context.Context, contract *Contract, binding *engine.Binding, row *contractRow) (k kept) {
	t, failed := r.prepareRow(contract, binding, row)
	if failed != nil {
		return kept{failed: failed}
	}
	judgement := t.judge.Judge(ctx, t.observation)
	k.verdict, k.why = row.is.violation(judgement, binding.Timeout)
	if k.why == "" && row.beside {
		return k
	}
	// The engine ends waits by Judge, and people read Describe: neither may lie.
	judgement = t.judge.Describe(ctx, t.observation)
	if described, whyNot := row.is.violation(judgement, binding.Timeout); whyNot != "" {
		k.verdict, k.why = described, whyNot // with its texts
	}
	if k.why != "" || row.usually == nil {
		return k
	}
	usual, hold := firstEnd(judgement)
	k.usual, k.unusual = usual, row.usually.differences(usual, hold) != nil
	return k
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
