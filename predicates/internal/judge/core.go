package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// Limits of a Spec that names none. The timeout is long because it is measured
// on a wall clock, which also runs while a busy machine does other things; the
// cost is what bounds a hostile expression.
const (
	DefaultTimeout   = time.Second
	DefaultCostLimit = 1_000_000
)

// Core judges by one Spec. It is immutable and safe for concurrent use.
type Core struct{ spec Spec }

// New returns the core of a predicate. Codes that the rules and policies leave
// open get their defaults here.
func New(spec Spec) *Core {
	if spec.ObservedGeneration == "" {
		spec.ObservedGeneration = GenerationAuto
	}
	if spec.FailurePolicy == "" {
		spec.FailurePolicy = FailurePolicyFail
	}
	if spec.Timeout == 0 {
		spec.Timeout = DefaultTimeout
	}
	if spec.CostLimit == 0 {
		spec.CostLimit = DefaultCostLimit
	}
	spec.OnAbsent.Code = codeOr(spec.OnAbsent.Code, codes.NotFound)
	spec.OnDelete.Code = codeOr(spec.OnDelete.Code, codes.Aborted)
	spec.OnTerminating.Code = codeOr(spec.OnTerminating.Code, codes.Aborted)
	spec.Aborted = withDefaults(spec.Aborted, codes.Aborted)
	spec.Done = withDefaults(spec.Done, codes.OK)
	spec.Failed = withDefaults(spec.Failed, codes.Internal)
	return &Core{spec: spec}
}

func withDefaults(rules []Rule, code codes.Code) []Rule {
	out := make([]Rule, len(rules))
	for i, r := range rules {
		r.Code = codeOr(r.Code, code)
		r.CodeMap = normalMap(r.CodeMap)
		out[i] = r
	}
	return out
}

func codeOr(c, other codes.Code) codes.Code {
	if c == codes.OK {
		return other
	}
	return c
}

// Bind returns the judge for the params, which must be typed, complete and
// canonical; key is the predicate's digest with those params. Params that don't
// fit the environment's declaration give a judge that fails on every object.
func (c *Core) Bind(params map[string]any, key string) engine.Judge {
	b := &bound{spec: &c.spec, key: key}
	b.params, b.err = c.spec.Environment.BindParams(params)
	return b
}

// bound is a core with its params: the engine's judge.
type bound struct {
	spec   *Spec
	params *celexpr.Params
	err    error
	key    string
}

// Key implements engine.Judge.
func (b *bound) Key() string { return b.key }

// Judge implements engine.Judge.
func (b *bound) Judge(ctx context.Context, o engine.Observation) engine.Judgement {
	return b.run(ctx, o, false)
}

// Describe implements engine.Judge.
func (b *bound) Describe(ctx context.Context, o engine.Observation) engine.Judgement {
	return b.run(ctx, o, true)
}

func (b *bound) run(ctx context.Context, o engine.Observation, describe bool) (j engine.Judgement) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "A predicate panicked", "predicate", b.spec.ID.Name, "panic", r, "stack", string(debug.Stack()))
			j = engine.Judgement{Verdict: b.broken(engine.ReasonEvaluationError, "", fmt.Sprintf("panic: %v", r))}
		}
	}()
	if o.Presence != engine.Present {
		return engine.Judgement{Verdict: b.absent(o, describe)}
	}
	if b.err != nil {
		return engine.Judgement{Verdict: b.broken(engine.ReasonEvaluationError, "", b.err.Error())}
	}
	object, err := celexpr.JSONForm(o.Object, b.groupVersionKind(o))
	if err != nil {
		return engine.Judgement{Verdict: b.broken(engine.ReasonEvaluationError, "", err.Error())}
	}
	terminating := isTerminating(object)
	if terminating && !b.spec.OnTerminating.Judge {
		return engine.Judgement{Verdict: b.terminating(object, describe)}
	}
	if !terminating && !b.spec.ExpectsGone {
		if v, lags := b.generation(object, describe); lags {
			return engine.Judgement{Verdict: v}
		}
	}
	limits := celexpr.Limits{Timeout: b.spec.Timeout, Cost: b.spec.CostLimit}
	ev := b.spec.Environment.Evaluation(ctx, object, b.params, limits)
	defer ev.Close()
	p := pass{bound: b, ev: ev, describe: describe}
	v := p.judge()
	if describe && v.Decision == engine.Pending && v.Cause == engine.CauseOperation {
		p.describePending(&v, object, terminating)
	}
	return engine.Judgement{Verdict: v, Holding: p.holding}
}

// verdict returns an empty verdict of the predicate.
func (b *bound) verdict(d engine.Decision) engine.Verdict {
	return engine.Verdict{Decision: d, Predicate: b.spec.ID}
}

// broken is the verdict when the predicate itself failed and no later rule holds.
func (b *bound) broken(reason, rule, message string) engine.Verdict {
	v := b.verdict(engine.Failed)
	v.Code = codes.Internal
	if b.spec.FailurePolicy == FailurePolicyPending {
		v = b.verdict(engine.Pending)
	}
	v.Cause, v.Reason, v.Rule, v.Message = engine.CauseJudge, reason, rule, message
	if rule != "" {
		v.Message = rule + ": " + message
	}
	return v
}
