package enginemetrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/enginemetrics"
)

var volumes = schema.GroupVersionResource{Group: "disk.csi.azure.com", Version: "v1beta2", Resource: "azvolumes"}

func registered(t *testing.T) (*enginemetrics.Metrics, *prometheus.Registry) {
	t.Helper()
	m, registry := enginemetrics.New(), prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	return m, registry
}

func expect(t *testing.T, registry *prometheus.Registry, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestWaiters_GaugeAndSeconds(t *testing.T) {
	m, registry := registered(t)
	id := engine.PredicateID{Name: "created"}
	for range 3 {
		m.WaiterRegistered("CreateVolume", id)
	}
	m.WaiterEnded(engine.WaitEnd{Operation: "CreateVolume", Predicate: id, Outcome: engine.OutcomeDone, Took: 1500 * time.Millisecond})
	m.WaiterEnded(engine.WaitEnd{Operation: "CreateVolume", Predicate: id, Outcome: engine.OutcomeDeadline, Took: time.Minute})
	expect(t, registry, `
# HELP donewhen_engine_waiters Waiters that have not ended, by operation (empty for waits made by predicate name).
# TYPE donewhen_engine_waiters gauge
donewhen_engine_waiters{operation="CreateVolume"} 1
`, "donewhen_engine_waiters")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "donewhen_engine_wait_seconds" {
			continue
		}
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if l.GetName() == "outcome" {
					seen[l.GetValue()] = metric.GetHistogram().GetSampleSum()
				}
			}
		}
	}
	if seen["Done"] != 1.5 || seen["Deadline"] != 60 || len(seen) != 2 {
		t.Errorf("wait seconds by outcome: %v", seen)
	}
}

func TestK43_AnErrorIsAnotherPhaseThanFalse(t *testing.T) {
	m, registry := registered(t)
	for _, v := range []engine.Verdict{
		{}, // false
		{Decision: engine.Done, Rule: "done[0]"},
		{Decision: engine.Failed, Rule: "failed[2]", Code: codes.Aborted},
		{Decision: engine.Failed, Reason: engine.ReasonObjectDeleted, Code: codes.Aborted},
		{Decision: engine.Failed, Cause: engine.CauseJudge, Reason: engine.ReasonEvaluationError, Code: codes.Internal},
		{Decision: engine.Pending, Cause: engine.CauseJudge, Reason: "FuelExhausted"},
	} {
		m.Evaluated(engine.Evaluation{Predicate: engine.PredicateID{Name: "created"}, Verdict: v, Took: time.Millisecond})
	}
	expect(t, registry, `
# HELP donewhen_engine_evaluations_total Evaluations of a predicate, by purpose (judge, describe, shadow) and by what decided: aborted, done, failed, pending, policy, or error where the predicate itself broke.
# TYPE donewhen_engine_evaluations_total counter
donewhen_engine_evaluations_total{phase="done",predicate="created",purpose="judge"} 1
donewhen_engine_evaluations_total{phase="error",predicate="created",purpose="judge"} 2
donewhen_engine_evaluations_total{phase="failed",predicate="created",purpose="judge"} 1
donewhen_engine_evaluations_total{phase="pending",predicate="created",purpose="judge"} 1
donewhen_engine_evaluations_total{phase="policy",predicate="created",purpose="judge"} 1
# HELP donewhen_engine_judge_failures_total Evaluations in which the predicate itself broke, by predicate and reason.
# TYPE donewhen_engine_judge_failures_total counter
donewhen_engine_judge_failures_total{predicate="created",reason="EvaluationError"} 1
donewhen_engine_judge_failures_total{predicate="created",reason="FuelExhausted"} 1
`, "donewhen_engine_evaluations_total", "donewhen_engine_judge_failures_total")
}

