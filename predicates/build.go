package predicates

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/internal/redact"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// reasonForm is what a reason looks like.
var reasonForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// builder turns one document into a Predicate. It goes on after a problem, to
// find all there are.
type builder struct {
	*entry
	compiler    *celexpr.Compiler
	redaction   *redact.Policy
	spec        *v1alpha1.PredicateSpec
	environment *celexpr.Environment
	// undeclared are params with a problem of their own: what expressions make of
	// them isn't reported as well.
	undeclared []string
	compiled   []compiled
	warnings   []warning
	// noSchema warns that expressions can't be checked; nil if they can.
	noSchema *warning
}

// build checks and compiles the entry's predicate. If the cache holds one of the
// same content, that is returned instead. The predicate is only good if no
// problem was reported.
func build(e *entry, l *Loader, shared *interned, cache map[string]*Predicate) *Predicate {
	before := len(e.problems.list) + e.problems.dropped
	b := builder{entry: e, compiler: l.compiler, redaction: l.redaction, spec: &e.predicate.Spec}
	b.name()
	resources := b.match()
	params := declare(e, b.spec.Params)
	for name := range b.spec.Params {
		if !containsParam(params, name) {
			b.undeclared = append(b.undeclared, name)
		}
	}
	judged := b.judged()
	judged.ID = engine.PredicateID{Name: e.Name, Label: b.spec.Version}
	judged.Kind = b.spec.Match.Kind
	if b.unsupported() {
		return nil
	}
	kinds := b.kinds(l)
	module := b.loadModule(l)
	if judged.ID.Digest = predicateDigest(*b.predicate); len(e.problems.list)+e.problems.dropped == before && e.sound {
		if p, ok := cache[judged.ID.Digest]; ok && slices.Equal(p.schemas, kinds) {
			closeModule(module)
			return p
		}
	}
	b.expressions(&judged, params, kinds, shared)
	b.module(&judged, module, params)
	if len(e.problems.list)+e.problems.dropped > before || !e.sound {
		closeModule(module)
		return nil
	}
	p := &Predicate{
		id: judged.ID, kind: judged.Kind, resources: resources,
		gone: judged.ExpectsGone, params: params, core: judge.New(judged),
		schemas: kinds, environment: b.environment,
	}
	if m, ok := judged.Module.(*guestModule); ok {
		p.module = m
	} else {
		p.warnings = b.lint(&judged)
	}
	return p
}

func containsParam(params []param, name string) bool {
	for i := range params {
		if params[i].Name == name {
			return true
		}
	}
	return false
}

// name checks metadata.name.
func (e *entry) name() {
	path := []any{"metadata", "name"}
	if !e.required(e.Name, path...) {
		return
	}
	if wrong := validation.IsDNS1123Subdomain(e.Name); len(wrong) > 0 {
		e.at(path, "use lower case letters, digits, '-' and '.', like attachment-ready", "%q can't be a name", e.Name)
	}
}

