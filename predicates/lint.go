package predicates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// compiled is an expression of a document that compiled.
type compiled struct {
	path    []any
	program *celexpr.Program
}

// field returns the field of the spec that the expression belongs to.
func (c compiled) field() string {
	field, _ := c.path[1].(string)
	return field
}

// name returns the last name of its path: expression, messageExpression, ….
func (c compiled) name() string {
	name, _ := c.path[len(c.path)-1].(string)
	return name
}

// shortestTimeout is the least that a timeout must be to judge anything.
const shortestTimeout = time.Millisecond

// lint returns what is allowed in the document but probably isn't meant. It is
// called once everything has compiled.
func (b *builder) lint(spec *judge.Spec) []warning {
	if b.noSchema != nil && len(b.compiled) > 0 {
		b.warnings = append(b.warnings, *b.noSchema)
	}
	for _, c := range b.compiled {
		decides := c.field() == "variables" || c.name() == "expression" && c.field() != fieldPending
		for _, issue := range slices.Concat(c.program.Warnings(), c.program.Lint(decides)) {
			b.warnWithin(c.path, issue.Line, issue.Column, issue.Hint, issue.Message)
		}
		if issue := c.program.Estimate(cmp.Or(spec.CostLimit, judge.DefaultCostLimit)); issue != nil {
			b.warnWithin(c.path, issue.Line, issue.Column, issue.Hint, issue.Message)
		}
	}
	programs := make([]*celexpr.Program, len(b.compiled))
	for i := range b.compiled {
		programs[i] = b.compiled[i].program
	}
	for _, issue := range celexpr.LintPaths(programs) {
		b.warnWithin(b.compiled[issue.Program].path, issue.Line, issue.Column, issue.Hint, issue.Message)
	}
	b.unused()
	b.reach(spec)
	b.lintFields(spec)
	for _, number := range b.OctalNumbers() {
		b.warn(number.Path, number.Hint, number.Message)
	}
	return b.warnings
}

// unused finds params and variables that no rule uses, not by a variable either.
func (b *builder) unused() {
	params, variables := map[string]bool{}, map[string]bool{}
	var use func(p *celexpr.Program)
	use = func(p *celexpr.Program) {
		ps, vs := p.Reads()
		for _, name := range ps {
			params[name] = true
		}
		for _, name := range vs {
			if !variables[name] {
				variables[name] = true
				if v := b.environment.Variable(name); v != nil {
					use(v)
				}
			}
		}
	}
	for _, c := range b.compiled {
		if c.field() != "variables" {
			use(c.program)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.spec.Params)) {
		if !params[name] {
			b.warnKey([]any{"spec", "params", name}, "remove it", "no rule uses this param")
		}
	}
	for i, v := range b.spec.Variables {
		if !variables[v.Name] {
			b.warn([]any{"spec", "variables", i, "name"}, "remove it", fmt.Sprintf("no rule uses the variable %q", v.Name))
		}
	}
}

// lintFields looks at fields beside the expressions.
func (b *builder) lintFields(spec *judge.Spec) {
	if spec.ExpectsGone && spec.ObservedGeneration == judge.GenerationRequire {
		b.warnKey([]any{"spec", "observedGeneration"}, "remove it: a deletion raises metadata.generation by itself",
			"it isn't applied with expect: Gone")
	}
	if t := spec.Timeout; t > 0 && t < shortestTimeout {
		b.warn([]any{"spec", "limits", "timeout"}, "write at least "+shortestTimeout.String()+"; a second is the default",
			fmt.Sprintf("%v is too short to judge anything", t))
	}
	for _, c := range b.compiled {
		i, ok := c.path[2].(int)
		if !ok || c.field() == fieldPending || c.field() == "variables" || c.name() == "expression" {
			continue
		}
		if b.holdOf(c.field(), i) > 0 && c.program.Costly() {
			b.warnRule(c.path, "write a static text, or loop over one list only",
				"it loops within a loop, at every change of the object while the rule waits for its time")
		}
	}
}