// TestK51_Cost: what is counted is shown by predicate; what isn't, isn't shown as 0.
func TestK51_Cost(t *testing.T) {
	m, registry := registered(t)
	for _, cost := range []uint64{0, 20, 5000, 0} {
		m.Evaluated(engine.Evaluation{Predicate: engine.PredicateID{Name: "loops"}, Cost: cost})
	}
	m.Evaluated(engine.Evaluation{Predicate: engine.PredicateID{Name: "compares"}})
	expect(t, registry, `
# HELP donewhen_engine_evaluation_cost What evaluations cost in CEL's units, by predicate; only of those that count it: expressions that loop, match or grow texts.
# TYPE donewhen_engine_evaluation_cost histogram
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="16"} 0
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="64"} 1
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="256"} 1
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="1024"} 1
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="4096"} 1
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="16384"} 2
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="65536"} 2
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="262144"} 2
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="1.048576e+06"} 2
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="4.194304e+06"} 2
donewhen_engine_evaluation_cost_bucket{predicate="loops",le="+Inf"} 2
donewhen_engine_evaluation_cost_sum{predicate="loops"} 5020
donewhen_engine_evaluation_cost_count{predicate="loops"} 2
`, "donewhen_engine_evaluation_cost")
}

func TestBlindness_IsAGaugeUntilItEnds(t *testing.T) {
	m, registry := registered(t)
	b := engine.Blindness{Resource: volumes, Namespace: "azure-disk-csi", Since: time.Now()}
	m.BlindnessBegan(b)
	b.Verb, b.Reason = "list", "forbidden"
	m.BlindnessBegan(b)
	const gauge = `
# HELP donewhen_engine_blind 1 while the objects of a resource can't be seen, by resource and namespace of the informer (empty for all).
# TYPE donewhen_engine_blind gauge
donewhen_engine_blind{namespace="azure-disk-csi",resource="azvolumes.disk.csi.azure.com"} %d
`
	expect(t, registry, fmt.Sprintf(gauge, 1)+`# HELP donewhen_engine_blindness_total How often a resource could not be seen any more, or for another reason, by what failed: list, watch, or sync where the first list does not come.
# TYPE donewhen_engine_blindness_total counter
donewhen_engine_blindness_total{namespace="azure-disk-csi",resource="azvolumes.disk.csi.azure.com",verb="list"} 1
donewhen_engine_blindness_total{namespace="azure-disk-csi",resource="azvolumes.disk.csi.azure.com",verb="sync"} 1
`, "donewhen_engine_blind", "donewhen_engine_blindness_total")
	m.BlindnessEnded(b)
	expect(t, registry, fmt.Sprintf(gauge, 0), "donewhen_engine_blind")
}

func TestTheRest(t *testing.T) {
	m, _ := registered(t)
	m.Merged(volumes)
	m.Lanes(3)
	m.ShadowDisagreed("CreateVolume", "create-volume-next")
	m.Ignored(volumes)
	m.VersionsWentBack(volumes)
	m.Swapped("sha256:old")
	m.Swapped("sha256:new")
	for name, want := range map[string]string{
		"merges_total":               `{resource="azvolumes.disk.csi.azure.com"} 1`,
		"lanes":                      ` 3`,
		"shadow_disagreements_total": `{binding="create-volume-next",operation="CreateVolume"} 1`,
		"ignored_deliveries_total":   `{resource="azvolumes.disk.csi.azure.com"} 1`,
		"versions_went_back_total":   `{resource="azvolumes.disk.csi.azure.com"} 1`,
		"sets_total":                 ` 2`,
		"set_info":                   `{digest="sha256:new"} 1`,
	} {
		name = "donewhen_engine_" + name
		text, err := testutil.CollectAndFormat(m, expfmt.TypeTextPlain, name)
		if err != nil || !strings.Contains(string(text), "\n"+name+want+"\n") {
			t.Errorf("%s: %v, %s, want %s", name, err, text, want)
		}
	}
}

func TestLabels_AreBounded(t *testing.T) {
	m, registry := registered(t)
	for n := range 2000 {
		m.Evaluated(engine.Evaluation{Predicate: engine.PredicateID{Name: fmt.Sprint("p", n)}})
	}
	n, err := testutil.GatherAndCount(registry, "donewhen_engine_evaluations_total")
	if err != nil || n != 501 {
		t.Errorf("%d series, %v; want 500 and one for the others", n, err)
	}
}

func BenchmarkEvaluated(b *testing.B) {
	m := enginemetrics.New()
	e := engine.Evaluation{Predicate: engine.PredicateID{Name: "created"}, Took: time.Microsecond}
	b.ReportAllocs()
	for b.Loop() {
		m.Evaluated(e)
	}
}
