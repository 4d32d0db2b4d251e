package suite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
)

var podOperations = []engine.Operation{{
	Name: "StartPod", Kind: "Pod", Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
	Params: []engine.OperationParam{{Name: "phase", Type: "string"}},
}}

const (
	podContract = `
apiVersion: donewhen.dev/v1alpha1
kind: Contract
metadata: {name: start}
spec:
  operation: StartPod
  params: {phase: Running}
  objects:
    pod: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Pending}}
  cases:
  - name: by phase
    object: $pod
    sweep:
      path: status.phase
      is:
        "": InProgress
        Pending: InProgress
        Running: Done
        Failed: {standing: Failed, usually: {verdict: Failed, code: Unknown}}
`
	podPredicate = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: started}
spec:
  match: {apiVersion: v1, kind: Pod}
  params: {phase: string}
  done: object.status.phase == params.phase
  failed:
  - expression: object.status.phase == 'Failed'
    code: Unknown
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: start}
spec: {operation: StartPod, predicate: started}
`
	podSuite = `
apiVersion: donewhen.dev/v1alpha1
kind: Suite
metadata: {name: mine}
spec:
  objects:
    pod: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running}}
  cases:
  - name: running
    predicate: started
    params: {phase: Running}
    object: $pod
    expect: Done
`
)

func file(name, data string) predicates.File { return predicates.File{Name: name, Data: []byte(data)} }

// update gives a store of the pod predicate one more source, through the gate.
func update(t *testing.T, files ...predicates.File) error {
	t.Helper()
	gate, err := suite.NewGateOf(podOperations, fstest.MapFS{"start.yaml": {Data: []byte(podContract)}})
	if err != nil {
		t.Fatal(err)
	}
	store, err := predicates.NewStore(podOperations,
		predicates.Source{Name: "defaults", Files: []predicates.File{file("pod.yaml", podPredicate)}},
		predicates.WithGate(func(set *predicates.Set, sources []predicates.Source) []predicates.Problem {
			return gate.Check(t.Context(), set, sources)
		}))
	if err != nil {
		t.Fatal(err)
	}
	return store.Update(predicates.Source{Name: "config", Files: files})
}

// The suites that come with a config must pass on the set that would be in force,
// whatever file of whatever source their predicates come from.
func TestGateRunsTheConfigsSuites(t *testing.T) {
	suiteOf := func(edits ...string) string { return strings.NewReplacer(edits...).Replace(podSuite) }
	for _, row := range []struct {
		name  string
		files []predicates.File
		want  string // in the refusal; empty: none
	}{
		{"of the defaults", []predicates.File{file("s.yaml", podSuite)}, ""},
		{"beside a predicate", []predicates.File{file("p.yaml", strings.TrimPrefix(podPredicate, "\n")+"---"+podSuite)}, ""},
		{"names a key", []predicates.File{file("p.yaml", podPredicate), file("s.yaml", suiteOf("spec:\n", "spec:\n  predicates: [p.yaml]\n"))}, ""},
		{"names no key", []predicates.File{file("p.yaml", podPredicate), file("s.yaml", suiteOf("spec:\n", "spec:\n  predicates: [q.yaml]\n"))}, `config, s.yaml:6:16: Suite mine: the suite's source has no q.yaml; did you mean "p.yaml"?`},
		{"fails", []predicates.File{file("s.yaml", suiteOf("expect: Done", "expect: Pending"))}, `config, s.yaml:9:5: Suite mine: case "running" fails: verdict: want Pending, got Done (predicate started says Done)`},
		{"names an object that isn't there", []predicates.File{file("s.yaml", suiteOf("$pod", "pod.yaml"))}, "config has no pod.yaml: write the object into the suite"},
		{"is misspelt", []predicates.File{file("s.yaml", suiteOf("expect: Done", "expects: Done"))}, "unknown field"},
		{"asks for what isn't there", []predicates.File{file("s.yaml", suiteOf("predicate: started", "predicate: starte"))}, `did you mean "started"?`},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := update(t, row.files...)
			if row.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if load, ok := errors.AsType[*predicates.LoadError](err); !ok || !load.Refused || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q in a refusal", err, row.want)
			}
		})
	}
}

// What violates a contract is refused at the rule that does.
func TestGateKeepsTheContract(t *testing.T) {
	for _, row := range []struct{ name, find, with, want string }{
		{"as it is", "", "", ""},
		{"too early", "object.status.phase == params.phase", "object.status.phase in [params.phase, 'Pending']", `config, p.yaml:8:9: Predicate started: the contract of StartPod forbids it: in case "start/by phase/Pending" (InProgress) predicate started says Done by done[0]: the operation isn't done here, the wait must go on (bound to StartPod by start, defaults, pod.yaml:13)`},
		{"never", "object.status.phase == params.phase", "object.status.phase == 'running'", `case "start/by phase/Running" (Done) predicate started says Pending`},
		{"too early, after a time", "  done: object.status.phase == params.phase", "  done:\n  - {expression: \"!has(object.status.nothing)\", for: 1h}", "says Done by done[0]"},
		{"done after a time only", "  done: object", "  stableFor: 1h\n  done: object", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			predicate, _, _ := strings.Cut(podPredicate, "---")
			err := update(t, file("p.yaml", strings.Replace(predicate, row.find, row.with, 1)))
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("error %v, want %q", err, row.want)
			}
		})
	}
}

