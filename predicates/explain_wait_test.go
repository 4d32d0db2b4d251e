package predicates_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
)

// TestG12_ADeadlineSaysWhatWasStillFalse: the error of a wait that ran out of time
// has the parts that were false, with their values, and no secret.
func TestG12_ADeadlineSaysWhatWasStillFalse(t *testing.T) {
	for _, c := range []struct{ pending, explanation, line string }{
		{
			"", `object.spec.phase == 'Ready' (phase is "Creating"); object.data.token == 'x' (token is •••)`,
			`waiting for predicate p on secrets ns/x: context canceled; object.spec.phase == 'Ready' (phase is "Creating"); object.data.token == 'x' (token is •••) (no reason given, judged at resourceVersion 7, 0s before the end)`,
		},
		{
			"  pending: {reason: Making, message: it is being made}", `it is being made; object.spec.phase == 'Ready' (phase is "Creating"); object.data.token == 'x' (token is •••)`,
			`waiting for predicate p on secrets ns/x: context canceled; it is being made; object.spec.phase == 'Ready' (phase is "Creating"); object.data.token == 'x' (token is •••) (reason Making, judged at resourceVersion 7, 0s before the end)`,
		},
	} {
		set, err := predicates.NewSet(nil, predicates.Source{Name: "s", Files: []predicates.File{{Name: "f", Data: []byte(`apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: v1, kind: Secret}
  done: |-
    has(object.spec) && object.spec.phase == 'Ready' && object.data.token == 'x'
` + c.pending)}}})
		if err != nil {
			t.Fatal(err)
		}
		o := observe(t, "{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: ns, uid: u}, spec: {phase: Creating}, data: {token: "+secret+"}}")
		player, err := script.New(script.Config{Set: set, Request: engine.Request{Ref: o.Ref, Predicate: "p"}, Logger: klog.Background()})
		if err != nil {
			t.Fatal(err)
		}
		defer player.Close()
		var seen script.Seen
		for _, step := range []script.Step{
			{Verb: script.Register},
			{Verb: script.Wait},
			{Verb: script.Add, Object: o.Object.(*unstructured.Unstructured), ResourceVersion: "7"},
			{Verb: script.Cancel},
		} {
			if seen, err = player.Play(context.Background(), step); err != nil {
				t.Fatal(err)
			}
		}
		var ended *engine.WaitError
		if !errors.As(seen.Status.Err, &ended) {
			t.Fatal(seen.Status.Err)
		}
		if ended.Explanation != c.explanation {
			t.Errorf("got  %s\nwant %s", ended.Explanation, c.explanation)
		}
		if ended.Error() != c.line || strings.Contains(ended.Error(), "hunter2") {
			t.Errorf("got  %s\nwant %s", ended.Error(), c.line)
		}
	}
}
