package engine

import (
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
)

// Decision is the core of a verdict.
type Decision int

const (
	// Pending: nothing is decided, the wait goes on.
	Pending Decision = iota
	// Done: the operation has succeeded.
	Done
	// Failed: the operation has failed, or could not be judged (see Cause).
	Failed
)

// String returns the name of the constant.
func (d Decision) String() string {
	switch d {
	case Pending:
		return "Pending"
	case Done:
		return "Done"
	case Failed:
		return "Failed"
	}
	return "Decision(" + strconv.Itoa(int(d)) + ")"
}

// Cause says whose failure a verdict reports.
type Cause int

const (
	// CauseOperation: the object (or its absence) says so.
	CauseOperation Cause = iota
	// CauseJudge: the predicate itself broke. It is no news about the object: no
	// clean-up, delete or reset may follow from it.
	CauseJudge
)

// String returns "Operation" or "Judge".
func (c Cause) String() string {
	switch c {
	case CauseOperation:
		return "Operation"
	case CauseJudge:
		return "Judge"
	}
	return "Cause(" + strconv.Itoa(int(c)) + ")"
}

// Reasons that the engine and every predicate backend give of themselves.
// Predicates add their own, of the form [A-Za-z][A-Za-z0-9]*.
const (
	ReasonNeverExisted      = "NeverExisted"      // absent, never known
	ReasonNotSynced         = "NotSynced"         // the informer has shown nothing yet
	ReasonOutOfView         = "OutOfView"         // the informer shows only some objects, and not this one
	ReasonBeforeBarrier     = "BeforeBarrier"     // the informer has not reached the caller's own write
	ReasonObjectDeleted     = "ObjectDeleted"     // the known object is gone
	ReasonObjectReplaced    = "ObjectReplaced"    // another UID has taken its name
	ReasonObjectTerminating = "ObjectTerminating" // deletionTimestamp is set
	ReasonGenerationLag     = "GenerationLag"     // status.observedGeneration is behind metadata.generation
	ReasonHolding           = "Holding"           // a rule holds, but not yet for its time
	ReasonNotJudged         = "NotJudged"         // the predicate was too slow to judge the newest observation
	ReasonMissingData       = "MissingData"       // nothing held, and data was missing
	ReasonEvaluationError   = "EvaluationError"   // an expression failed
	ReasonLimitExceeded     = "LimitExceeded"     // a judge ran over one of its limits
	ReasonBadResult         = "BadResult"         // a module returned what means nothing
)

// PredicateID names a predicate in verdicts, errors and logs.
type PredicateID struct {
	// Name is metadata.name of the predicate's document.
	Name string
	// Label is spec.version, a label for people; empty if none was given.
	Label string
	// Digest identifies the content: equal digests judge alike.
	Digest string
}

// String returns "name", or "name (version label)".
func (p PredicateID) String() string {
	if p.Label == "" {
		return p.Name
	}
	return p.Name + " (version " + p.Label + ")"
}

// Verdict is what a predicate says of one observation. A Failed verdict carries
// a gRPC code other than OK. The texts of a Pending verdict may be empty until
// Judge.Describe fills them in.
type Verdict struct {
	Decision Decision
	Cause    Cause
	Code     codes.Code
	Reason   string
	Message  string
	Missing  []string // what data was missing, when nothing else decided
	// Explanation says what of a pending verdict was still false, with values; only
	// Judge.Describe fills it in. Message is what the predicate's author says, this
	// what its expressions say.
	Explanation string
	Rule        string // the rule that decided, for example "failed[1]"; empty if a policy did
	Predicate   PredicateID
}

// Decisive reports whether the verdict ends a wait.
func (v Verdict) Decisive() bool { return v.Decision != Pending }

// unsound says what of the verdict means nothing, empty if all is well.
func (v *Verdict) unsound() string {
	switch {
	case v.Decision < Pending || v.Decision > Failed:
		return "a verdict of " + v.Decision.String()
	case v.Cause != CauseOperation && v.Cause != CauseJudge:
		return "a verdict of " + v.Cause.String()
	case v.Decision == Failed && v.Code == codes.OK:
		return "a failure of code OK"
	}
	return ""
}

// Hold is a rule that holds but decides only after it has held for a time.
type Hold struct {
	// Rule identifies the rule within its predicate ("done[0]", "failed[1]").
	Rule string
	// For is how long the rule must hold without a break.
	For time.Duration
	// Verdict decides once For has passed.
	Verdict Verdict
}

// Judgement is the whole outcome of judging one observation. Verdict decides
// unless one of Holding, in order, has held for its time: every rule in Holding
// comes before the rule behind Verdict. Holding is nil in the ordinary case.
type Judgement struct {
	Verdict Verdict
	Holding []Hold
	// Cost is what judging has cost in the backend's own units, for metrics; 0 where
	// nothing was counted.
	Cost uint64
}

// unsound says what of the judgement means nothing, empty if all is well. It runs
// after every evaluation.
func (j *Judgement) unsound() string {
	what := j.Verdict.unsound()
	for i := 0; i < len(j.Holding) && what == ""; i++ {
		h := &j.Holding[i]
		switch what = h.Verdict.unsound(); {
		case what != "":
		case !h.Verdict.Decisive():
			what = "rule " + h.Rule + " holds for a verdict of Pending"
		case h.For < 0:
			what = "rule " + h.Rule + " holds for " + h.For.String()
		}
	}
	return what
}
