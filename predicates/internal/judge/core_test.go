package judge

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// TestAbsence: an absence is judged by policy, whatever the rules say.
func TestAbsence(t *testing.T) {
	ref := engine.Reference{Namespace: "ns", Name: "x"}
	for _, c := range []struct {
		predicate string
		presence  engine.Presence
		want      string
	}{
		{"  done: 'true'", engine.NeverExisted, "Pending NeverExisted -: Thing ns/x never existed"},
		{"  done: 'true'", engine.Deleted, "Failed Aborted ObjectDeleted -: Thing ns/x (UID u) was deleted"},
		{"  done: 'true'", engine.Replaced, "Failed Aborted ObjectReplaced -: Thing ns/x (UID u) was deleted: another object has taken its name"},
		{"  expect: Gone\n  failed: ['true']", engine.NeverExisted, "Done NeverExisted -: Thing ns/x never existed"},
		{"  expect: Gone\n  failed: ['true']", engine.Deleted, "Done ObjectDeleted -: Thing ns/x (UID u) was deleted"},
		{"  expect: Gone\n  failed: ['true']", engine.Replaced, "Done ObjectReplaced -: Thing ns/x (UID u) was deleted: another object has taken its name"},
		{"  onAbsent: Failed\n  done: 'true'", engine.NeverExisted, "Failed NotFound NeverExisted -: Thing ns/x never existed"},
		{"  onAbsent: {verdict: Failed, code: UNAVAILABLE, reason: R, message: m}\n  done: 'true'", engine.NeverExisted, "Failed Unavailable R -: m"},
		{"  onAbsent: {verdict: Pending, message: m}\n  done: 'true'", engine.NeverExisted, "Pending NeverExisted -: m"},
		{"  onDelete: Done\n  done: 'true'", engine.Deleted, "Done ObjectDeleted -: Thing ns/x (UID u) was deleted"},
		{"  onDelete: Pending\n  done: 'true'", engine.Replaced, "Pending ObjectReplaced -: Thing ns/x (UID u) was deleted: another object has taken its name"},
		{"  onDelete: {verdict: Failed, code: NotFound, reason: R, message: m}\n  done: 'true'", engine.Replaced, "Failed NotFound R -: m"},
	} {
		o := engine.Observation{Ref: ref, Presence: c.presence}
		if c.presence != engine.NeverExisted {
			o.UID = "u"
		}
		judge := build(t, c.predicate)
		if got := text(judge.Describe(context.Background(), o)); got != c.want {
			t.Errorf("%q, %v\n got: %s\nwant: %s", c.predicate, c.presence, got, c.want)
		}
		if got := judge.Judge(context.Background(), o); got.Verdict.Decisive() && text(got) != c.want {
			t.Errorf("%q, %v: Judge: %s", c.predicate, c.presence, text(got))
		}
	}
}

// TestGenerationNumbers: a status that lags isn't judged, whatever Go type its
// numbers have.
func TestGenerationNumbers(t *testing.T) {
	judge := build(t, "  done: 'true'")
	for _, lagging := range []any{int64(1), 1, int32(1), 1.0, json.Number("1")} {
		o := engine.Observation{Object: &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"observedGeneration": lagging},
		}}}
		if v := judge.Judge(t.Context(), o).Verdict; v.Reason != engine.ReasonGenerationLag {
			t.Errorf("%T: %v, reason %q; want Pending, GenerationLag", lagging, v.Decision, v.Reason)
		}
	}
}

// TestTexts: reasons, messages and codes, and what they fall back to.
func TestTexts(t *testing.T) {
	const rule = "  done: 'false'\n  failed:\n  - expression: 'true'\n    codeExpression: object.code\n    codeMap: {DANGLING-attach: FailedPrecondition, '': DataLoss, ok: OutOfRange}\n    code: Unknown\n    reasonExpression: object.reason\n    reason: Static\n    messageExpression: object.message\n    message: static"
	for object, want := range map[string]string{
		"{code: RESOURCE_EXHAUSTED, reason: Good1, message: m}": "Failed ResourceExhausted Good1 failed[0]: m",
		"{code: resource-exhausted, reason: '', message: ''}":   "Failed ResourceExhausted Static failed[0]: static",
		"{code: Cancelled, reason: 'two words', message: 5}":    "Failed Canceled Static failed[0]: static",
		"{code: dangling_ATTACH, reason: 1x}":                   "Failed FailedPrecondition Static failed[0]: static",
		"{code: WHATEVER, reason: a-b}":                         "Failed Unknown Static failed[0]: static",
		"{code: OK}":                                            "Failed OutOfRange Static failed[0]: static",
		"{code: ''}":                                            "Failed DataLoss Static failed[0]: static",
		"{}":                                                    "Failed DataLoss Static failed[0]: static",
		"{code: 5}":                                             "Failed DataLoss Static failed[0]: static",
		"{code: '5'}":                                           "Failed Unknown Static failed[0]: static",
	} {
		if got := text(build(t, rule).Judge(context.Background(), present(yamlObject(t, object)))); got != want {
			t.Errorf("%s\n got: %s\nwant: %s", object, got, want)
		}
	}
}

