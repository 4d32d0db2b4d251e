package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	spec.ModuleCode = codeOr(spec.ModuleCode, codes.Internal)
	spec.ModuleCodeMap = normalMap(spec.ModuleCodeMap)
	spec.paths = newPaths()
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
	if c.spec.Module != nil {
		b.answers = c.spec.Module.Bind(params)
	}
	return b
}

// bound is a core with its params: the engine's judge.
type bound struct {
	spec   *Spec
	params *celexpr.Params
	err    error
	key    string
	meta   atomic.Pointer[versioned]
	// answers is the module's with the params; nil if rules judge.
	answers BoundModule
}

// versioned is the TypeMeta of objects of a version.
type versioned struct {
	gv   schema.GroupVersion
	meta metav1.TypeMeta
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
	ev, err := b.evaluation(ctx, o, describe)
	if err != nil {
		return engine.Judgement{Verdict: b.broken(engine.ReasonEvaluationError, "", err.Error())}
	}
	defer ev.Close()
	terminating := ev.Text(b.spec.paths.deletion) != ""
	if terminating && !b.spec.OnTerminating.Judge {
		return engine.Judgement{Verdict: b.terminating(ev, describe)}
	}
	if !terminating && !b.spec.ExpectsGone {
		if v, lags := b.generation(ev, describe); lags {
			return engine.Judgement{Verdict: v}
		}
	}
	if b.answers != nil {
		return b.module(ctx, ev, o, describe, terminating)
	}
	p := pass{bound: b, ev: ev, describe: describe}
	v := p.judge()
	if describe && v.Decision == engine.Pending && v.Cause == engine.CauseOperation {
		p.describePending(&v, terminating)
	}
	return engine.Judgement{Verdict: v, Holding: p.holding, Cost: ev.Counted()}
}

// evaluation begins one. An object that is described may be explained as well, for
// which it must be in its JSON form.
func (b *bound) evaluation(ctx context.Context, o engine.Observation, describe bool) (*celexpr.Evaluation, error) {
	if !describe {
		return b.spec.Environment.EvaluationOf(ctx, o.Object, b.typeMeta(o.Ref.Resource.GroupVersion()), b.params, b.limits())
	}
	object, err := celexpr.JSONForm(o.Object, b.groupVersionKind(o))
	if err != nil {
		return nil, err
	}
	return b.spec.Environment.Evaluation(ctx, object, b.params, b.limits()), nil
}

func (b *bound) limits() celexpr.Limits {
	return celexpr.Limits{Timeout: b.spec.Timeout, Cost: b.spec.CostLimit}
}

// typeMeta is what the objects of a typed informer don't say of themselves. It is
// made anew only when the version changes, as of a predicate for several.
func (b *bound) typeMeta(gv schema.GroupVersion) *metav1.TypeMeta {
	m := b.meta.Load()
	if m == nil || m.gv != gv {
		m = &versioned{gv: gv, meta: metav1.TypeMeta{APIVersion: gv.String(), Kind: b.spec.Kind}}
		b.meta.Store(m)
	}
	return &m.meta
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
