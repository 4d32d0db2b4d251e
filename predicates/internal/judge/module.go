package judge

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// Module judges present objects in place of rules. The policies are the same.
type Module interface {
	// Bind returns the module with params, as Core.Bind is given them.
	Bind(params map[string]any) BoundModule
}

// BoundModule is a module with its params. It must be safe for concurrent use.
type BoundModule interface {
	// Evaluate asks the module about an object; meta fills in what typed objects
	// don't say of themselves. Without words, those of a pending answer may be left
	// out. The error, a *ModuleError if the module is to blame, means that there is
	// no answer.
	Evaluate(ctx context.Context, object metav1.Object, meta *metav1.TypeMeta, words bool) (Answer, error)
}

// Answer is what a module says.
type Answer struct {
	Decision engine.Decision
	// Code is "Code", "Reason" or "Code/Reason".
	Code, Message string
}

// ModuleError says why a module gave no answer.
type ModuleError struct{ Reason, Message string }

// Error returns the message.
func (e *ModuleError) Error() string { return e.Message }

// moduleRule is the name of what decided, in verdicts.
const moduleRule = "wasm"

// module judges by the module.
func (b *bound) module(ctx context.Context, ev *celexpr.Evaluation, o engine.Observation, describe, terminating bool) engine.Judgement {
	answer, err := b.answers.Evaluate(ctx, o.Object, b.typeMeta(o.Ref.Resource.GroupVersion()), describe)
	if err == nil && answer.Decision == engine.Done && b.spec.ExpectsGone {
		err = &ModuleError{engine.ReasonBadResult, "the module says done of an object that is there, but only absence is Done with expect: Gone"}
	}
	var v engine.Verdict
	if err == nil {
		v, err = b.answered(answer)
	}
	if err != nil {
		reason := engine.ReasonEvaluationError
		if e, ok := errors.AsType[*ModuleError](err); ok {
			reason = e.Reason
		}
		return engine.Judgement{Verdict: b.broken(reason, moduleRule, err.Error())}
	}
	if v.Decision == engine.Done && b.spec.ModuleStableFor > 0 {
		hold := engine.Hold{Rule: moduleRule, For: b.spec.ModuleStableFor, Verdict: v}
		return engine.Judgement{Verdict: b.verdict(engine.Pending), Holding: []engine.Hold{hold}}
	}
	if describe && v.Decision == engine.Pending && terminating {
		if v.Reason == "" {
			v.Reason = engine.ReasonObjectTerminating
		}
		if v.Message == "" {
			v.Message = b.termination(ev)
		}
	}
	return engine.Judgement{Verdict: v}
}

// answered is the verdict that an answer means.
func (b *bound) answered(a Answer) (engine.Verdict, error) {
	v := b.verdict(a.Decision)
	v.Rule, v.Message = moduleRule, a.Message
	code, reason, both := strings.Cut(a.Code, "/")
	mapped, known := b.moduleCode(code)
	if !both && (!known || isReason(code) && mapped != codes.OK && b.spec.ModuleCodeMap[normal(code)] == mapped) {
		// A word that is no code is a reason; one that only the map knows is both.
		reason = code
	}
	if reason != "" && !isReason(reason) {
		return v, &ModuleError{engine.ReasonBadResult, "the module gave " + quoted(a.Code) + ", which is neither a code, nor a reason of letters and digits, nor CODE/REASON"}
	}
	v.Reason = reason
	if a.Decision == engine.Failed {
		v.Code = mapped
		if v.Message == "" {
			v.Message = "the module says that it has failed"
		}
	}
	return v, nil
}

// moduleCode is the gRPC code that a module's word means, and whether it is a code
// at all: what means nothing is the document's code.
func (b *bound) moduleCode(word string) (codes.Code, bool) {
	if c, ok := ParseCode(word); ok {
		return c, true
	}
	if c, ok := b.spec.ModuleCodeMap[normal(word)]; ok && c != codes.OK {
		return c, true
	}
	return b.spec.ModuleCode, word == "" || strings.EqualFold(word, "OK")
}

func quoted(s string) string { return `"` + s + `"` }
