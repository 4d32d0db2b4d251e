package judge

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/explain"
)

// Explainer is a judge that says why.
type Explainer interface {
	// Explain judges the observation as Describe does and says what led to the
	// verdict. A rule that must hold for a time counts as having held for it; the
	// verdict then says so.
	Explain(ctx context.Context, o engine.Observation) *explain.Explanation
}

var _ Explainer = (*bound)(nil)

// Explain implements Explainer.
func (b *bound) Explain(ctx context.Context, o engine.Observation) *explain.Explanation {
	judgement := b.run(ctx, o, true)
	v, hold := judgement.Verdict, ""
	if len(judgement.Holding) > 0 {
		v, hold = judgement.Holding[0].Verdict, judgement.Holding[0].For.String()
	}
	x := &explain.Explanation{
		Predicate: explain.Predicate{Name: b.spec.ID.Name, Version: b.spec.ID.Label, Digest: b.spec.ID.Digest},
		Verdict:   explainedVerdict(v, hold),
		Object:    b.explainedObject(o),
		Policies:  []explain.Policy{},
		Rules:     []explain.Rule{},
	}
	if o.Presence != engine.Present {
		x.Policies = append(x.Policies, explain.Policy{Name: absencePolicy(o), Decided: true, Says: b.absence(o)})
		return x
	}
	object, err := celexpr.JSONForm(o.Object, b.groupVersionKind(o))
	if err != nil || b.err != nil {
		return x // the verdict says what is wrong
	}
	ev := b.spec.Environment.Evaluation(ctx, object, b.params, b.limits())
	defer ev.Close()
	if b.policies(x, ev) {
		b.explainRules(x, ev, v)
	}
	return x
}

func explainedVerdict(v engine.Verdict, hold string) explain.Verdict {
	out := explain.Verdict{
		Verdict: v.Decision.String(), Cause: v.Cause.String(), Reason: v.Reason, Message: v.Message,
		For: hold, Missing: v.Missing, Rule: v.Rule, Explanation: v.Explanation,
	}
	if v.Decision == engine.Failed {
		out.Code = v.Code.String()
	}
	return out
}

func (b *bound) groupVersionKind(o engine.Observation) schema.GroupVersionKind {
	return o.Ref.Resource.GroupVersion().WithKind(b.spec.Kind)
}

func (b *bound) explainedObject(o engine.Observation) *explain.Object {
	out := &explain.Object{
		APIVersion: o.Ref.Resource.GroupVersion().String(), Kind: b.spec.Kind,
		Namespace: o.Ref.Namespace, Name: o.Ref.Name, ResourceVersion: o.ResourceVersion,
	}
	switch o.Presence {
	case engine.Present:
	case engine.NeverExisted:
		out.Absent = "never"
	default:
		out.Absent = "deleted"
	}
	return out
}

func absencePolicy(o engine.Observation) string {
	if o.Presence == engine.NeverExisted {
		return "onAbsent"
	}
	return "onDelete"
}

// policies says what is looked at before the rules, and reports whether they are
// looked at.
func (b *bound) policies(x *explain.Explanation, ev *celexpr.Evaluation) bool {
	add := func(name, says string, decided bool) {
		x.Policies = append(x.Policies, explain.Policy{Name: name, Decided: decided, Says: says})
	}
	terminating := ev.Text(b.spec.paths.deletion) != ""
	switch {
	case !terminating:
		add("onTerminating", "deletion was not requested", false)
	case b.spec.OnTerminating.Judge:
		add("onTerminating", b.termination(ev)+"; the rules decide", false)
	default:
		add("onTerminating", b.termination(ev), true)
		return false
	}
	switch {
	case b.spec.ObservedGeneration == GenerationIgnore:
		add("observedGeneration", "is ignored", false)
	case terminating:
		add("observedGeneration", "isn't looked at while the object is being deleted", false)
	case b.spec.ExpectsGone:
		add("observedGeneration", "isn't looked at, the predicate waits for absence", false)
	default:
		if v, lags := b.generation(ev, true); lags {
			add("observedGeneration", v.Message, true)
			return false
		}
		add("observedGeneration", b.upToDate(ev), false)
	}
	return true
}

