package judge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// build makes a judge of a predicate given as YAML.
func build(t testing.TB, text string) engine.Judge {
	t.Helper()
	compiler, err := celexpr.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	var judge engine.Judge
	for _, d := range parseDocuments(t, []byte("kind: Predicate\nmetadata: {name: p}\nspec:\n  match: {kind: Thing}\n"+text)) {
		judge = buildPredicate(t, compiler, d).judge(nil)
	}
	return judge
}

// yamlObject reads an object given as YAML.
func yamlObject(t testing.TB, text string) map[string]any {
	t.Helper()
	s := suite{}
	return s.object(t, inline(t, text))
}

// text is a verdict in short: decision, code and cause where they matter, reason,
// rule, message, missing, and what is holding.
func text(j engine.Judgement) string {
	v := j.Verdict
	out := v.Decision.String()
	if v.Code != codes.OK {
		out += " " + v.Code.String()
	}
	if v.Cause == engine.CauseJudge {
		out += " (judge)"
	}
	for _, part := range []string{v.Reason, v.Rule} {
		if part == "" {
			part = "-"
		}
		out += " " + part
	}
	out += ": " + v.Message
	if v.Missing != nil {
		out += " | missing " + strings.Join(v.Missing, ", ")
	}
	for _, h := range j.Holding {
		out += fmt.Sprintf(" | %s for %v: %s", h.Rule, h.For, text(engine.Judgement{Verdict: h.Verdict}))
	}
	return out
}

