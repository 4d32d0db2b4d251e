package wasm_test

import (
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

const documents = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: module}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolumeAttachment}
  wasm: {module: {file: attachment.wasm}}
---
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: rules}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolumeAttachment}
  variables:
  - name: state
    expression: object.?status.?state.orValue('')
  - name: value
    expression: object.?status.?detail.?publish_context[?'LUN'].orValue(dyn(''))
  - name: lun
    expression: |-
      dyn(variables.value) == null ? '' : string(variables.value)
  done: |-
    variables.state == 'Attached' && variables.lun.matches('^(/dev/.+|[0-9]|[1-5][0-9]|6[0-3])$')
  failed:
  - expression: variables.state == 'AttachmentFailed'
    reason: AttachFailed
  - expression: variables.state == 'Attached' && variables.lun == ''
    reason: LUNMissing
  - expression: variables.state == 'Attached'
    reason: LUNInvalid
`

// TestRulesAndModuleAgree judges random objects by rules and by a module in C that
// mean the same.
func TestRulesAndModuleAgree(t *testing.T) {
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	loader, err := predicates.NewLoader(nil, predicates.WithWasm(runtime))
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(predicates.Source{Files: []predicates.File{
		{Name: "a.yaml", Data: []byte(documents)},
		{Name: "attachment.wasm", Data: fixture.C(t, "testdata/guests/attachment.c"), Binary: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var judges [2]engine.Judge
	for i, name := range []string{"rules", "module"} {
		p, err := set.Predicate(name)
		if err != nil {
			t.Fatal(err)
		}
		if judges[i], err = p.Bind(nil); err != nil {
			t.Fatal(err)
		}
	}
	states := []any{nil, "", "Attaching", "Attached", "Attached", "Attached", "AttachmentFailed", "Attache", "Attached2"}
	luns := []any{nil, "", "0", "7", "07", "10", "63", "64", "099", "100", "x", "3x", "/dev/", "/dev/x", "/dev/sdc", "/de", "dev/x", int64(3), int64(63), int64(64), int64(-1), true}
	random := rand.New(rand.NewPCG(4, 2))
	pick := func(m map[string]any, key string, value any) {
		if random.IntN(8) > 0 { // else it is absent
			m[key] = value
		}
	}
	seen := map[engine.Decision]int{}
	for range 10_000 {
		context, detail, status, object := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{"metadata": map[string]any{"name": "a"}}
		pick(context, "LUN", luns[random.IntN(len(luns))])
		pick(detail, "publish_context", context)
		pick(status, "detail", detail)
		if state := states[random.IntN(len(states))]; state != nil {
			status["state"] = state
		}
		pick(object, "status", status)
		o := engine.Observation{Presence: engine.Present, Object: metav1.Object(&unstructured.Unstructured{Object: object})}
		a, b := judges[0].Judge(t.Context(), o).Verdict, judges[1].Judge(t.Context(), o).Verdict
		if a.Decision != b.Decision || a.Code != b.Code || a.Cause != b.Cause || a.Decision == engine.Failed && a.Reason != b.Reason {
			t.Fatalf("%v: rules say %+v, the module %+v", object, a, b)
		}
		seen[a.Decision]++
	}
	if seen[engine.Done] < 500 || seen[engine.Failed] < 500 || seen[engine.Pending] < 500 {
		t.Errorf("too few of a kind: %v", seen)
	}
}
