package suite

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// Lines count from the header's first; the steps begin on line 9.
func TestEventsProblems(t *testing.T) {
	steps := func(text string) string {
		return header + "  objects: {x: " + pod + "}\n  cases:\n  - name: c\n    predicate: p\n    events:\n" + text
	}
	for _, c := range []struct{ name, in, want string }{
		{"good", steps("    - {add: $x, resourceVersion: 5, uid: a, namespace: b}\n    - {register: {}, expect: Pending}\n    - {after: 5, uid: a}\n    - {after: $x, resourceVersion: '5'}\n    - {wait: true}\n    - {relist: []}\n    - {delete: {}}\n    - {delete: $x}\n    - {advance: 1h}\n    - {bookmark: {}, resourceVersion: 9, expect: {ended: true, verdict: Pending, code: Canceled}}\n"), ""},
		{"no steps", header + "  cases:\n  - {name: c, predicate: p, events: []}\n", "6:37: there are no steps\n"},
		{"nothing expected", steps("    - {register: {}}\n"), "10:5: no step expects anything (give a step expect: Pending, Done or Failed)\n"},
		{"an empty expect", steps("    - {register: {}, expect: {}}\n"), "10:30: nothing is expected (say a verdict, or ended: true or false)\n"},
		{"unknown verb", steps("    - {regster: {}, expect: Done}\n"), "10:8: unknown field \"regster\" in spec.cases[0].events[0] (did you mean \"register\"?)\n"},
		{"no verb", steps("    - {register: {}, expect: Done}\n    - {resourceVersion: 4}\n"), "11:7: the step has no verb (a verb that takes nothing is written with {}: register: {})\n"},
		{"two verbs", steps("    - {register: {}, wait: {}, expect: Done}\n"), "10:28: the step has two verbs, register and wait (make two steps of it)\n"},
		{"before register", steps("    - {wait: {}}\n    - {after: 4}\n    - {add: $x, expect: Done}\n    - {register: {}}\n    - {cancel: {}}\n"), "10:7: there is no waiter yet (register: {} comes first)\n11:7: there is no waiter yet (register: {} comes first)\n12:25: there is no waiter yet that could see anything (register: {} comes first)\n"},
		{"something where nothing belongs", steps("    - {register: now, expect: Done}\n    - {disconnect: false}\n    - {bookmark: 4}\n"), "10:18: register takes nothing (write register: {})\n11:20: disconnect takes nothing (write disconnect: {})\n12:18: bookmark takes nothing (write bookmark: {})\n"},
		{"beside the wrong verb", steps("    - {register: {}, resourceVersion: 4, uid: x, namespace: y, expect: Done}\n    - {delete: {}, uid: x}\n"), "10:39: register has no resourceVersion (remove it)\n10:47: register has no uid (remove it)\n10:61: register has no namespace (remove it)\n11:25: delete has no uid (remove it)\n"},
		{"versions", steps("    - {register: {}, expect: Done}\n    - {add: $x, resourceVersion: -1}\n    - {add: $x, resourceVersion: ''}\n    - {add: $x, resourceVersion: 1.5}\n    - {after: -1}\n    - {after: 4, resourceVersion: 5}\n    - {after: {}}\n"), "11:34: a resourceVersion isn't negative\n12:34: the resourceVersion is empty (leave it out to have the next one)\n13:34: a resourceVersion is a number or a string, not 1.5\n14:15: a resourceVersion isn't negative\n15:15: after says two resourceVersions (remove one of them)\n16:15: after needs the version of the caller's own write (write after: 12, or after: $object)\n"},
		{"objects", steps("    - {register: {}, expect: Done}\n    - {add: $y}\n    - {update: {kind: Pod, metadata: {name: x}}}\n    - {add: {}}\n    - {relist: $x}\n    - {relist: [$x, $z]}\n"), "11:13: there is no object $y (did you mean \"$x\"?)\n12:16: the object has no apiVersion\n13:13: the object has no apiVersion\n14:16: a relist takes a list of objects (relist: [] if there are none)\n15:21: there is no object $z (did you mean \"$x\"?)\n"},
		{"times", steps("    - {register: {}, expect: Done}\n    - {advance: 10}\n    - {advance: -1s}\n    - {advance: 25h}\n"), "11:17: advance: 10 is no time that could pass (write it like 30s)\n12:17: advance: -1s is no time that could pass (write it like 30s)\n13:17: advance: 25h0m0s is more than 24h0m0s\n"},
		{"reloads", steps("    - {register: {}, expect: Done}\n    - {reload: []}\n    - {reload: [x.yaml]}\n"), "11:16: reload has no documents\n12:17: reload takes documents: predicates and bindings (write the documents as a list)\n"},
		{"a code that nothing has", steps("    - {register: {}, expect: {verdict: Pending, code: Aborted}}\n    - {wait: {}, expect: {disagreements: -1}}\n"), "10:55: only a Failed verdict has a code (remove it)\n11:42: disagreements: -1 is no number of them (count from 0)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problemsOf(t, c.in, noFiles)); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

func TestRunEvents(t *testing.T) {
	steps := func(text string) string { return "  - name: c\n    events:\n" + text }
	const stuck = "{from: $claim, merge: {status: {phase: Stuck}}}"
	const again = "    - {reload: [{apiVersion: donewhen.dev/v1alpha1, kind: Predicate, metadata: {name: claim-bound}, spec: {match: {apiVersion: v1, kind: PersistentVolumeClaim}, params: {volume: string, strict: {type: bool, default: false}}, done: \"object.status.phase == 'Stuck'\"}}]}\n"
	for _, c := range []struct{ name, cases, want string }{
		{"done", steps("    - {register: {}, expect: {verdict: Pending, reason: NeverExisted, ended: false}}\n    - {wait: {}}\n    - {add: $claim, expect: {verdict: Done, ended: true}}\n"), "c: Done\n"},
		{"through the binding", "  - name: c\n    operation: Provision\n    events:\n    - {add: $claim}\n    - {register: {}, expect: {verdict: Done, ended: false}}\n", "c: Done\n"},
		{"a hold time passes", steps("    - {add: " + stuck + "}\n    - {register: {}}\n    - {wait: {}, expect: {verdict: Pending, reason: Holding, for: 30s}}\n    - {advance: 30s, expect: {verdict: Failed, code: Unavailable, for: 30s, ended: true}}\n"), "c: Failed, code Unavailable, reason Stuck, for 30s\n"},
		{"the end of a context has a code", steps("    - {register: {}}\n    - {wait: {}}\n    - {cancel: {}, expect: {verdict: Pending, code: CANCELLED, ended: true}}\n"), "c: Pending, reason NeverExisted\n"},
		{"a reload", steps("    - {add: " + stuck + "}\n    - {register: {}}\n    - {wait: {}, expect: {verdict: Pending}}\n" + again + "    - {advance: 1s, expect: Done}\n"), "c: Done\n"},

		{"another verdict", steps("    - {add: $claim}\n    - {register: {}, expect: Failed}\n    - {wait: {}, expect: {verdict: Done, ended: false}}\n"), "c: Done | step 2 (register): verdict: want Failed, got Done | step 3 (wait): ended: want false, got true\n"},
		{"another code", steps("    - {register: {}}\n    - {close: {}, expect: {ended: true, code: Aborted}}\n"), "c: Pending, reason NeverExisted | step 2 (close): code: want Aborted, got Canceled\n"},
		{"another count", steps("    - {register: {}, expect: {disagreements: 1}}\n"), "c: Pending, reason NeverExisted | step 1 (register): disagreements: want 1, got 0\n"},
		{"what can't be played", steps("    - {register: {}, expect: Pending}\n    - {delete: {}}\n    - {wait: {}}\n"), "c: Pending, reason NeverExisted | step 2 (delete): can't be played: delete: there is no example in the cluster\n"},

		{"another kind", steps("    - {register: {}, expect: Done}\n    - {add: $secret}\n"), "14:13: case \"c\": claim-bound judges persistentvolumeclaims of v1, the object is a Secret of v1\n"},
		{"a barrier without a version", steps("    - {register: {}, expect: Done}\n    - {after: $claim}\n"), "14:7: case \"c\": the object has no resourceVersion, so the barrier has none (write resourceVersion beside after)\n"},
		{"a missing param", "  - {name: c, params: {volume: null}, events: [{register: {}, expect: Done}]}\n", "11:5: case \"c\": predicate claim-bound: param volume (string) is missing, and has no default\n"},
		{"a reload that doesn't load", steps("    - {register: {}, expect: Done}\n    - {reload: [{apiVersion: donewhen.dev/v1alpha1, kind: Predicate, metadata: {name: x}, spec: {match: {apiVersion: v1, kind: Pod}, done: 'objec'}}]}\n"), "14:16: case \"c\": reload[0], Predicate x: spec.done[0].expression: undeclared reference to 'objec' (did you mean 'object'?)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, outcomes(runCases(t, c.cases))); diff != "" {
				t.Errorf("(- want, + got):\n%s", diff)
			}
		})
	}
}

// A case that fails shows its steps; one that passes doesn't.
func TestTraceOfAFailure(t *testing.T) {
	report := runCases(t, `  - name: passes
    events:
    - {register: {}, expect: Pending}
  - name: fails
    events:
    - {register: {}}
    - {wait: {}, expect: Pending}
    - {add: $claim, resourceVersion: 7, expect: Pending}
    - {advance: 10s, expect: {ended: false}}
`, WithClock(clocktesting.NewFakePassiveClock(time.Unix(0, 0))))
	var text, machine bytes.Buffer
	if err := report.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "output", "trace.txt")
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
	if err := report.WriteJSON(&machine); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct{ Checks []struct{ Trace []string } }
	}
	if err := json.Unmarshal(machine.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if checks := got.Suites[0].Checks; len(checks[0].Trace) != 0 || len(checks[1].Trace) != 4 {
		t.Errorf("JSON has traces of %d and %d steps, want none and 4", len(checks[0].Trace), len(checks[1].Trace))
	}
}