// A contract that a program has written wrongly is found before anything loads.
func TestContractsAreChecked(t *testing.T) {
	for _, row := range []struct{ name, find, with, want string }{
		{"no such operation", "operation: StartPod", "operation: StopPod", `operation "StopPod", which isn't declared`},
		{"a param is missing", "  params: {phase: Running}\n", "", "the callers of StartPod give phase"},
		{"no such standing", "Running: Done", "Running: Finished", `standing "Finished" isn't known`},
		{"another kind", "kind: Contract", "kind: Suite", "is no contract"},
		{"no such object", "object: $pod", "object: $pot", `did you mean "$pod"?`},
		{"no such field", "sweep:", "sweeps:", "unknown field"},
		{"no standing", `"": InProgress`, `"": ""`, "doesn't say how the operation stands"},
		{"an object without a kind", "kind: Pod, ", "", "the object has no kind"},
		{"a usual verdict that isn't one", "verdict: Failed", "verdict: Fail", `verdict "Fail" isn't known`},
		{"alike where it stands so that nobody knows", "  cases:\n", "  alike:\n  - {name: x, merge: {status: {reason: x}}, standings: [Don]}\n  cases:\n", `standing "Don" isn't known`},
		{"alike but for nothing", "  cases:\n", "  alike:\n  - {name: x}\n  cases:\n", "merges nothing"},
		{"a grid of what there isn't", "  cases:\n", "  cases:\n  - {name: g, object: $pod, grid: [phases], is: InProgress}\n", `axis "phases" isn't known`},
		{"a grid that says nothing", "  cases:\n", "  cases:\n  - {name: g, object: $pod, grid: [{x: {status: {reason: x}}}]}\n", "a grid says how the operation stands"},
		{"a grid of no object", "  cases:\n", "  cases:\n  - {name: g, absent: never, grid: [{x: {status: {reason: x}}}], is: InProgress}\n", "a grid changes an object"},
		{"a grid that takes the kind away", "  cases:\n", "  cases:\n  - {name: g, object: $pod, grid: [{x: {kind: null}}], is: InProgress}\n", "x: the object has no kind"},
		{"a grid of numbers", "  cases:\n", "  cases:\n  - {name: g, object: $pod, grid: [3], is: InProgress}\n", "an axis isn't int64"},
		{"a grid that merges a text", "  cases:\n", "  cases:\n  - {name: g, object: $pod, grid: [{x: y}], is: InProgress}\n", "it merges y, which is no object"},
		{"a wrong path", "path: status.phase", "path: .status", "a name is missing"},
	} {
		_, err := suite.NewGateOf(podOperations, fstest.MapFS{"start.yaml": {Data: []byte(strings.Replace(podContract, row.find, row.with, 1))}})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q in it", row.name, err, row.want)
		}
	}
}

// A grid has every combination, and rows are judged under names that the predicate
// can't know.
func TestGateJudgesGridsAndOtherNames(t *testing.T) {
	contract := strings.Replace(strings.Replace(podContract, "  cases:\n", "  names: [somebody]\n  axes:\n    beside: {\"\": {}, hot: {metadata: {labels: {heat: hot}}}}\n  cases:\n  - name: not yet\n    object: $pod\n    grid: [beside, {\"\": {}, a reason: {status: {reason: x}}}]\n    is: InProgress\n", 1), "metadata: {name: p}", "metadata: {name: somebody}", 1)
	gate, err := suite.NewGateOf(podOperations, fstest.MapFS{"start.yaml": {Data: []byte(contract)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, done, want string }{
		{"as it is", "object.status.phase == params.phase", ""},
		{"wrong about a combination", "object.status.phase == params.phase || has(object.metadata.labels) && has(object.status.reason)", `"start/not yet/hot, a reason" (InProgress)`},
		{"right for one name", "object.status.phase == params.phase && object.metadata.name == 'somebody'", `"start/by phase/Running, under other names" (Done)`},
		{"wrong for the others", "object.status.phase == params.phase || object.metadata.name != 'somebody'", `"start/by phase/(absent), under other names" (InProgress)`},
		{"as it is, once more", "object.status.phase == params.phase", ""},
	} {
		sources := []predicates.Source{{Name: "defaults", Files: []predicates.File{file("pod.yaml", strings.Replace(podPredicate, "object.status.phase == params.phase", row.done, 1))}}}
		set, err := predicates.NewSet(podOperations, sources...)
		if err != nil {
			t.Fatal(err)
		}
		report := gate.Look(t.Context(), set, sources)
		got := fmt.Sprint(report.Problems)
		if row.want == "" && len(report.Problems) > 0 || !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want %q", row.name, got, row.want)
		}
		if n := report.Judged[0].Cases; n != 12 {
			t.Errorf("%s: %d cases, want 4 of the sweep, as many under other names, and 4 of the grid", row.name, n)
		}
	}
}
