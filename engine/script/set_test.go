package script_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// widget is an object whose spec.state decides.
func widget(state string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "a", "name": "w"},
		"spec":     map[string]any{"state": state},
	}}
}

func ref() engine.Reference {
	return engine.Reference{Resource: widgets, Namespace: "a", Name: "w"}
}

// predicate is done in the state done, once it has held for its time, and fails
// in Broken. It fails, or is done if it expects that, when the object is gone.
type predicate struct {
	name string
	done string
	hold time.Duration
	gone bool
}

func (p predicate) ID() engine.PredicateID {
	return engine.PredicateID{Name: p.name, Digest: p.name + p.done}
}

func (p predicate) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{widgets}
}
func (p predicate) ExpectsGone() bool                        { return p.gone }
func (p predicate) Bind(engine.Params) (engine.Judge, error) { return p, nil }
func (p predicate) Key() string                              { return p.name + p.done }

func (p predicate) Judge(ctx context.Context, o engine.Observation) engine.Judgement {
	return p.Describe(ctx, o)
}

func (p predicate) Describe(_ context.Context, o engine.Observation) engine.Judgement {
	done := engine.Verdict{Decision: engine.Done, Rule: "done[0]"}
	if o.Presence != engine.Present {
		switch {
		case p.gone:
			return engine.Judgement{Verdict: done}
		case o.Presence == engine.NeverExisted:
			return engine.Judgement{Verdict: engine.Verdict{Reason: engine.ReasonNeverExisted, Message: "never existed"}}
		}
		return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Failed, Code: codes.Aborted, Reason: o.Presence.String(), Message: "the widget is gone"}}
	}
	state, _, _ := unstructured.NestedString(o.Object.(*unstructured.Unstructured).Object, "spec", "state")
	pending := engine.Verdict{Reason: "State", Message: fmt.Sprintf("the state is %q", state)}
	switch {
	case state == "Broken":
		return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Failed, Code: codes.Unavailable, Reason: "Broken", Message: "it\nbroke"}}
	case state == p.done && p.hold > 0:
		return engine.Judgement{Verdict: pending, Holding: []engine.Hold{{Rule: "done[0]", For: p.hold, Verdict: done}}}
	case state == p.done:
		return engine.Judgement{Verdict: done}
	}
	return engine.Judgement{Verdict: pending}
}

// set holds predicates by name, and binds an operation of another resource.
type set map[string]predicate

func (s set) Digest() string { return fmt.Sprint(len(s)) }
func (s set) Predicate(name string) (engine.Predicate, error) {
	if p, ok := s[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no predicate %q", name)
}

func (s set) Binding(operation string) (*engine.Binding, error) {
	for _, b := range s.Bindings() {
		if b.Operation == operation {
			return b, nil
		}
	}
	return nil, fmt.Errorf("no operation %q", operation)
}

func (s set) Bindings() []*engine.Binding {
	gadgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	return []*engine.Binding{
		{Name: "make", Operation: "Make", Resource: widgets, Predicate: s["ready"], Timeout: time.Minute, Action: engine.Enforce},
		{Name: "other", Operation: "Other", Resource: gadgets, Predicate: s["ready"], Action: engine.Enforce},
	}
}

func testSet() set {
	return set{
		"ready":  {name: "ready", done: "Ready"},
		"stable": {name: "stable", done: "Ready", hold: 10 * time.Second},
		"gone":   {name: "gone", gone: true},
	}
}