// TestOrder is the order of judging, rule by rule. In the objects, e is a text
// that is compared with a number, which is an error, and m isn't there.
func TestOrder(t *testing.T) {
	const errs, miss = "object.e > 1", "object.m == 1"
	for _, c := range []struct{ name, predicate, object, want string }{
		{
			"aborted before done before failed",
			"  aborted: ['object.a']\n  done: object.d\n  failed: ['object.f']", "{a: true, d: true, f: true}",
			"Failed Aborted - aborted[0]: aborted[0] holds",
		},
		{
			"done before failed", "  aborted: ['object.a']\n  done: object.d\n  failed: ['object.f']", "{a: false, d: true, f: true}",
			"Done - done[0]: ",
		},
		{
			"failed", "  aborted: ['object.a']\n  done: object.d\n  failed: ['object.f']", "{a: false, d: false, f: true}",
			"Failed Internal - failed[0]: failed[0] holds",
		},
		{
			"pending", "  aborted: ['object.a']\n  done: object.d\n  failed: ['object.f']", "{a: false, d: false, f: false}",
			"Pending - -: ",
		},
		{
			"the first of several", "  done: [{expression: 'object.x == 1', reason: One}, {expression: 'object.x > 0', reason: More}]", "{x: 1}",
			"Done One done[0]: ",
		},
		{
			"a rule without an expression always holds", "  done: object.d\n  failed: [{reason: Always}]", "{d: false}",
			"Failed Internal Always failed[0]: failed[0] holds",
		},

		{
			"missing data is false and shown", "  done: object.status.detail.size > 1", "{status: {}}",
			"Pending MissingData -: missing data: object.status.detail (no such key: detail) | missing object.status.detail (no such key: detail)",
		},
		{
			"missing data doesn't hide a later rule", "  done: " + miss + "\n  failed: ['object.f']", "{f: true}",
			"Failed Internal - failed[0]: failed[0] holds",
		},
		{
			"missing data in a veto lets done through", "  aborted: ['" + miss + "']\n  done: object.d", "{d: true}",
			"Done - done[0]: ",
		},
		{
			"each missing path once", "  done: [" + miss + ", 'object.n == 1']\n  failed: [" + miss + "]", "{}",
			"Pending MissingData -: missing data: object.m (no such key: m); object.n (no such key: n) | missing object.m (no such key: m), object.n (no such key: n)",
		},
		{
			"a pending rule's texts stay beside what is missing", "  done: " + miss + "\n  pending: [{message: not yet, reason: NotYet}]", "{}",
			"Pending NotYet pending[0]: not yet | missing object.m (no such key: m)",
		},
		{
			"a pending rule without a reason", "  done: " + miss + "\n  pending: [{message: not yet}]", "{}",
			"Pending MissingData pending[0]: not yet | missing object.m (no such key: m)",
		},
		{
			"the first pending rule that holds, past those that can't be evaluated",
			"  done: object.d\n  pending: [{expression: '" + miss + "', message: a}, {expression: '" + errs + "', message: b}, {expression: object.d, message: c}, {message: d}, {message: e}]", "{d: false, e: x}",
			"Pending - pending[3]: d",
		},

		{
			"an error that nothing makes up for", "  done: " + errs, "{e: x}",
			"Failed Internal (judge) EvaluationError done[0]: done[0]: no such overload",
		},
		{
			"an error, then done", "  done: ['" + errs + "', 'object.d']", "{e: x, d: true}",
			"Done - done[1]: ",
		},
		{
			"an error in done, then failed", "  done: " + errs + "\n  failed: ['object.f']", "{e: x, f: true}",
			"Failed Internal - failed[0]: failed[0] holds",
		},
		{
			"an error in failed comes too late for done", "  done: object.d\n  failed: ['" + errs + "']", "{e: x, d: true}",
			"Done - done[0]: ",
		},
		{
			"a broken veto doesn't let done through", "  aborted: ['" + errs + "']\n  done: object.d", "{e: x, d: true}",
			"Failed Internal (judge) EvaluationError aborted[0]: aborted[0]: no such overload",
		},
		{
			"nor a done that needs time", "  aborted: ['" + errs + "']\n  done: {expression: object.d, for: 10s}", "{e: x, d: true}",
			"Failed Internal (judge) EvaluationError aborted[0]: aborted[0]: no such overload",
		},
		{
			"a broken veto, then another veto", "  aborted: ['" + errs + "', 'object.a']\n  done: object.d", "{e: x, a: true, d: true}",
			"Failed Aborted - aborted[1]: aborted[1] holds",
		},
		{
			"a broken veto, then failed", "  aborted: ['" + errs + "']\n  done: object.d\n  failed: ['object.f']", "{e: x, d: true, f: true}",
			"Failed Internal - failed[0]: failed[0] holds",
		},
		{
			"the first error is named", "  aborted: ['" + errs + "']\n  failed: ['1/object.z == 0']\n  done: object.d", "{e: x, z: 0, d: false}",
			"Failed Internal (judge) EvaluationError aborted[0]: aborted[0]: no such overload",
		},
		{
			"missing data is no error beside one", "  done: [" + miss + ", '" + errs + "']", "{e: x}",
			"Failed Internal (judge) EvaluationError done[1]: done[1]: no such overload",
		},
		{
			"failurePolicy Pending", "  failurePolicy: Pending\n  done: [" + miss + ", '" + errs + "']\n  pending: [{message: not yet}]", "{e: x}",
			"Pending (judge) EvaluationError done[1]: done[1]: no such overload | missing object.m (no such key: m)",
		},
		{
			"a value that is no bool", "  done: object.e", "{e: x}",
			"Failed Internal (judge) EvaluationError done[0]: done[0]: the expression's value is of type string, want bool",
		},
		{
			"an error in a variable is named", "  variables: [{name: v, expression: '" + errs + "'}]\n  done: variables.v", "{e: x}",
			"Failed Internal (judge) EvaluationError done[0]: done[0]: variables.v: no such overload",
		},
		{
			"missing data in a variable", "  variables: [{name: v, expression: object.a.b}]\n  done: variables.v == 1", "{a: {}}",
			"Pending MissingData -: missing data: object.a.b (no such key: b) | missing object.a.b (no such key: b)",
		},

		{
			"holding doesn't hide later rules", "  done: {expression: object.d, for: 10s}\n  failed: ['object.f']", "{d: true, f: true}",
			"Failed Internal - failed[0]: failed[0] holds | done[0] for 10s: Done - done[0]: ",
		},
		{
			"every rule that holds", "  done: {expression: object.d, for: 10s, reason: D}\n  failed: [{expression: object.f, for: 30s, code: NotFound, message: gone}]\n  pending: [{message: wait}]", "{d: true, f: true}",
			"Pending - pending[0]: wait | done[0] for 10s: Done D done[0]:  | failed[0] for 30s: Failed NotFound - failed[0]: gone",
		},
		{
			"stableFor", "  done: object.d\n  stableFor: 5s", "{d: true}",
			"Pending - -:  | done[0] for 5s: Done - done[0]: ",
		},
		{
			"an error, then a rule that holds but needs time", "  done: ['" + errs + "', {expression: object.d, for: 10s}]", "{e: x, d: true}",
			"Pending - -:  | done[1] for 10s: Done - done[1]: ",
		},
		{
			"a rule that needs time, then an error", "  done: [{expression: object.d, for: 10s}, '" + errs + "']", "{e: x, d: true}",
			"Failed Internal (judge) EvaluationError done[1]: done[1]: no such overload | done[0] for 10s: Done - done[0]: ",
		},

		{
			"terminating by default", "  done: object.d", "{d: true, metadata: {deletionTimestamp: '2026-03-02T09:22:48Z', finalizers: [a, b]}}",
			"Failed Aborted ObjectTerminating -: deletion was requested, deletionTimestamp is 2026-03-02T09:22:48Z; finalizers: a, b",
		},
		{
			"a null deletionTimestamp", "  done: object.d", "{d: true, metadata: {deletionTimestamp: null}}", "Done - done[0]: ",
		},
		{
			"onTerminating Done", "  onTerminating: Done\n  done: object.d", "{d: false, metadata: {deletionTimestamp: x}}",
			"Done ObjectTerminating -: deletion was requested, deletionTimestamp is x; no finalizers",
		},
		{
			"onTerminating with texts", "  onTerminating: {verdict: Failed, code: NotFound, reason: Going, message: it goes}\n  done: object.d", "{metadata: {deletionTimestamp: x}}",
			"Failed NotFound Going -: it goes",
		},
		{
			"onTerminating Judge", "  onTerminating: Judge\n  done: object.d", "{d: true, metadata: {deletionTimestamp: x}}", "Done - done[0]: ",
		},
		{
			"onTerminating Pending", "  onTerminating: Pending\n  done: object.d", "{d: true, metadata: {deletionTimestamp: x, finalizers: [f]}}",
			"Pending ObjectTerminating -: deletion was requested, deletionTimestamp is x; finalizers: f",
		},
		{
			"gone: terminating is judged", "  expect: Gone\n  failed: ['object.f']", "{f: true, metadata: {deletionTimestamp: x}}",
			"Failed Internal - failed[0]: failed[0] holds",
		},
		{
			"gone: pending names finalizers", "  expect: Gone", "{metadata: {deletionTimestamp: x, finalizers: [f]}}",
			"Pending ObjectTerminating -: deletion was requested, deletionTimestamp is x; finalizers: f",
		},

		{
			"generation lags", "  done: object.d", "{d: true, metadata: {generation: 3}, status: {observedGeneration: 2}}",
			"Pending GenerationLag -: status is of generation 2, object is at 3",
		},
		{
			"generation lags before a veto", "  aborted: ['object.d']\n  done: object.d", "{d: true, metadata: {generation: 3}, status: {observedGeneration: 2}}",
			"Pending GenerationLag -: status is of generation 2, object is at 3",
		},
		{
			"generation is up to date", "  done: object.d", "{d: true, metadata: {generation: 3}, status: {observedGeneration: 3}}", "Done - done[0]: ",
		},
		{
			"Auto without an observedGeneration", "  done: object.d", "{d: true, metadata: {generation: 3}, status: {}}", "Done - done[0]: ",
		},
		{
			"Require without one", "  observedGeneration: Require\n  done: object.d", "{d: true, metadata: {generation: 3}, status: {}}",
			"Pending GenerationLag -: status.observedGeneration is missing, object is at generation 3",
		},
		{
			"Require without a status", "  observedGeneration: Require\n  done: object.d", "{d: true, status: null}",
			"Pending GenerationLag -: status.observedGeneration is missing, object is at generation 0",
		},
		{
			"Ignore", "  observedGeneration: Ignore\n  done: object.d", "{d: true, metadata: {generation: 3}, status: {observedGeneration: 2}}", "Done - done[0]: ",
		},
		{
			"generation isn't looked at when terminating", "  observedGeneration: Require\n  onTerminating: Judge\n  done: object.d",
			"{d: true, metadata: {generation: 3, deletionTimestamp: x}, status: {observedGeneration: 2}}", "Done - done[0]: ",
		},
		{
			"nor for Gone", "  expect: Gone\n  observedGeneration: Require\n  failed: ['object.d']", "{d: true, metadata: {generation: 3}, status: {observedGeneration: 2}}",
			"Failed Internal - failed[0]: failed[0] holds",
		},
		{
			"limits", "  limits: {cost: 10000, timeout: 1m}\n  done: object.l.all(a, object.l.all(b, object.l.all(c, a + b + c > 0)))", "{l: [" + strings.Repeat("1, ", 200) + "1]}",
			"Failed Internal (judge) LimitExceeded done[0]: done[0]: the predicate costs more than its limit of 10000",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			judge := build(t, c.predicate)
			o := present(yamlObject(t, c.object))
			full := judge.Describe(context.Background(), o)
			if got := text(full); got != c.want {
				t.Errorf("\n got: %s\nwant: %s", got, c.want)
			}
			quick := judge.Judge(context.Background(), o)
			if quick.Verdict.Decision != full.Verdict.Decision || len(quick.Holding) != len(full.Holding) {
				t.Errorf("Judge: %s", text(quick))
			}
			if quick.Verdict.Decisive() && text(quick) != text(full) {
				t.Errorf("a decisive verdict of Judge isn't complete: %s", text(quick))
			}
			if full.Verdict.Predicate.Name != "p" {
				t.Errorf("the predicate isn't named: %+v", full.Verdict.Predicate)
			}
		})
	}
}
