package predicates

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

// header begins a predicate on volumes.
const header = `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: %s}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
`

func predicate(name, spec string) string { return fmt.Sprintf(header, name) + spec + "\n" }

func binding(operation, predicate, more string) string {
	return fmt.Sprintf("apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: b}\nspec:\n  operation: %s\n  predicate: %s\n%s\n", operation, predicate, more)
}

// source makes a source of one file with the documents.
func source(name string, documents ...string) Source {
	return Source{Name: name, Files: []File{{Name: "a.yaml", Data: []byte(strings.Join(documents, "---\n"))}}}
}

func mustSet(t testing.TB, sources ...Source) *Set {
	t.Helper()
	set, err := NewSet(catalogue(), sources...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func mustBind(t testing.TB, p engine.Predicate, params engine.Params) engine.Judge {
	t.Helper()
	j, err := p.Bind(params)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// observe shows a volume in a state.
func observe(state string) engine.Observation {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "disk.csi.azure.com/v1beta2", "kind": "AzVolume",
		"metadata": map[string]any{"name": "v", "namespace": "n", "uid": "u"},
		"status":   map[string]any{"state": state},
	}}
	return engine.Observation{
		Ref:      engine.Reference{Resource: catalogue()[0].Resource, Namespace: "n", Name: "v"},
		Presence: engine.Present, Object: metav1.Object(object), UID: "u", ResourceVersion: "1",
	}
}

func TestLaterSourcesOverride(t *testing.T) {
	defaults := source("defaults",
		predicate("created", "  done: object.status.state == 'Created'"),
		predicate("deleted", "  expect: Gone"),
		binding("CreateVolume", "created", "  timeout: 10m"),
		binding("DeleteVolume", "deleted", ""),
		binding("DeleteVolume", "deleted", "  action: Shadow"))
	config := source("config",
		predicate("created", "  done: object.status.state == 'Updated'"),
		predicate("deleted-late", "  expect: Gone\n  failed: object.status.state == 'DeletionFailed'"),
		binding("DeleteVolume", "deleted-late", ""),
		binding("CreateVolume", "deleted-late", "  action: Shadow"),
		binding("DeleteVolume", "deleted-late", "  action: Shadow"),
		binding("DeleteVolume", "deleted", "  action: Shadow"))
	set := mustSet(t, defaults, config)

	created, err := set.Binding("CreateVolume")
	if err != nil {
		t.Fatal(err)
	}
	judge := mustBind(t, created.Predicate, nil)
	for state, want := range map[string]engine.Decision{"Created": engine.Pending, "Updated": engine.Done} {
		if got := judge.Judge(t.Context(), observe(state)).Verdict.Decision; got != want {
			t.Errorf("state %s is %v, want %v: the later predicate must decide", state, got, want)
		}
	}
	if created.Timeout != 10*time.Minute {
		t.Errorf("the earlier binding has timeout %v", created.Timeout)
	}
	var got []string
	for _, b := range set.Bindings() {
		origin, _ := set.BindingOrigin(b)
		got = append(got, fmt.Sprintf("%s %s %s %s", b.Operation, b.Action, b.Predicate.ID().Name, origin.Source))
	}
	if diff := cmp.Diff([]string{
		"CreateVolume Enforce created defaults",
		"CreateVolume Shadow deleted-late config",
		"DeleteVolume Enforce deleted-late config",
		"DeleteVolume Shadow deleted config", // the same shadow again: only one
		"DeleteVolume Shadow deleted-late config",
	}, got); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	if o, ok := set.Origin("created"); !ok || o.String() != "config, a.yaml:1" {
		t.Errorf("origin of created: %v", o)
	}
	if o, ok := set.Origin("deleted"); !ok || o.String() != "defaults, a.yaml:8" {
		t.Errorf("origin of deleted: %v", o)
	}
}

// TestOverriddenPredicateMustFitTheBinding: the report names both documents.
func TestOverriddenPredicateMustFitTheBinding(t *testing.T) {
	_, err := NewSet(catalogue(),
		source("defaults",
			predicate("p", "  params: {until: string}\n  done: object.status.state == params.until"),
			binding("CreateVolume", "p", "  params: {until: Created}")),
		source("config", predicate("p", "  params: {state: string}\n  done: object.status.state == params.state")))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`defaults, a.yaml:15:11: Binding b: nobody gives param state of predicate p (config, a.yaml:1); give it under spec.params (type string)`,
		`defaults, a.yaml:15:12: Binding b: predicate p (config, a.yaml:1) declares no param "until"; params: state`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error:\n%v\nwithout:\n%s", err, want)
		}
	}
}

