package predicates

import (
	"context"
	"fmt"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/explain"
	"github.com/donewhen/donewhen/predicates/internal/judge"
)

// Explanation is why an observation got its verdict; package explain has its parts.
type Explanation = explain.Explanation

// Explain judges the observation and says why the verdict is what it is: what the
// policies said, and each rule with the values of its sub-expressions. A rule that
// must hold for a time counts as having held for it. It takes more than judging
// (microseconds, and the first time about a millisecond), and stays within the
// predicate's limits. The error is of the params, as Bind's.
func (p *Predicate) Explain(ctx context.Context, o engine.Observation, params engine.Params) (*Explanation, error) {
	var bound engine.Judge
	if o.Presence != engine.Present {
		bound = p.core.Bind(nil, p.id.Digest) // absence never reaches an expression
	} else {
		var err error
		if bound, err = p.Bind(params); err != nil {
			return nil, err
		}
	}
	explainer, ok := bound.(judge.Explainer)
	if !ok {
		return nil, fmt.Errorf("predicate %s can't explain itself", p.id.Name)
	}
	return explainer.Explain(ctx, o), nil
}
