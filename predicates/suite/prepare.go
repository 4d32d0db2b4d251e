package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// trial is a check that is ready to be judged.
type trial struct {
	result      CheckResult
	judge       engine.Judge
	observation engine.Observation
	script      *scripted // instead of both: an events case
}

// prepareError says at which place of the suite something doesn't fit the set.
type prepareError struct {
	at            []any
	message, hint string
}

func (c *check) fail(field, hint, format string, args ...any) *prepareError {
	at := c.at
	if field != "" {
		at = append(slices.Clip(at), field)
	}
	return &prepareError{at: at, message: fmt.Sprintf(format, args...), hint: hint}
}

// prepare finds the check's predicate, gives it its params and makes the
// observation.
func (r *Runner) prepare(set engine.Set, s *Suite, c *check) (*trial, *prepareError) {
	predicate, params, problem := r.resolve(set, c)
	if problem != nil {
		return nil, problem
	}
	line, column := s.doc.Position(c.at...)
	t := &trial{
		observation: engine.Observation{Presence: c.presence},
		result: CheckResult{
			Suite: s.Name, Name: c.name, File: s.File, Line: line, Column: column,
			Operation: c.operation, Predicate: predicate.ID(), Want: c.expect,
		},
	}
	if len(c.steps) > 0 {
		if _, err := predicate.Bind(params); err != nil {
			return nil, c.fail("", "", "predicate %s: %v", predicate.ID().Name, err)
		}
		t.script, problem = prepareEvents(set, s, c, predicate, params)
		return t, problem
	}
	t.observation.Ref.Resource = predicate.Resources()[0]
	t.observation.Ref.Name = "example"
	if c.presence == engine.Present {
		object := &unstructured.Unstructured{Object: c.object}
		resource, ok := resourceOf(predicate, object)
		if !ok {
			return nil, wrongKind(predicate, object, c.objectAt)
		}
		t.observation.Ref.Resource = resource
		t.observation.Ref.Namespace, t.observation.Ref.Name = object.GetNamespace(), object.GetName()
		t.observation.Object = object
		t.observation.UID, t.observation.ResourceVersion = object.GetUID(), object.GetResourceVersion()
	}
	if c.presence != engine.Present {
		params = filled(params, predicate)
	}
	judge, err := predicate.Bind(params)
	if err != nil {
		return nil, c.fail("", "", "predicate %s: %v", predicate.ID().Name, err)
	}
	t.judge = judge
	return t, nil
}

// resolve returns the predicate of a check and all its params: through the
// binding where the case names an operation.
func (r *Runner) resolve(set engine.Set, c *check) (engine.Predicate, engine.Params, *prepareError) {
	if c.operation == "" {
		predicate, err := set.Predicate(c.predicate)
		if err != nil {
			return nil, nil, &prepareError{at: c.predicateAt, message: err.Error()}
		}
		return predicate, c.params, c.undeclared(predicate)
	}
	binding, err := set.Binding(c.operation)
	if err != nil {
		return nil, nil, c.fail("operation", "", "%v", err)
	}
	var declared []string
	for _, operation := range r.operations {
		if operation.Name == c.operation {
			for _, p := range operation.Params {
				declared = append(declared, p.Name)
			}
		}
	}
	params := maps.Clone(binding.Params)
	if params == nil {
		params = engine.Params{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.params)) {
		at := c.paramsAt[name]
		if _, ok := binding.Params[name]; ok {
			return nil, nil, &prepareError{
				at: at, hint: "leave it out",
				message: fmt.Sprintf("param %s is a constant of binding %s, callers can't give it", name, binding.Name),
			}
		}
		if !slices.Contains(declared, name) {
			if isDefault(at) {
				continue // defaults serve cases of several operations
			}
			return nil, nil, &prepareError{
				at: at, hint: nearest.Hint(name, "params", declared),
				message: fmt.Sprintf("callers of %s give no param %s", c.operation, name),
			}
		}
		params[name] = c.params[name]
	}
	return binding.Predicate, params, nil
}

func wrongKind(predicate engine.Predicate, object *unstructured.Unstructured, at []any) *prepareError {
	return &prepareError{at: at, message: fmt.Sprintf("%s judges %s, the object is a %s of %s",
		predicate.ID().Name, resources(predicate), object.GetKind(), object.GetAPIVersion())}
}

// resourceOf returns the resource of the predicate that the object is one of.
func resourceOf(predicate engine.Predicate, object *unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	kind := object.GroupVersionKind()
	if p, ok := predicate.(describer); ok && p.Kind() != kind.Kind {
		return schema.GroupVersionResource{}, false
	}
	for _, resource := range predicate.Resources() {
		if resource.GroupVersion() == kind.GroupVersion() {
			return resource, true
		}
	}
	return schema.GroupVersionResource{}, false
}

func resources(predicate engine.Predicate) string {
	var all []string
	for _, resource := range predicate.Resources() {
		all = append(all, resource.Resource+" of "+resource.GroupVersion().String())
	}
	return strings.Join(all, " and ")
}

// run judges as if every `for` had passed, and reports that time instead; an
// events case is played.
func (t *trial) run(ctx context.Context, c clock.PassiveClock) CheckResult {
	result := t.result
	if t.script != nil {
		return t.script.play(ctx, result, c)
	}
	start := c.Now()
	described := t.judge.Describe(ctx, t.observation)
	result.Elapsed = c.Since(start)
	result.Verdict, result.For = outcome(described)
	result.Differences = result.Want.differences(result.Verdict, result.For)
	// The engine ends waits by Judge, people read Describe: they must agree.
	verdict, hold := outcome(t.judge.Judge(ctx, t.observation))
	if got, want := decided(verdict, hold), decided(result.Verdict, result.For); got != want {
		result.Differences = append(result.Differences, fmt.Sprintf("judge: %s on events, %s when described", got, want))
	}
	return result
}

func outcome(j engine.Judgement) (engine.Verdict, time.Duration) {
	if len(j.Holding) > 0 {
		return j.Holding[0].Verdict, j.Holding[0].For
	}
	return j.Verdict, 0
}

func decided(v engine.Verdict, hold time.Duration) string {
	return fmt.Sprintf("%v (cause %v, code %v, for %v)", v.Decision, v.Cause, v.Code, hold)
}
