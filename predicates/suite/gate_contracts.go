package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// shortestWait is how long a wait must be allowed to take: what happens must come
// from the API server, and be judged.
const shortestWait = 100 * time.Millisecond

// kept is what judging a row has shown.
type kept struct {
	failed  *prepareError
	verdict engine.Verdict
	why     string // it is violated; empty if not
	usual   engine.Verdict
	unusual bool
}

// remembered is what a look at a binding has shown that kept its contract.
type remembered struct {
	binding string // what was judged
	cases   int
	unusual []deviation
}

// identity names what a binding makes of a predicate. Equal ones judge alike.
func identity(binding *engine.Binding) string {
	params, err := json.Marshal(binding.Params)
	if err != nil {
		return "" // it isn't remembered
	}
	return strings.Join([]string{binding.Predicate.ID().Digest, string(params), binding.Timeout.String()}, "\x00")
}

// recall returns what the contract's last look has shown, if that was at the same.
func (g *Gate) recall(contract *Contract, identity string) (remembered, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.last[contract]
	return r, ok && identity != "" && r.binding == identity
}

func (g *Gate) remember(contract *Contract, r remembered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last[contract] = r
}

// keep judges every row of a contract through the binding, unless the last look has
// done so and found nothing: most reloads change one binding of many.
func (l *look) keep(ctx context.Context, contract *Contract, binding *engine.Binding, judged *Judged) error {
	id := binding.Predicate.ID()
	identity := identity(binding)
	seen, known := l.recall(contract, identity)
	if !known {
		found, refused, err := l.keepRows(ctx, contract, binding)
		judged.Cases = found.cases
		l.add(refused...)
		if err != nil {
			return err
		}
		if found.binding = identity; len(refused) == 0 {
			l.remember(contract, found)
		}
		seen = found
	}
	judged.Cases = seen.cases
	if len(seen.unusual) > 0 {
		warning := l.places.problem(binding, "", warningOf(contract, id, seen.unusual), seen.unusual[0].row.because)
		warning.Warning = true
		l.add(warning)
	}
	return nil
}

// keepRows judges every row, and returns what refuses the binding.
func (l *look) keepRows(ctx context.Context, contract *Contract, binding *engine.Binding) (found remembered, refused []predicates.Problem, ended error) {
	id := binding.Predicate.ID()
	refused = l.tooShort(contract, binding)
	rows := contract.rowsFor(id)
	for i := range rows {
		row := &rows[i]
		k, err := timed(ctx, l.perCase, func(ctx context.Context) kept { return l.runner.keepRow(ctx, contract, binding, row) })
		if err != nil {
			l.at = l.places.problem(binding, "", fmt.Sprintf("contract case %q of %s", contract.Name+"/"+row.name, contract.Operation), "")
			ended = err
			break
		}
		found.cases++
		switch {
		case k.failed != nil:
			refused = append(refused, l.places.problem(binding, "", fmt.Sprintf("contract case %q can't be judged: %s", row.name, k.failed.message), k.failed.hint))
		case k.why != "":
			refused = append(refused, l.places.problem(binding, k.verdict.Rule, violated(contract, row, id, k.verdict, k.why), row.because))
		case k.unusual:
			found.unusual = append(found.unusual, deviation{row, k.usual})
		}
	}
	if n := len(refused) - maxRefused; n > 0 {
		more := refused[maxRefused]
		more.Message, more.Hint = fmt.Sprintf("%d more cases of contract %s are violated", n, contract.Name), ""
		refused = append(refused[:maxRefused], more)
	}
	return found, refused, ended
}

// tooShort is a binding that gives a wait no time to be Done.
func (l *look) tooShort(contract *Contract, binding *engine.Binding) []predicates.Problem {
	if binding.Timeout <= 0 || binding.Timeout >= shortestWait {
		return nil
	}
	for i := range contract.rows {
		row := &contract.rows[i]
		if row.is != finished {
			continue
		}
		message := fmt.Sprintf("the contract of %s forbids it: in case %q (%s) the wait must end as Done, and nobody can see that within %v",
			contract.Operation, contract.Name+"/"+row.name, row.is, binding.Timeout)
		return []predicates.Problem{l.places.bindingProblem(binding, "timeout", message, "write it like 10m, or leave it out to wait as long as the caller does")}
	}
	return nil
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