func TestParseCode(t *testing.T) {
	for s, want := range map[string]codes.Code{
		"NotFound": codes.NotFound, "NOT_FOUND": codes.NotFound, "not-found": codes.NotFound, "notfound": codes.NotFound,
		"CANCELLED": codes.Canceled, "Canceled": codes.Canceled, "Unknown": codes.Unknown, "DATA_LOSS": codes.DataLoss, "unauthenticated": codes.Unauthenticated,
	} {
		if got, ok := ParseCode(s); !ok || got != want {
			t.Errorf("%s: %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "OK", "ok", "5", "Not Found", "Code(17)", "_", "not found"} {
		if got, ok := ParseCode(s); ok {
			t.Errorf("%q is %v", s, got)
		}
	}
}

// TestJ1_JudgeErrorIsNoNews: a predicate that breaks on a volume being created
// says so with cause Judge and code Internal, and nothing about the volume.
func TestJ1_JudgeErrorIsNoNews(t *testing.T) {
	o := present(yamlObject(t, "{metadata: {name: v, uid: a}, status: {state: Creating, detail: null}}"))
	for _, done := range []string{"object.status.state > 5", "size(object.status.state) / 0 == 1", "object.status.state"} {
		judge := build(t, "  done: "+done)
		for _, j := range []engine.Judgement{judge.Judge(context.Background(), o), judge.Describe(context.Background(), o)} {
			v := j.Verdict
			if v.Decision != engine.Failed || v.Cause != engine.CauseJudge || v.Code != codes.Internal || v.Rule != "done[0]" || v.Reason != engine.ReasonEvaluationError {
				t.Errorf("%s: %+v", done, v)
			}
		}
	}
}

// TestBrokenJudge: what can't be judged at all is the judge's failure too.
func TestBrokenJudge(t *testing.T) {
	env, err := celexpr.NewEnvironment([]celexpr.Param{{Name: "a", Type: "int"}})
	if err != nil {
		t.Fatal(err)
	}
	core := New(Spec{Kind: "Thing", Environment: env, OnTerminating: Policy{Judge: true}, Done: []Rule{{Name: "done[0]"}}})
	good := core.Bind(map[string]any{"a": 1}, "key")
	if good.Key() != "key" {
		t.Error("the key is lost")
	}
	for name, j := range map[string]engine.Judgement{
		"param of another type": core.Bind(map[string]any{"a": "x"}, "key").Judge(context.Background(), present(map[string]any{})),
		"no object":             good.Judge(context.Background(), engine.Observation{}),
		"an object that panics": good.Judge(context.Background(), engine.Observation{Object: &panics{}}),
	} {
		if v := j.Verdict; v.Decision != engine.Failed || v.Cause != engine.CauseJudge || v.Code != codes.Internal || v.Message == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := good.Judge(context.Background(), present(map[string]any{})).Verdict; v.Decision != engine.Done {
		t.Errorf("%+v", v)
	}
}

// panics is an object whose status can't be read.
type panics struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            panicking `json:"status"`
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no status") }

// TestTyped: a typed object, as informers deliver it, is judged like its JSON form.
func TestTyped(t *testing.T) {
	judge := build(t, "  done: |-\n    object.kind == 'Thing' && object.apiVersion == 'apps/v1' && object.status.updatedReplicas >= 1")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 2}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 1}}
	o := engine.Observation{Ref: engine.Reference{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}}, Object: d}
	want := []string{"Done - done[0]: "}
	got := []string{text(judge.Describe(context.Background(), o))}
	d.Generation = 3
	want = append(want, "Pending GenerationLag -: status is of generation 2, object is at 3")
	got = append(got, text(judge.Describe(context.Background(), o)))
	at := metav1.NewTime(time.Date(2026, 3, 2, 9, 22, 48, 0, time.UTC))
	d.DeletionTimestamp, d.Finalizers = &at, []string{"f"}
	want = append(want, "Failed Aborted ObjectTerminating -: deletion was requested, deletionTimestamp is 2026-03-02T09:22:48Z; finalizers: f")
	got = append(got, text(judge.Describe(context.Background(), o)))
	if !slices.Equal(got, want) {
		t.Errorf("\n got: %q\nwant: %q", got, want)
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	judge := build(t, "  variables: [{name: v, expression: object.status.state}]\n  done: variables.v == 'x' && object.m == 1\n  failed: ['object.e > 1', {expression: 'object.l.exists(a, a == 5)', for: 1s}]\n  pending: [{messageExpression: \"'state is ' + variables.v\"}]")
	o := present(yamlObject(t, "{status: {state: x}, e: y, l: [1, 2, 5]}"))
	want := text(judge.Describe(context.Background(), o))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got := text(judge.Describe(context.Background(), o)); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				judge.Judge(context.Background(), o)
			}
		})
	}
	wg.Wait()
}