func TestLookupsNameTheNearest(t *testing.T) {
	set := mustSet(t, source("defaults", predicate("created", "  done: object.status.state == 'Created'")))
	for _, c := range []struct {
		look func(string) error
		name string
		want string
	}{
		{func(n string) error { _, err := set.Predicate(n); return err }, "craeted", `unknown predicate "craeted"; did you mean "created"?`},
		{func(n string) error { _, err := set.Binding(n); return err }, "CreateVolum", `unknown operation "CreateVolum"; did you mean "CreateVolume"?`},
		{func(n string) error { _, err := set.Binding(n); return err }, "CreateVolume", "no binding says which predicate ends operation CreateVolume; add a Binding with spec.operation: CreateVolume"},
	} {
		if err := c.look(c.name); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestNoSourcesAreASet(t *testing.T) {
	set := mustSet(t, Source{Name: "empty"}, Source{Name: "blank", Files: []File{{Name: "x"}}})
	if len(set.Predicates())+len(set.Bindings()) != 0 || set.Digest() == "" {
		t.Errorf("set %+v", set)
	}
}

func TestOperationsAreChecked(t *testing.T) {
	for name, operations := range map[string][]engine.Operation{
		"declared twice": {{Name: "A"}, {Name: "A"}},
		"unknown type":   {{Name: "A", Params: []engine.OperationParam{{Name: "p", Type: "strin"}}}},
		"no name":        {{}},
	} {
		if _, err := NewSet(operations); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDigest: what is said counts, not how it is written.
func TestDigest(t *testing.T) {
	base := predicate("p", "  params: {a: {type: string}, size: {type: quantity, default: 1Gi}}\n  done: object.status.state == params.a\n  failed:\n  - expression: object.status.state == 'x'\n    code: NotFound")
	digest := func(document string) string { return mustSet(t, source("s", document)).Digest() }
	for name, same := range map[string]string{
		"comments, order, short forms, defaults": `
# A comment.
kind: Predicate
apiVersion: "donewhen.dev/v1alpha1"
metadata:
  name: p
spec:
  failed:
    code: NOT_FOUND   # spelt in another way
    expression: |
      object.status.state == 'x'
  expect: Present
  onAbsent: Pending
  onDelete: {verdict: Failed, code: aborted}
  observedGeneration: Auto
  failurePolicy: Fail
  done:
  - expression: object.status.state == params.a
  params:
    size: {type: quantity, default: "1073741824"}
    a: string
  match: {kind: AzVolume, apiVersions: [disk.csi.azure.com/v1beta2]}
`,
	} {
		if digest(same) != digest(base) {
			t.Errorf("%s: another digest", name)
		}
	}
	for _, change := range [][2]string{
		{"name: p}", "name: q}"},
		{"== params.a", "!= params.a"},
		{"'x'", "'y'"},
		{"NotFound", "Aborted"},
		{"default: 1Gi", "default: 2Gi"},
		{"a: {type: string}", "a: {type: string, sensitive: true}"},
		{"  done:", "  version: '2'\n  done:"},
		{"  done:", "  stableFor: 1s\n  done:"},
		{"  done:", "  limits: {cost: 5}\n  done:"},
	} {
		if changed := strings.Replace(base, change[0], change[1], 1); changed == base || digest(changed) == digest(base) {
			t.Errorf("%q for %q: the same digest", change[1], change[0])
		}
	}
	withBinding := func(b string) string {
		return mustSet(t, source("s", predicate("p", "  done: object.status.state == 'a'"), binding("CreateVolume", "p", b))).Digest()
	}
	if withBinding("  timeout: 60s") != withBinding("  action: Enforce\n  timeout: 1m\n  inFlight: Move") {
		t.Error("the same binding has another digest")
	}
	if withBinding("  timeout: 60s") == withBinding("  timeout: 61s") {
		t.Error("another binding has the same digest")
	}
}

// TestCompiledAsWritten holds what the loader hands to the verdict core.
func TestCompiledAsWritten(t *testing.T) {
	set := mustSet(t, source("s", predicate("p", `  version: "3"
  onAbsent: Failed
  onDelete: {verdict: Failed, code: not_found, reason: VolumeDeleted, message: it is gone}
  onTerminating: Pending
  done:
    expression: object.status.state == 'Created'
    reason: Created
  stableFor: 10s
  aborted: {expression: object.status.state == 'Deleting', message: it leaves}
  failed:
  - expression: object.status.state == 'Failed'
    for: 30s
    codeExpression: "'DANGLING_ATTACH'"
    codeMap: {DANGLING_ATTACH: failed_precondition}
    message: it failed
`)))
	p, err := set.Predicate("p")
	if err != nil {
		t.Fatal(err)
	}
	if id := p.ID(); id.Name != "p" || id.Label != "3" || len(id.Digest) != 64 {
		t.Errorf("ID %+v", id)
	}
	if got := p.Resources(); len(got) != 1 || got[0] != (schema.GroupVersionResource{Group: "disk.csi.azure.com", Version: "v1beta2", Resource: "azvolumes"}) {
		t.Errorf("resources %v", got)
	}
	judge := mustBind(t, p, nil)
	absent := func(p engine.Presence) engine.Observation {
		o := observe("")
		o.Presence, o.Object = p, nil
		return o
	}
	check := func(what string, got, want engine.Verdict) {
		t.Helper()
		want.Predicate = p.ID()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("never existed", judge.Judge(t.Context(), absent(engine.NeverExisted)).Verdict,
		engine.Verdict{Decision: engine.Failed, Code: codes.NotFound, Reason: engine.ReasonNeverExisted, Message: "AzVolume n/v never existed"})
	check("replaced", judge.Judge(t.Context(), absent(engine.Replaced)).Verdict,
		engine.Verdict{Decision: engine.Failed, Code: codes.NotFound, Reason: "VolumeDeleted", Message: "it is gone"})
	check("aborted", judge.Judge(t.Context(), observe("Deleting")).Verdict,
		engine.Verdict{Decision: engine.Failed, Code: codes.Aborted, Message: "it leaves", Rule: "aborted[0]"})

	done := judge.Judge(t.Context(), observe("Created"))
	if len(done.Holding) != 1 || done.Holding[0].For != 10*time.Second || done.Holding[0].Rule != "done[0]" {
		t.Fatalf("done must hold for 10s: %+v", done)
	}
	check("done", done.Holding[0].Verdict, engine.Verdict{Decision: engine.Done, Reason: "Created", Rule: "done[0]"})
	failed := judge.Judge(t.Context(), observe("Failed"))
	if len(failed.Holding) != 1 || failed.Holding[0].For != 30*time.Second {
		t.Fatalf("failed must hold for 30s: %+v", failed)
	}
	check("failed", failed.Holding[0].Verdict, engine.Verdict{Decision: engine.Failed, Code: codes.FailedPrecondition, Message: "it failed", Rule: "failed[0]"})
}
