package judge

import (
	"fmt"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// apply gives the verdict of a policy; reason and message are what it says unless
// the document says otherwise. The message of a pending verdict may be left out.
func (b *bound) apply(p Policy, reason, message string) engine.Verdict {
	v := b.verdict(p.Decision)
	if v.Decision == engine.Failed {
		v.Code = p.Code
	}
	v.Reason, v.Message = reason, message
	if p.Reason != "" {
		v.Reason = p.Reason
	}
	if p.Message != "" {
		v.Message = p.Message
	}
	return v
}

// absent judges an observation without an object: by policy, never by a rule.
func (b *bound) absent(o engine.Observation, describe bool) engine.Verdict {
	policy, reason := b.spec.OnDelete, engine.ReasonObjectDeleted
	switch o.Presence {
	case engine.NeverExisted:
		policy, reason = b.spec.OnAbsent, engine.ReasonNeverExisted
	case engine.Replaced:
		reason = engine.ReasonObjectReplaced
	}
	message := ""
	if policy.Decision != engine.Pending || describe {
		message = b.absence(o)
	}
	return b.apply(policy, reason, message)
}

// absence says in words how an object is absent.
func (b *bound) absence(o engine.Observation) string {
	name := b.spec.Kind + " " + o.Ref.NamespacedName().String()
	if o.Ref.Namespace == "" {
		name = b.spec.Kind + " " + o.Ref.Name
	}
	uid := ""
	if o.UID != "" {
		uid = fmt.Sprintf(" (UID %s)", o.UID)
	}
	switch o.Presence {
	case engine.NeverExisted:
		return name + " never existed"
	case engine.Replaced:
		return name + uid + " was deleted: another object has taken its name"
	}
	return name + uid + " was deleted"
}

// terminating judges an object with a deletionTimestamp, where a policy does.
func (b *bound) terminating(ev *celexpr.Evaluation, describe bool) engine.Verdict {
	message := ""
	if b.spec.OnTerminating.Decision != engine.Pending || describe {
		message = b.termination(ev)
	}
	return b.apply(b.spec.OnTerminating, engine.ReasonObjectTerminating, message)
}

// termination says since when an object terminates and what it waits for.
func (b *bound) termination(ev *celexpr.Evaluation) string {
	at, finalizers := ev.Text(b.spec.paths.deletion), ev.Texts(b.spec.paths.finalizers)
	text := "deletion was requested, deletionTimestamp is " + at
	if len(finalizers) == 0 {
		return text + "; no finalizers"
	}
	return text + "; finalizers: " + strings.Join(finalizers, ", ")
}

// generation judges an object whose status is about an older spec.
func (b *bound) generation(ev *celexpr.Evaluation, describe bool) (engine.Verdict, bool) {
	if b.spec.ObservedGeneration == GenerationIgnore {
		return engine.Verdict{}, false
	}
	want, _ := ev.Number(b.spec.paths.generation)
	seen, ok := ev.Number(b.spec.paths.observed)
	if ok && seen >= want || !ok && b.spec.ObservedGeneration == GenerationAuto {
		return engine.Verdict{}, false
	}
	v := b.verdict(engine.Pending)
	v.Reason = engine.ReasonGenerationLag
	if describe {
		v.Message = fmt.Sprintf("status is of generation %d, object is at %d", seen, want)
		if !ok {
			v.Message = fmt.Sprintf("status.observedGeneration is missing, object is at generation %d", want)
		}
	}
	return v, true
}

// describePending fills in the texts of a verdict that no rule decided.
func (p *pass) describePending(v *engine.Verdict, terminating bool) {
	for i := range p.spec.Pending {
		rule := &p.spec.Pending[i]
		if rule.When != nil {
			if holds, err := rule.When.Bool(p.ev); err != nil || !holds {
				continue
			}
		}
		v.Rule = rule.Name
		v.Reason = p.reason(rule)
		v.Message = p.message(rule)
		break
	}
	v.Missing = p.missing
	v.Explanation = p.explain()
	if terminating {
		if v.Reason == "" {
			v.Reason = engine.ReasonObjectTerminating
		}
		if v.Message == "" {
			v.Message = p.termination(p.ev)
		}
	}
	if len(v.Missing) == 0 {
		return
	}
	if v.Reason == "" {
		v.Reason = engine.ReasonMissingData
	}
	if v.Message == "" {
		v.Message = "missing data: " + strings.Join(v.Missing, "; ")
	}
}
