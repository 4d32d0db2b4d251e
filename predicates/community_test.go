package predicates_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
)

// K7: a rule about a condition, written in each of the ways that people write it,
// says the same of every object.
func TestK7_OneRuleWrittenInManyWaysGivesOneVerdict(t *testing.T) {
	rules := map[string]string{
		"isTrue":    "isTrue(object, 'Ready')",
		"condition": "condition(object, 'Ready').status == 'True'",
		"exists":    "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
		"filter":    "object.status.conditions.filter(c, c.type == 'Ready' && c.status == 'True').size() > 0",
		"path":      "object.status.conditions.filter(c, c.type == 'Ready')[0].status == 'True'",
		"optional":  "object.?status.?conditions.orValue([]).exists(c, c.?type.orValue('') == 'Ready' && c.?status.orValue('') == 'True')",
	}
	for state, want := range map[string]engine.Decision{
		"": engine.Pending, "{}": engine.Pending, "{conditions: []}": engine.Pending,
		"{conditions: [{type: Other, status: 'True'}]}":                                                  engine.Pending,
		"{conditions: [{type: Ready, status: 'False'}]}":                                                 engine.Pending,
		"{conditions: [{type: Ready, status: Unknown}, {type: Other, status: 'True'}]}":                  engine.Pending,
		"{conditions: [{type: ready, status: 'True'}]}":                                                  engine.Pending,
		"{conditions: [{type: Ready, status: 'True'}]}":                                                  engine.Done,
		"{conditions: [{type: Other, status: 'False'}, {type: Ready, status: 'True', reason: R}]}":       engine.Done,
		"{conditions: [{type: Ready, status: 'True'}, {type: Other, status: 'False', message: a long}]}": engine.Done,
	} {
		status := ""
		if state != "" {
			status = ", status: " + state
		}
		o := observe(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: x, uid: u, generation: 2}"+status+"}")
		for name, rule := range rules {
			set, err := predicates.NewSet(nil, predicates.Source{Files: []predicates.File{{Name: "p.yaml", Data: []byte(
				"apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: p}\nspec:\n  match: {apiVersion: example.com/v1, kind: Widget}\n  done: |-\n    " + rule + "\n")}}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p, err := set.Predicate("p")
			if err != nil {
				t.Fatal(err)
			}
			judge, err := p.Bind(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := judge.Describe(context.Background(), o).Verdict; got.Decision != want {
				t.Errorf("%s of status %q: %v, want %v (%s)", name, state, got.Decision, want, got.Message)
			}
		}
	}
}

// K9: a wait for a Job ends when the Job is complete or has failed, at that very
// event, and not as the same thing.
func TestK9_AJobThatFailsEndsTheWaitAtThatEvent(t *testing.T) {
	file := filepath.Join("suite", "testdata", "conditions", "workloads.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set, err := predicates.NewSet(nil, predicates.Source{Name: "s", Files: []predicates.File{{Name: file, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	job := func(conditions string) engine.Observation {
		return observe(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: ns, uid: u}, status: {active: 1, conditions: ["+conditions+"]}}")
	}
	ref := engine.Reference{Resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, Namespace: "ns", Name: "x"}
	for condition, failed := range map[string]bool{"Complete": false, "Failed": true} {
		player, err := script.New(script.Config{
			Set: set, Logger: klog.Background(),
			Request: engine.Request{Ref: ref, Predicate: "job-succeeded"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer player.Close()
		var seen script.Seen
		for n, o := range []engine.Observation{
			job(""),
			job("{type: Suspended, status: 'False'}"),
			job("{type: " + condition + ", status: 'True', reason: BackoffLimitExceeded, message: over}"),
		} {
			verb := script.Update
			if n == 0 {
				verb = script.Add
				for _, first := range []script.Verb{script.Register, script.Wait} {
					if seen, err = player.Play(context.Background(), script.Step{Verb: first}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if seen.Status.Ended {
				t.Fatalf("%s: it ended before event %d: %+v", condition, n, seen.Status)
			}
			step := script.Step{Verb: verb, Object: o.Object.(*unstructured.Unstructured), ResourceVersion: fmt.Sprint(7 + n)}
			if seen, err = player.Play(context.Background(), step); err != nil {
				t.Fatal(err)
			}
		}
		if !seen.Status.Ended {
			t.Fatalf("%s: the wait goes on: %+v", condition, seen.Status)
		}
		if err := seen.Status.Err; failed != errors.Is(err, engine.ErrFailed) || !failed && err != nil {
			t.Errorf("%s: %v", condition, err)
		}
	}
}