// match returns the resources that the predicate is about.
func (b *builder) match() []schema.GroupVersionResource {
	m := &b.spec.Match
	path := func(field ...any) []any { return append([]any{"spec", "match"}, field...) }
	kind := b.required(m.Kind, path("kind")...)
	if kind && reasonForm.MatchString(m.Kind) && m.Kind[0] >= 'a' {
		b.at(path("kind"), "a kind begins with a capital letter and is in the singular: Deployment", "%q can't be a kind", m.Kind)
		kind = false
	}
	if kind && !reasonForm.MatchString(m.Kind) {
		b.at(path("kind"), "write it like AzVolume", "%q can't be a kind", m.Kind)
		kind = false
	}
	if m.Resource != "" && len(validation.IsDNS1123Label(m.Resource)) > 0 {
		b.at(path("resource"), "write the plural in lower case, like azvolumes", "%q can't be a resource", m.Resource)
	}
	switch {
	case m.APIVersion != "" && m.APIVersions != nil:
		b.key(path("apiVersions"), "remove one", "spec.match has both apiVersion and apiVersions")
	case m.APIVersion == "" && len(m.APIVersions) == 0 && b.sound:
		b.at(path(), "write it like apps/v1", "spec.match.apiVersion is missing")
	}
	versions, at := m.APIVersions, func(i int) []any { return path("apiVersions", i) }
	if m.APIVersion != "" {
		versions, at = []string{m.APIVersion}, func(int) []any { return path("apiVersion") }
	}
	var resources []schema.GroupVersionResource
	for i, v := range versions {
		gv, err := schema.ParseGroupVersion(v)
		if err != nil || gv.Version == "" || strings.ContainsAny(v, " *") {
			b.at(at(i), "write it like apps/v1", "%q can't be an apiVersion", v)
			continue
		}
		if !kind {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(gv.WithKind(m.Kind))
		if m.Resource != "" {
			resource.Resource = m.Resource
		}
		for _, r := range resources {
			if r == resource {
				b.at(at(i), "remove one", "apiVersion %s is given twice", v)
			}
		}
		resources = append(resources, resource)
	}
	// One form for both ways to write it.
	m.APIVersion, m.APIVersions = "", versions
	return resources
}

// judged checks everything but rules and fills in its defaults.
func (b *builder) judged() judge.Spec {
	s, spec := b.spec, judge.Spec{}
	b.oneOf(&s.Expect, []any{"spec", "expect"}, v1alpha1.ExpectPresent, v1alpha1.ExpectGone)
	b.oneOf(&s.ObservedGeneration, []any{"spec", "observedGeneration"},
		v1alpha1.ObservedGenerationAuto, v1alpha1.ObservedGenerationRequire, v1alpha1.ObservedGenerationIgnore)
	b.oneOf(&s.FailurePolicy, []any{"spec", "failurePolicy"}, v1alpha1.FailurePolicyFail, v1alpha1.FailurePolicyPending)
	spec.ExpectsGone = s.Expect == v1alpha1.ExpectGone
	spec.ObservedGeneration, spec.FailurePolicy = s.ObservedGeneration, s.FailurePolicy

	absent, deleted, terminating := v1alpha1.VerdictPending, v1alpha1.VerdictFailed, v1alpha1.VerdictFailed
	if spec.ExpectsGone {
		absent, deleted, terminating = v1alpha1.VerdictDone, v1alpha1.VerdictDone, v1alpha1.VerdictJudge
	}
	spec.OnAbsent = b.policy(&s.OnAbsent, "onAbsent", absent, codes.NotFound, engine.ReasonNeverExisted)
	// Its reason is left to the judge: the object was deleted, or replaced.
	spec.OnDelete = b.policy(&s.OnDelete, "onDelete", deleted, codes.Aborted, "")
	spec.OnTerminating = b.policy(&s.OnTerminating, "onTerminating", terminating, codes.Aborted, engine.ReasonObjectTerminating)
	spec.Timeout, spec.CostLimit = b.limits()
	return spec
}

// policy checks one policy. Where nothing is written it is the given verdict; a
// failure without a code or reason has the given ones.
func (b *builder) policy(p **v1alpha1.Policy, field, verdict string, code codes.Code, reason string) judge.Policy {
	path := []any{"spec", field}
	if *p == nil {
		*p = &v1alpha1.Policy{Verdict: verdict}
	}
	written := *p
	words := []string{v1alpha1.VerdictPending, v1alpha1.VerdictDone, v1alpha1.VerdictFailed}
	if field == "onTerminating" {
		words = append(words, v1alpha1.VerdictJudge)
	}
	if !b.required(written.Verdict, append(path, "verdict")...) {
		return judge.Policy{}
	}
	b.oneOf(&written.Verdict, append(path, "verdict"), words...)
	policy := judge.Policy{Reason: written.Reason, Message: written.Message}
	if written.Reason != "" && !reasonForm.MatchString(written.Reason) {
		b.reasonProblem(append(path, "reason"), written.Reason)
	}
	if written.Code != "" && written.Verdict != v1alpha1.VerdictFailed {
		b.key(append(path, "code"), "", "%s has a code, but its verdict is %s", document.Path(path...), written.Verdict)
	}
	switch written.Verdict {
	case v1alpha1.VerdictDone:
		policy.Decision = engine.Done
	case v1alpha1.VerdictJudge:
		policy.Judge = true
		if written.Reason != "" || written.Message != "" {
			b.at(path, "give them to the rules", "%s has a reason or message, but leaves the verdict to the rules", document.Path(path...))
		}
	case v1alpha1.VerdictFailed:
		policy.Decision, policy.Code = engine.Failed, code
		if written.Code != "" {
			policy.Code = b.code(written.Code, append(path, "code"))
		}
		written.Code = policy.Code.String()
		if policy.Reason == "" {
			policy.Reason = reason
		}
	}
	return policy
}

// code parses a gRPC code.
func (b *builder) code(written string, path []any) codes.Code {
	c, ok := judge.ParseCode(written)
	if !ok {
		b.codeProblem(path, written)
		return codes.Internal
	}
	return c
}

// limits checks the limits and returns those of expressions, 0 where the judge's
// own default holds.
func (b *builder) limits() (timeout time.Duration, cost uint64) {
	l := b.spec.Limits
	if l == nil {
		return 0, 0
	}
	positive := func(ok bool, field string) {
		if !ok && b.sound {
			b.at([]any{"spec", "limits", field}, "", "spec.limits.%s must be more than 0", field)
		}
	}
	if l.Timeout != nil {
		timeout = l.Timeout.Duration
		positive(timeout > 0, "timeout")
	}
	if l.Cost != nil {
		cost = uint64(max(*l.Cost, 0))
		positive(cost > 0, "cost")
	}
	positive(l.Memory == nil || l.Memory.Sign() > 0, "memory")
	positive(l.Fuel == nil || l.Fuel.Sign() > 0, "fuel")
	return timeout, cost
}

// unsupported reports fields of the format that this build can't judge by.
func (b *builder) unsupported() bool {
	found := false
	refuse := func(written bool, hint string, path ...any) {
		if written {
			b.key(path, hint, "%s is not supported by this build", document.Path(path...))
			found = true
		}
	}
	refuse(b.spec.Select != nil, "wait for each object by itself", "spec", "select")
	refuse(b.spec.OnEmpty != "", "wait for each object by itself", "spec", "onEmpty")
	return found
}
