package suite

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
)

// scripted is an events case that is ready to be played.
type scripted struct {
	config script.Config
	steps  []scriptedStep
}

type scriptedStep struct {
	script.Step
	expect       *Expectation // nil: nothing
	line, column int
}

// prepareEvents makes the script of a case. Its objects must be of the
// predicate's kind, and what it reloads must load. params are the predicate's,
// those of the binding included.
func prepareEvents(set engine.Set, s *Suite, c *check, predicate engine.Predicate, params engine.Params) (*scripted, *prepareError) {
	caller := engine.Params{}
	for name, value := range c.params {
		if _, ok := params[name]; ok { // a default may be for another operation
			caller[name] = value
		}
	}
	ref := engine.Reference{Resource: predicate.Resources()[0], Name: "example"}
	result, now, known := &scripted{}, set, false
	for i := range c.steps {
		from := &c.steps[i]
		line, column := s.doc.Position(from.at...)
		to := scriptedStep{
			Step: script.Step{
				Verb: from.verb, ResourceVersion: from.version, UID: from.uid, Namespace: from.space, Duration: from.advance,
			},
			expect: from.expect, line: line, column: column,
		}
		for _, o := range from.objects {
			object := &unstructured.Unstructured{Object: o.fields}
			resource, ok := resourceOf(predicate, object)
			switch {
			case !ok:
				return nil, wrongKind(predicate, object, o.at)
			case known && resource != ref.Resource:
				return nil, &prepareError{at: o.at, message: fmt.Sprintf("the first object of the script is of %s, this one is of %s", ref.Resource.GroupVersion(), resource.GroupVersion())}
			case !known: // the script is about its first object
				known = true
				ref.Resource, ref.Namespace, ref.Name = resource, object.GetNamespace(), object.GetName()
				if from.space != "" {
					ref.Namespace = from.space
				}
			}
			if from.verb == script.Relist {
				to.Objects = append(to.Objects, object)
			} else {
				to.Object = object
			}
		}
		if from.verb == script.After && to.Object != nil && from.version == "" && to.Object.GetResourceVersion() == "" {
			return nil, &prepareError{at: from.at, message: "the object has no resourceVersion, so the barrier has none", hint: "write resourceVersion beside after"}
		}
		if from.verb == script.Reload {
			next, problem := reload(now, from, i)
			if problem != nil {
				return nil, problem
			}
			now, to.Load = next, func() (engine.Set, error) { return next, nil }
		}
		result.steps = append(result.steps, to)
	}
	result.config = script.Config{Set: set, Request: engine.Request{Ref: ref, Operation: c.operation, Predicate: c.predicate, Params: caller}}
	return result, nil
}

// reload returns the set that a reload step makes of the one before.
func reload(set engine.Set, s *step, number int) (engine.Set, *prepareError) {
	at := append(append([]any{}, s.at...), string(script.Reload))
	reloadable, ok := set.(interface {
		With(source predicates.Source) (*predicates.Set, error)
	})
	if !ok {
		return nil, &prepareError{at: at, message: fmt.Sprintf("a set of type %T can't be reloaded", set)}
	}
	next, err := reloadable.With(predicates.Source{Name: "step " + strconv.Itoa(number+1), Files: s.reload})
	var load *predicates.LoadError
	switch {
	case err == nil:
		return next, nil
	case !errors.As(err, &load) || len(load.Problems) == 0:
		return nil, &prepareError{at: at, message: fmt.Sprintf("the documents can't be loaded: %v", err)}
	}
	p, more := load.Problems[0], ""
	if n := len(load.Problems) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return nil, &prepareError{at: at, hint: p.Hint, message: fmt.Sprintf("%s, %s: %s%s", p.File, p.Document, p.Message, more)}
}

// play plays the script, and compares what the waiter sees after each step.
func (s *scripted) play(ctx context.Context, result CheckResult, c clock.PassiveClock) CheckResult {
	start := c.Now()
	for i := range s.steps {
		if result.Want == nil {
			result.Want = s.steps[i].expect // until a step is reached
		}
	}
	player, err := script.New(s.config)
	if err != nil {
		result.Differences = []string{err.Error()}
		return result
	}
	defer player.Close()
	for i := range s.steps {
		step := &s.steps[i]
		seen, err := player.Play(ctx, step.Step)
		var differences []string
		switch {
		case err != nil:
			differences = []string{"can't be played: " + err.Error()}
		case step.expect != nil:
			differences = step.expect.differencesOf(seen)
		}
		if len(result.Differences) == 0 {
			if step.expect != nil {
				result.Want = step.expect
			}
			result.Verdict, result.For, result.Predicate = seen.Status.Verdict, seen.Status.For, orElse(seen.Status.Verdict.Predicate, result.Predicate)
			if len(differences) > 0 {
				result.Line, result.Column = step.line, step.column
			}
		}
		for _, difference := range differences {
			result.Differences = append(result.Differences, fmt.Sprintf("step %d (%s): %s", i+1, step.Verb, difference))
		}
		if err != nil {
			break
		}
	}
	result.Trace, result.Elapsed = player.Trace(), c.Since(start)
	return result
}

func orElse(id, other engine.PredicateID) engine.PredicateID {
	if id.Name == "" {
		return other
	}
	return id
}

// differencesOf says how what the waiter sees differs from what was expected.
func (e *Expectation) differencesOf(seen script.Seen) []string {
	verdict := *e
	verdict.Code = nil // a wait that ends without a verdict has a code too
	all := verdict.differences(seen.Status.Verdict, seen.Status.For)
	if e.Code != nil && seen.Code() != *e.Code {
		all = append(all, fmt.Sprintf("code: want %s, got %s", e.Code, seen.Code()))
	}
	if e.Ended != nil && *e.Ended != seen.Status.Ended {
		all = append(all, fmt.Sprintf("ended: want %t, got %t", *e.Ended, seen.Status.Ended))
	}
	if e.Disagreements != nil && *e.Disagreements != seen.Disagreements {
		all = append(all, fmt.Sprintf("disagreements: want %d, got %d", *e.Disagreements, seen.Disagreements))
	}
	return all
}
