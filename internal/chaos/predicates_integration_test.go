//go:build integration

package chaos_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

const (
	// stateKey is the annotation that says how far an object is, so that typed and dynamic objects can be judged alike.
	stateKey = "state"
	ready    = "ready" // the state, and the predicate that waits for it
	gone     = "gone"  // the predicate that waits for absence
)

// set has the predicates ready and gone for every resource.
type set struct{}

func (set) Digest() string                            { return "chaos" }
func (set) Bindings() []*engine.Binding               { return nil }
func (set) Binding(o string) (*engine.Binding, error) { return nil, fmt.Errorf("no operation %q", o) }

func (set) Predicate(name string) (engine.Predicate, error) { return predicate(name), nil }

// predicate is its own judge.
type predicate string

func (p predicate) ID() engine.PredicateID {
	return engine.PredicateID{Name: string(p), Digest: string(p)}
}

func (p predicate) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{configMaps, azVolumes}
}

func (p predicate) ExpectsGone() bool                        { return p == gone }
func (p predicate) Bind(engine.Params) (engine.Judge, error) { return p, nil }
func (p predicate) Key() string                              { return string(p) }

func (p predicate) Describe(ctx context.Context, o engine.Observation) engine.Judgement {
	return p.Judge(ctx, o)
}

func (p predicate) Judge(_ context.Context, o engine.Observation) engine.Judgement {
	var v engine.Verdict
	switch {
	case o.Presence == engine.Present && p == ready && o.Object.GetAnnotations()[stateKey] == ready,
		o.Presence != engine.Present && p == gone:
		v.Decision = engine.Done
	case o.Presence == engine.Deleted:
		v = failed(p, engine.ReasonObjectDeleted)
	case o.Presence == engine.Replaced:
		v = failed(p, engine.ReasonObjectReplaced)
	}
	return engine.Judgement{Verdict: v}
}

// failed is the verdict of a predicate that waits for an object that is gone; one that waits for absence fails never.
func failed(p predicate, reason string) engine.Verdict {
	if p == gone {
		return engine.Verdict{}
	}
	return engine.Verdict{Decision: engine.Failed, Code: codes.Aborted, Reason: reason}
}