func (b *bound) upToDate(ev *celexpr.Evaluation) string {
	seen, ok := ev.Number(b.spec.paths.observed)
	if !ok {
		return "the object has none"
	}
	want, _ := ev.Number(b.spec.paths.generation)
	return fmt.Sprintf("status is of generation %d, object is at %d", seen, want)
}

// explainRules goes through the rules as judging does, up to the one that decided.
func (b *bound) explainRules(x *explain.Explanation, ev *celexpr.Evaluation, v engine.Verdict) {
	p := pass{bound: b, ev: ev, describe: true}
	explainer := ev.Explainer()
	var decided, broken string
	list := func(rules []Rule, pending bool) {
		for i := range rules {
			rule := &rules[i]
			switch {
			case decided != "":
				x.Rules = append(x.Rules, explain.Rule{Name: rule.Name, Outcome: explain.Skipped, Note: "not looked at, as " + decided + " held"})
				continue
			case broken != "" && strings.HasPrefix(rule.Name, "done"):
				x.Rules = append(x.Rules, explain.Rule{Name: rule.Name, Outcome: explain.Skipped, Note: "not looked at, as " + broken + " could not be evaluated"})
				continue
			}
			r := p.explainRule(explainer, rule)
			if r.Outcome == explain.Error && strings.HasPrefix(rule.Name, "aborted") && broken == "" {
				broken = rule.Name
			}
			if rule.Name == v.Rule && r.Outcome != explain.Error {
				decided, r.Decided = rule.Name, true
			} else if v.Rule == "" && pending && r.Outcome == explain.True {
				decided = rule.Name
			}
			x.Rules = append(x.Rules, r)
		}
	}
	list(b.spec.Aborted, false)
	list(b.spec.Done, false)
	list(b.spec.Failed, false)
	if v.Decision == engine.Pending {
		list(b.spec.Pending, true)
	}
	x.Variables = explainer.Variables()
	x.Params = explainer.Params()
	if spent := ev.Spent(); spent > 0 {
		x.Cost = &explain.Cost{Spent: spent, Limit: b.spec.CostLimit}
	}
}

// explainRule says what came of one rule.
func (p *pass) explainRule(explainer *celexpr.Explainer, rule *Rule) explain.Rule {
	out := explain.Rule{Name: rule.Name, Outcome: explain.True}
	if rule.For > 0 {
		out.For = rule.For.String()
	}
	if rule.When == nil {
		out.Note = "always holds"
		return out
	}
	before := p.ev.Spent()
	holds, err := rule.When.Bool(p.ev)
	out.Cost = p.ev.Spent() - before
	switch {
	case err == nil && holds && rule.For > 0:
		out.Outcome = explain.Holding
	case err == nil && holds:
	case err == nil:
		out.Outcome = explain.False
	case err.Kind == celexpr.MissingData:
		out.Outcome, out.Note = explain.Missing, "missing "+p.lacks(err)
	default:
		out.Outcome, out.Note = explain.Error, p.says(err)
	}
	out.Condition = explainer.Explain(rule.When)
	return out
}

// How much an explanation of a pending verdict says.
const (
	maxReasons     = 3 // of one rule
	maxRules       = 2
	maxExplanation = 600 // bytes
)

// explain says what of the done rules is still false, with values. What is missing
// the verdict says already.
func (p *pass) explain() string {
	explainer := p.ev.Explainer()
	var parts []string
	said := 0
	for i := range p.spec.Done {
		rule := &p.spec.Done[i]
		if rule.When == nil {
			continue
		}
		if holds, err := rule.When.Bool(p.ev); err == nil && holds || err != nil && err.Kind != celexpr.MissingData {
			continue // it holds for its time, or the verdict is about its failure
		}
		if said++; said > maxRules {
			parts = append(parts, fmt.Sprintf("and %d more rules", len(p.spec.Done)-i))
			break
		}
		condition := explainer.Explain(rule.When)
		reasons, more := condition.Reasons(maxReasons, explainer.Variables()...)
		if len(reasons) == 0 {
			continue
		}
		if more > 0 {
			reasons = append(reasons, fmt.Sprintf("and %d more", more))
		}
		text := strings.Join(reasons, "; ")
		if len(p.spec.Done) > 1 {
			text = rule.Name + ": " + text
		}
		parts = append(parts, text)
	}
	return celexpr.Shortened(strings.Join(parts, "; "), maxExplanation)
}
