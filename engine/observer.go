package engine

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Observer is told what the engine does, for metrics. Its methods are called
// from many goroutines, some with the engine's locks held: they must be safe for
// concurrent use, return at once and not call the engine. An engine without an
// observer doesn't even measure. Embed NopObserver, so that a method added later
// doesn't break an implementation.
type Observer interface {
	// WaiterRegistered: a waiter has begun to exist. Operation is empty for a wait
	// made by predicate name.
	WaiterRegistered(operation string, predicate PredicateID)
	// WaiterEnded: a registered waiter has ended, exactly once.
	WaiterEnded(e WaitEnd)
	// Evaluated: a predicate has judged one observation.
	Evaluated(e Evaluation)
	// Merged: an update took the place of one of the same object that had not been
	// judged yet.
	Merged(resource schema.GroupVersionResource)
	// Lanes: so many slow predicates have a lane of their own now.
	Lanes(open int)
	// ShadowDisagreed: a shadow binding's verdict was another than the enforced one's.
	ShadowDisagreed(operation, binding string)
	// BlindnessBegan: the engine can't see the objects of an informer. It is called
	// again when the reason changes.
	BlindnessBegan(b Blindness)
	// BlindnessEnded: it sees them again.
	BlindnessEnded(b Blindness)
	// Ignored: an informer delivered something that is no API object.
	Ignored(resource schema.GroupVersionResource)
	// VersionsWentBack: the server's resource versions went back, and every floor
	// of the resource's waits was dropped.
	VersionsWentBack(resource schema.GroupVersionResource)
	// Swapped: new waiters use the set of that digest from now on.
	Swapped(digest string)
}

// WithObserver has the observer told what the engine does; there is none by default.
func WithObserver(o Observer) Option { return func(c *config) { c.observer = o } }

// WaitEnd says how a waiter ended.
type WaitEnd struct {
	Operation string // empty for a wait made by predicate name
	Predicate PredicateID
	Outcome   Outcome
	// Took is how long the waiter had been registered.
	Took time.Duration
}

// Purpose says what a predicate was asked for.
type Purpose int

const (
	// PurposeJudge: to decide a wait.
	PurposeJudge Purpose = iota
	// PurposeDescribe: to say in words what is still pending.
	PurposeDescribe
	// PurposeShadow: to be compared with the binding that decides.
	PurposeShadow
)

// String returns "judge", "describe" or "shadow".
func (p Purpose) String() string {
	switch p {
	case PurposeJudge:
		return "judge"
	case PurposeDescribe:
		return "describe"
	case PurposeShadow:
		return "shadow"
	}
	return "Purpose(" + strconv.Itoa(int(p)) + ")"
}

// Evaluation is one evaluation of a predicate.
type Evaluation struct {
	Predicate PredicateID
	Purpose   Purpose
	// Verdict is what came of it; its Rule names the phase that decided.
	Verdict Verdict
	Took    time.Duration
	// Cost is what it has cost, 0 where that isn't counted: of CEL only expressions that
	// loop, match or grow texts are.
	Cost uint64
}

// NopObserver ignores everything. Embed it in an Observer.
type NopObserver struct{}

var _ Observer = NopObserver{}

// WaiterRegistered ignores a waiter.
func (NopObserver) WaiterRegistered(string, PredicateID) {}

// WaiterEnded ignores the end of a waiter.
func (NopObserver) WaiterEnded(WaitEnd) {}

// Evaluated ignores an evaluation.
func (NopObserver) Evaluated(Evaluation) {}

// Merged ignores a merge.
func (NopObserver) Merged(schema.GroupVersionResource) {}

// Lanes ignores the number of lanes.
func (NopObserver) Lanes(int) {}

// ShadowDisagreed ignores a disagreement.
func (NopObserver) ShadowDisagreed(string, string) {}

// BlindnessBegan ignores blindness.
func (NopObserver) BlindnessBegan(Blindness) {}

// BlindnessEnded ignores the end of blindness.
func (NopObserver) BlindnessEnded(Blindness) {}

// Ignored ignores what was ignored.
func (NopObserver) Ignored(schema.GroupVersionResource) {}

// VersionsWentBack ignores that versions went back.
func (NopObserver) VersionsWentBack(schema.GroupVersionResource) {}

// Swapped ignores a swap.
func (NopObserver) Swapped(string) {}

// Outcome says how a waiter ended, for metrics.
type Outcome string

// The outcomes of a wait.
const (
	OutcomeDone       Outcome = "Done"       // the operation has succeeded
	OutcomeFailed     Outcome = "Failed"     // the operation has failed
	OutcomeJudge      Outcome = "Judge"      // the predicate itself broke
	OutcomeDeadline   Outcome = "Deadline"   // the caller's deadline or the binding's timeout
	OutcomeCanceled   Outcome = "Canceled"   // the caller's context was canceled
	OutcomeClosed     Outcome = "Closed"     // closed before its end
	OutcomeSuperseded Outcome = "Superseded" // a newer waiter took its place
	OutcomeStopped    Outcome = "Stopped"    // the engine has stopped
)
