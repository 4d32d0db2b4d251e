package suite

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// Every field that is given must be compared, in both directions.
func TestDifferences(t *testing.T) {
	aborted := engine.Verdict{Decision: engine.Failed, Code: codes.Aborted, Reason: "Leaving", Message: "state Deleting"}
	broken := engine.Verdict{Decision: engine.Failed, Cause: engine.CauseJudge, Code: codes.Internal, Reason: engine.ReasonEvaluationError, Message: "no such overload"}
	pending := engine.Verdict{Decision: engine.Pending, Missing: []string{"object.status.detail", "object.status.state"}}
	for _, c := range []struct {
		name    string
		want    Expectation
		got     engine.Verdict
		hold    time.Duration
		differs string // a part of the only difference; empty: none
	}{
		{"K74 expected failed, got done", Expectation{Decision: engine.Failed}, engine.Verdict{Decision: engine.Done}, 0, "verdict: want Failed, got Done"},
		{"K74 expected done, got failed", Expectation{Decision: engine.Done}, aborted, 0, "verdict: want Done, got Failed"},
		{"expected pending, got done", Expectation{Decision: engine.Pending}, engine.Verdict{Decision: engine.Done}, 0, "verdict: want Pending, got Done"},
		{"all that is said", Expectation{Decision: engine.Failed, Code: new(codes.Aborted), Reason: new("Leaving"), Cause: new(engine.CauseOperation), For: new(time.Duration)}, aborted, 0, ""},

		{"another code", Expectation{Decision: engine.Failed, Code: new(codes.Internal)}, aborted, 0, "code: want Internal, got Aborted"},
		{"a code of a verdict that has none", Expectation{Decision: engine.Done, Code: new(codes.Internal)}, engine.Verdict{Decision: engine.Done, Code: codes.Internal}, 0, "code: want Internal, got none"},
		{"another reason", Expectation{Decision: engine.Failed, Reason: new("Gone")}, aborted, 0, `reason: want "Gone", got "Leaving"`},
		{"a part of the reason isn't enough", Expectation{Decision: engine.Failed, Reason: new("Leav")}, aborted, 0, `reason: want "Leav"`},
		{"no reason wanted", Expectation{Decision: engine.Failed, Reason: new("")}, aborted, 0, `reason: want none, got "Leaving"`},
		{"no reason there", Expectation{Decision: engine.Pending, Reason: new("X")}, pending, 0, `reason: want "X", got none`},

		{"message contains", Expectation{Decision: engine.Failed, Message: &Text{Contains: new("Deleting")}}, aborted, 0, ""},
		{"message doesn't contain", Expectation{Decision: engine.Failed, Message: &Text{Contains: new("deleting")}}, aborted, 0, `message: want one that contains "deleting", got "state Deleting"`},
		{"an empty message wanted", Expectation{Decision: engine.Failed, Message: &Text{Contains: new("")}}, aborted, 0, "message: want none"},
		{"an empty message there", Expectation{Decision: engine.Pending, Message: &Text{Contains: new("")}}, pending, 0, ""},
		{"message equals", Expectation{Decision: engine.Failed, Message: &Text{Equals: new("state Deleting")}}, aborted, 0, ""},
		{"message equals a part", Expectation{Decision: engine.Failed, Message: &Text{Equals: new("state")}}, aborted, 0, `message: want "state"`},
		{"message matches", Expectation{Decision: engine.Failed, Message: &Text{Matches: regexp.MustCompile("^state [A-Z]")}}, aborted, 0, ""},
		{"message doesn't match", Expectation{Decision: engine.Failed, Message: &Text{Matches: regexp.MustCompile("^State")}}, aborted, 0, `message: want a match of "^State"`},

		{"a broken predicate isn't the failure meant", Expectation{Decision: engine.Failed, Code: new(codes.Internal)}, broken, 0, "cause: the predicate itself broke"},
		{"its cause is", Expectation{Decision: engine.Failed, Cause: new(engine.CauseJudge)}, broken, 0, ""},
		{"its reason is", Expectation{Decision: engine.Failed, Reason: new(engine.ReasonEvaluationError)}, broken, 0, ""},
		{"another cause", Expectation{Decision: engine.Failed, Cause: new(engine.CauseOperation)}, broken, 0, "cause: want Operation, got Judge"},
		{"a cause where none broke", Expectation{Decision: engine.Failed, Cause: new(engine.CauseJudge)}, aborted, 0, "cause: want Judge, got Operation"},

		{"the time that a rule must hold", Expectation{Decision: engine.Failed, For: new(30 * time.Second)}, aborted, 30 * time.Second, ""},
		{"another time", Expectation{Decision: engine.Failed, For: new(30 * time.Second)}, aborted, time.Minute, "for: want 30s, got 1m0s"},
		{"no time", Expectation{Decision: engine.Failed, For: new(30 * time.Second)}, aborted, 0, "for: want 30s, got none"},
		{"a time that isn't wanted", Expectation{Decision: engine.Failed, For: new(time.Duration)}, aborted, 30 * time.Second, "for: want none, got 30s"},

		{"missing", Expectation{Decision: engine.Pending, Missing: new("detail")}, pending, 0, ""},
		{"missing something else", Expectation{Decision: engine.Pending, Missing: new("spec")}, pending, 0, `missing: want one that contains "spec", got "object.status.detail; object.status.state"`},
		{"nothing may be missing", Expectation{Decision: engine.Pending, Missing: new("")}, pending, 0, "missing: want none"},
		{"nothing is missing", Expectation{Decision: engine.Failed, Missing: new("")}, aborted, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.want.differences(c.got, c.hold)
			switch {
			case c.differs == "" && len(got) > 0:
				t.Errorf("differs: %q", got)
			case c.differs != "" && (len(got) != 1 || !strings.Contains(got[0], c.differs)):
				t.Errorf("differs: %q, want only one with %q", got, c.differs)
			}
		})
	}
}