// holdOf returns how long a rule must hold.
func (b *builder) holdOf(field string, i int) time.Duration {
	rules := map[string][]v1alpha1.Rule{fieldAborted: b.spec.Aborted, fieldDone: b.spec.Done, fieldFailed: b.spec.Failed}[field]
	switch {
	case i >= len(rules):
		return 0
	case rules[i].For != nil:
		return rules[i].For.Duration
	case field == fieldDone && b.spec.StableFor != nil:
		return b.spec.StableFor.Duration
	}
	return 0
}

// ranked is a rule with what its condition says.
type ranked struct {
	field string
	index int
	hold  time.Duration
	form  celexpr.Form
}

func (r ranked) path() []any {
	return []any{"spec", r.field, r.index}
}

func (r ranked) String() string { return fmt.Sprintf("%s[%d]", r.field, r.index) }

// reach finds rules that never decide, and failed rules that hold where the
// verdict is Done. It compares conditions by their form: a rule whose condition
// has all that another's has holds only where that one does.
func (b *builder) reach(spec *judge.Spec) {
	var order []ranked
	for _, group := range []struct {
		field string
		rules []judge.Rule
	}{{fieldAborted, spec.Aborted}, {fieldDone, spec.Done}, {fieldFailed, spec.Failed}, {fieldPending, spec.Pending}} {
		for i, rule := range group.rules {
			order = append(order, ranked{group.field, i, rule.For, celexpr.FormOf(rule.When)})
		}
	}
	for i, r := range order {
		at := r.path()
		if b.ruleExpression(r) != "" {
			at = append(at, "expression")
		}
		if r.form.Never() {
			b.warnRule(at, "", "it can never hold: its conditions contradict each other")
			continue
		}
		if first, ok := hiddenBy(order[:i], r); ok {
			hint := "put the narrower rule first, or remove this one"
			what := "never decides: " + first.String() + " holds whenever it does, and is asked first"
			if first.form.Always() {
				what = "never decides: " + first.String() + " always holds, and is asked first"
				hint = "move " + first.String() + " to the end"
				if first.field != r.field {
					hint = "give " + first.String() + " a condition"
				}
			}
			if r.field == fieldPending {
				what = strings.Replace(what, "never decides", "is never shown", 1)
			}
			b.warnRule(at, hint, "it "+what)
			continue
		}
		if r.field == fieldFailed {
			b.failsWhereDone(order, r, at)
		}
	}
}

// warnRule notes a warning about a whole expression, or a rule without one.
func (b *builder) warnRule(path []any, hint, message string) {
	if _, isIndex := path[len(path)-1].(int); isIndex {
		b.warn(path, hint, message)
		return
	}
	b.warnWithin(path, 1, 1, hint, message)
}

func (b *builder) ruleExpression(r ranked) string {
	rules := map[string][]v1alpha1.Rule{
		fieldAborted: b.spec.Aborted, fieldDone: b.spec.Done, fieldFailed: b.spec.Failed, fieldPending: b.spec.Pending,
	}[r.field]
	return strings.TrimSpace(rules[r.index].Expression)
}

// hiddenBy returns an earlier rule that decides whenever r holds.
func hiddenBy(earlier []ranked, r ranked) (ranked, bool) {
	i := slices.IndexFunc(earlier, func(first ranked) bool {
		return first.hold == 0 && r.form.Implies(first.form)
	})
	if i < 0 {
		return ranked{}, false
	}
	return earlier[i], true
}

// failsWhereDone warns of a failed rule that holds wherever an alternative of a
// done rule does: it is right only by the order of the fields, and wrong as soon
// as the done rule has to hold for a time.
func (b *builder) failsWhereDone(order []ranked, r ranked, at []any) {
	for _, done := range order {
		if done.field != fieldDone || done.form.Always() || !done.form.MayImply(r.form) {
			continue
		}
		message := fmt.Sprintf("it holds where the verdict is Done too, by %s", done)
		hint := "add what tells it from done, so that it is right by itself"
		if done.hold > 0 && cmp.Compare(r.hold, done.hold) < 0 {
			message = fmt.Sprintf("it holds wherever %s does, and doesn't have to hold as long: it always decides first", done)
			hint = "add what tells it from done"
		}
		b.warnRule(at, hint, message)
		return
	}
}
