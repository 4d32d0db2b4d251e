package judge

import (
	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// pass judges one present object by the rules.
type pass struct {
	*bound
	ev       *celexpr.Evaluation
	describe bool

	// missing is what rules lacked; it is only gathered for Describe.
	missing []string
	// failure is the first rule that couldn't be evaluated; heldBefore is how many
	// rules were holding for their time when the latest one couldn't.
	failure    *celexpr.Error
	failedRule string
	heldBefore int
	holding    []engine.Hold
}

// judge goes through the rules in their order. Only what comes behind a rule that
// couldn't be evaluated can make up for it, and after a broken veto no Done may.
func (p *pass) judge() engine.Verdict {
	if v, ok := p.rules(p.spec.Aborted, engine.Failed); ok {
		return v
	}
	if p.failure == nil {
		if v, ok := p.rules(p.spec.Done, engine.Done); ok {
			return v
		}
	}
	if v, ok := p.rules(p.spec.Failed, engine.Failed); ok {
		return v
	}
	if p.failure != nil && len(p.holding) == p.heldBefore {
		reason := engine.ReasonEvaluationError
		if p.failure.Kind == celexpr.LimitExceeded {
			reason = engine.ReasonLimitExceeded
		}
		v := p.broken(reason, p.failedRule, p.says(p.failure))
		if v.Decision == engine.Pending {
			v.Missing = p.missing
		}
		return v
	}
	return p.verdict(engine.Pending)
}

// rules returns the verdict of the first rule that holds and needn't hold for a
// time; the ones that must are kept in holding.
func (p *pass) rules(rules []Rule, d engine.Decision) (engine.Verdict, bool) {
	for i := range rules {
		rule := &rules[i]
		if !p.holds(rule) {
			continue
		}
		v := p.decided(rule, d)
		if rule.For <= 0 {
			return v, true
		}
		p.holding = append(p.holding, engine.Hold{Rule: rule.Name, For: rule.For, Verdict: v})
	}
	return engine.Verdict{}, false
}

// holds evaluates a rule's condition. Missing data makes it false; any other
// failure too, but is remembered as one.
func (p *pass) holds(rule *Rule) bool {
	if rule.When == nil {
		return true
	}
	holds, err := rule.When.Bool(p.ev)
	if err == nil {
		return holds
	}
	if err.Kind == celexpr.MissingData {
		if p.describe {
			p.note(err)
		}
		return false
	}
	if p.failure == nil {
		p.failure, p.failedRule = err, rule.Name
	}
	p.heldBefore = len(p.holding)
	return false
}

// decided is the whole verdict of a rule that holds.
func (p *pass) decided(rule *Rule, d engine.Decision) engine.Verdict {
	v := p.verdict(d)
	v.Rule = rule.Name
	v.Reason = p.reason(rule)
	v.Message = p.message(rule)
	if d == engine.Failed {
		v.Code = p.code(rule)
		if v.Message == "" {
			v.Message = rule.Name + " holds"
		}
	}
	return v
}

// message is the rule's text; what can't be evaluated, is empty or must not be
// shown falls back to the static one. So do reasons, and codes that can't be
// evaluated: they show no values.
func (p *pass) message(rule *Rule) string {
	if s := p.text(rule.MessageExpression); s != "" {
		return s
	}
	return rule.Message
}

func (p *pass) reason(rule *Rule) string {
	if s := p.text(rule.ReasonExpression); isReason(s) {
		return s
	}
	return rule.Reason
}

func (p *pass) code(rule *Rule) codes.Code {
	if rule.CodeExpression == nil {
		return rule.Code
	}
	s, err := rule.CodeExpression.Text(p.ev)
	if err != nil {
		s = ""
	}
	if c, ok := ParseCode(s); ok {
		return c
	}
	if c, ok := rule.CodeMap[normal(s)]; ok && c != codes.OK {
		return c
	}
	return rule.Code
}

// isReason reports whether s has the form of reasons, [A-Za-z][A-Za-z0-9]*: they
// are read by machines, and an object may say anything.
func isReason(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
