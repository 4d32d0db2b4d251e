package suite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// set has a predicate of each sort that cases treat differently.
const set = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: claim-bound}
spec:
  match: {apiVersion: v1, kind: PersistentVolumeClaim}
  params:
    volume: string
    strict: {type: bool, default: false}
  done: |-
    object.status.phase == 'Bound' && object.spec.volumeName == params.volume
  failed:
  - expression: |-
      object.status.phase == 'Lost'
    code: NotFound
    reason: ClaimLost
    message: the volume is gone
  - expression: |-
      object.status.phase == 'Stuck'
    for: 30s
    code: Unavailable
    reason: Stuck
  - expression: |-
      object.status.size > 3
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: provision}
spec:
  operation: Provision
  predicate: claim-bound
  params: {strict: true}
`

func operations() []engine.Operation {
	return []engine.Operation{{
		Name: "Provision", Kind: "PersistentVolumeClaim",
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"},
		Params:   []engine.OperationParam{{Name: "volume", Type: "string"}},
	}}
}

// runCases runs the cases against the set above.
func runCases(t *testing.T, cases string, opts ...Option) *Report {
	t.Helper()
	suites, err := Parse(predicates.File{Name: "s_test.yaml", Data: []byte(header + `  defaults: {predicate: claim-bound, params: {volume: v, extra: x}}
  objects:
    claim: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {volumeName: v}, status: {phase: Bound}}
    secret: {apiVersion: v1, kind: Secret, metadata: {name: x}}
    newer: {apiVersion: v2, kind: PersistentVolumeClaim, metadata: {name: x}}
  cases:
` + cases)}, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	under, err := predicates.NewSet(operations(), predicates.Source{Name: "set", Files: []predicates.File{{Name: "set.yaml", Data: []byte(set)}}})
	if err != nil {
		t.Fatal(err)
	}
	return NewRunner(operations(), opts...).Run(t.Context(), under, suites...)
}

// outcomes returns a line for each check and problem.
func outcomes(report *Report) string {
	var b strings.Builder
	for _, s := range report.Suites {
		for i := range s.Checks {
			c := &s.Checks[i]
			fmt.Fprintf(&b, "%s: %s", c.Name, summary(c))
			for _, d := range c.Differences {
				b.WriteString(" | " + d)
			}
			b.WriteByte('\n')
		}
	}
	for _, p := range report.Problems {
		fmt.Fprintf(&b, "%d:%d: %s", p.Line, p.Column, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, " (%s)", p.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRun(t *testing.T) {
	lost := "{from: $claim, merge: {status: {phase: Lost}}}"
	for _, c := range []struct{ name, cases, want string }{
		{"done", "  - {name: c, object: $claim, expect: Done}\n", "c: Done\n"},
		{"failed", "  - {name: c, object: " + lost + ", expect: {verdict: Failed, code: NOT_FOUND, reason: ClaimLost, message: gone}}\n", "c: Failed, code NotFound, reason ClaimLost\n"},
		{"K74 expected failed, got done", "  - {name: c, object: $claim, expect: Failed}\n", "c: Done | verdict: want Failed, got Done\n"},
		{"K74 expected failed of another kind", "  - {name: c, object: " + lost + ", expect: {verdict: Failed, code: Internal, reason: X}}\n", "c: Failed, code NotFound, reason ClaimLost | code: want Internal, got NotFound | reason: want \"X\", got \"ClaimLost\"\n"},
		{"a predicate that breaks", "  - {name: c, object: {from: $claim, merge: {status: {phase: X, size: many}}}, expect: Failed}\n", "c: Failed, code Internal, reason EvaluationError, cause Judge | cause: the predicate itself broke; expect cause: Judge, or its reason, if that is meant\n"},
		{"as if the time had passed", "  - {name: c, object: {from: $claim, merge: {status: {phase: Stuck}}}, expect: {verdict: Failed, code: Unavailable, for: 30s}}\n", "c: Failed, code Unavailable, reason Stuck, for 30s\n"},
		{"absences", "  - {name: never, absent: never, expect: {verdict: Pending, reason: NeverExisted}}\n  - {name: deleted, absent: deleted, expect: {verdict: Failed, code: Aborted, reason: ObjectDeleted}}\n", "never: Pending, reason NeverExisted\ndeleted: Failed, code Aborted, reason ObjectDeleted\n"},
		{"an absence needs no params", "  - {name: c, params: {volume: null}, absent: never, expect: Pending}\n", "c: Pending, reason NeverExisted\n"},
		{"through a binding", "  - {name: c, operation: Provision, object: $claim, expect: Done}\n", "c: Done\n"},
		{"a row that misses its row", "  - {name: c, object: $claim, table: [{name: a, expect: Done}, {name: b, params: {volume: w}, expect: Done}]}\n", "c/a: Done\nc/b: Pending, reason MissingData | verdict: want Done, got Pending\n"},

		{"unknown predicate", "  - {name: c, predicate: claim-bond, object: $claim, expect: Done}\n", "11:26: case \"c\": unknown predicate \"claim-bond\"; did you mean \"claim-bound\"?\n"},
		{"unknown operation", "  - {name: c, operation: Provison, object: $claim, expect: Done}\n", "11:26: case \"c\": unknown operation \"Provison\"; did you mean \"Provision\"?\n"},
		{"a constant of the binding", "  - {name: c, operation: Provision, params: {strict: true}, object: $claim, expect: Done}\n", "11:54: case \"c\": param strict is a constant of binding provision, callers can't give it (leave it out)\n"},
		{"a param that callers don't give", "  - {name: c, operation: Provision, params: {volum: x}, object: $claim, expect: Done}\n", "11:53: case \"c\": callers of Provision give no param volum (did you mean \"volume\"?)\n"},
		{"a param that the predicate doesn't have", "  - {name: c, params: {volum: x}, object: $claim, expect: Done}\n", "11:31: case \"c\": claim-bound has no param volum (did you mean \"volume\"?)\n"},
		{"a missing param", "  - {name: c, params: {volume: null}, object: $claim, expect: Done}\n", "11:5: case \"c\": predicate claim-bound: param volume (string) is missing, and has no default\n"},
		{"another kind", "  - {name: c, object: $secret, expect: Done}\n", "11:23: case \"c\": claim-bound judges persistentvolumeclaims of v1, the object is a Secret of v1\n"},
		{"another version", "  - {name: c, object: $newer, expect: Done}\n", "11:23: case \"c\": claim-bound judges persistentvolumeclaims of v1, the object is a PersistentVolumeClaim of v2\n"},
		{"nothing of a suite runs if a part can't", "  - {name: a, object: $claim, expect: Done}\n  - {name: b, object: $secret, expect: Done}\n", "12:23: case \"b\": claim-bound judges persistentvolumeclaims of v1, the object is a Secret of v1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, outcomes(runCases(t, c.cases))); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	const cases = "  - {name: one, object: $claim, table: [{name: a, expect: Done}, {name: b, expect: Done}]}\n  - {name: two, object: $claim, expect: Done}\n"
	for filter, want := range map[string]string{
		"^s/one/":     "one/a: Done\none/b: Done\n",
		"two":         "two: Done\n",
		"one/b|^s/tw": "one/b: Done\ntwo: Done\n",
		"three":       "",
	} {
		report := runCases(t, cases, WithFilter(regexp.MustCompile(filter)))
		if diff := cmp.Diff(want, outcomes(report)); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", filter, diff)
		}
	}
}

// Err is what a gate goes by.
func TestReportErr(t *testing.T) {
	if err := runCases(t, "  - {name: c, object: $claim, expect: Done}\n").Err(); err != nil {
		t.Errorf("all passed, error %v", err)
	}
	err := runCases(t, "  - {name: c, object: $claim, expect: Failed}\n  - {name: d, object: $claim, expect: Done}\n").Err()
	if want := "1 of 2 suite checks failed: s/c (verdict: want Failed, got Done)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	err = runCases(t, "  - {name: c, object: $secret, expect: Failed}\n").Err()
	var load *predicates.LoadError
	if !errors.As(err, &load) || len(load.Problems) != 1 {
		t.Errorf("error %v isn't a LoadError with one problem", err)
	}
}

// twoFaced decides on events otherwise than it describes.
type twoFaced struct{ judge, describe engine.Judgement }

func (j twoFaced) Key() string                                                   { return "" }
func (j twoFaced) Judge(context.Context, engine.Observation) engine.Judgement    { return j.judge }
func (j twoFaced) Describe(context.Context, engine.Observation) engine.Judgement { return j.describe }

// Waits end by Judge, and suites read Describe: a suite that passes must be about
// what ends waits.
func TestJudgeAndDescribeMustAgree(t *testing.T) {
	pending := engine.Judgement{Verdict: engine.Verdict{Decision: engine.Pending}}
	holding := engine.Judgement{Holding: []engine.Hold{{For: time.Second, Verdict: engine.Verdict{Decision: engine.Done}}}}
	for _, c := range []struct {
		judge twoFaced
		want  int
	}{
		{twoFaced{pending, pending}, 0},
		{twoFaced{pending, engine.Judgement{Verdict: engine.Verdict{Decision: engine.Pending, Reason: "X", Message: "m"}}}, 0},
		{twoFaced{engine.Judgement{Verdict: engine.Verdict{Decision: engine.Done}}, pending}, 1},
		{twoFaced{holding, pending}, 1},
	} {
		trial := trial{judge: c.judge, result: CheckResult{Want: &Expectation{Decision: engine.Pending}}}
		if got := trial.run(t.Context(), NewRunner(nil).clock).Differences; len(got) != c.want {
			t.Errorf("differences %q, want %d", got, c.want)
		}
	}
}

// A run of nothing must not pass for success.
func TestNothingRanIsAnError(t *testing.T) {
	if err := (&Report{}).Err(); err == nil || !strings.Contains(err.Error(), "no suite check ran") {
		t.Errorf("%v", err)
	}
}