// speedJudge is a predicate as the default set has them: a veto, a done, two failures.
func speedJudge(t testing.TB) engine.Judge {
	return build(t, `  variables:
  - name: state
    expression: |-
      object.?status.?state.orValue('')
  aborted:
  - expression: |-
      has(object.spec.role) && object.spec.role == 'Nobody'
  done: |-
    has(object.status.detail) && has(object.status.detail.publish_context) && variables.state == 'Attached' &&
    object.spec.role == object.status.detail.role
  failed:
  - expression: |-
      variables.state in ['AttachmentFailed', 'DetachmentFailed']
  - expression: |-
      has(object.status.error) && object.status.error.code != ''`)
}

// speedObservations are an attachment in a state, unstructured and typed.
func speedObservations(t testing.TB, state string) map[string]engine.Observation {
	resource := schema.GroupVersionResource{Group: "disk.csi.azure.com", Version: "v1beta2", Resource: "azvolumeattachments"}
	typed := &v1beta2.AzVolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 1, ResourceVersion: "5", UID: "u"},
		Spec:       v1beta2.AzVolumeAttachmentSpec{VolumeName: "v", NodeName: "a", RequestedRole: "Primary"},
		Status: v1beta2.AzVolumeAttachmentStatus{
			State:  v1beta2.AttachmentState(state),
			Detail: &v1beta2.AzVolumeAttachmentStatusDetail{Role: "Primary", PublishContext: map[string]string{"LUN": "3"}},
		},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]engine.Observation{"Typed": {Object: typed}, "Unstructured": {Object: &unstructured.Unstructured{Object: object}}}
	for name, o := range out {
		o.Ref = engine.Reference{Resource: resource, Namespace: "ns", Name: "x"}
		out[name] = o
	}
	return out
}

// TestJudgeAllocatesNothing: judging an ordinary event costs no memory, whether it
// says Pending or Done.
func TestJudgeAllocatesNothing(t *testing.T) {
	judge := speedJudge(t)
	for state, want := range map[string]engine.Decision{"Attaching": engine.Pending, "Attached": engine.Done, "AttachmentFailed": engine.Failed} {
		for name, o := range speedObservations(t, state) {
			if v := judge.Judge(t.Context(), o).Verdict; v.Decision != want || v.Cause != engine.CauseOperation {
				t.Fatalf("%s, %s: %+v", state, name, v)
			}
			allocs := testing.AllocsPerRun(100, func() { judge.Judge(t.Context(), o) })
			if want != engine.Failed && !racedetector.Enabled && allocs > 0 {
				t.Errorf("%s, %s: %v allocations", state, name, allocs)
			}
		}
	}
}

func BenchmarkJudgeEvent(b *testing.B) {
	judge := speedJudge(b)
	for _, state := range []string{"Attaching", "Attached"} {
		for name, o := range speedObservations(b, state) {
			b.Run(state+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				var before, after syscall.Rusage
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
				for b.Loop() {
					judge.Judge(context.Background(), o)
				}
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
				cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
