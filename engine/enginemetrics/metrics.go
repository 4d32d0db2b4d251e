// Package enginemetrics shows what an engine does as Prometheus metrics.
//
//	metrics := enginemetrics.New()
//	registry.MustRegister(metrics)
//	eng := engine.New(set, engine.WithObserver(metrics))
//
// All names begin with donewhen_engine_. Labels are bounded: they hold names of
// operations, predicates, bindings and resources, never of objects, and what
// comes after the first few hundred of each is counted as "other".
package enginemetrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

// Metrics is an engine.Observer and a prometheus.Collector. It is safe for
// concurrent use. Use one for each engine.
type Metrics struct {
	engine.NopObserver
	operations, predicates, bindings, resources, namespaces, reasons bounded

	waiters       *prometheus.GaugeVec
	waits         *prometheus.HistogramVec
	evaluations   *prometheus.CounterVec
	evaluating    *prometheus.HistogramVec
	cost          *prometheus.HistogramVec
	judgeFailures *prometheus.CounterVec
	merges        *prometheus.CounterVec
	lanes         prometheus.Gauge
	disagreements *prometheus.CounterVec
	blind         *prometheus.GaugeVec
	blindness     *prometheus.CounterVec
	ignored       *prometheus.CounterVec
	wentBack      *prometheus.CounterVec
	reloads       prometheus.Counter
	set           *prometheus.GaugeVec
}

var (
	_ engine.Observer      = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
)

// New returns metrics that are at zero and not registered anywhere.
func New() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "donewhen_engine_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "donewhen_engine_" + name, Help: help}, labels)
	}
	return &Metrics{
		waiters: gauge("waiters", "Waiters that have not ended, by operation (empty for waits made by predicate name).", "operation"),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "donewhen_engine_wait_seconds", Help: "How long waiters were registered until they ended, by operation and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 22), // to 35 minutes
		}, []string{"operation", "outcome"}),
		evaluations: counter("evaluations_total", "Evaluations of a predicate, by purpose (judge, describe, shadow) and by what decided: aborted, done, failed, pending, policy, or error where the predicate itself broke.", "predicate", "purpose", "phase"),
		evaluating: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "donewhen_engine_evaluation_seconds", Help: "How long evaluations took, by predicate.",
			Buckets: prometheus.ExponentialBuckets(0.0000005, 4, 14), // to 34 s
		}, []string{"predicate"}),
		cost: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "donewhen_engine_evaluation_cost", Help: "What evaluations cost in CEL's units, by predicate; only of those that count it: expressions that loop, match or grow texts.",
			Buckets: prometheus.ExponentialBuckets(16, 4, 10), // to 4 million
		}, []string{"predicate"}),
		judgeFailures: counter("judge_failures_total", "Evaluations in which the predicate itself broke, by predicate and reason.", "predicate", "reason"),
		merges:        counter("merges_total", "Updates that replaced one of the same object that had not been judged yet, by resource.", "resource"),
		lanes:         prometheus.NewGauge(prometheus.GaugeOpts{Name: "donewhen_engine_lanes", Help: "Slow predicates that are judged in a lane of their own."}),
		disagreements: counter("shadow_disagreements_total", "Verdicts of shadow bindings that were others than the enforced one's, by operation and binding.", "operation", "binding"),
		blind:         gauge("blind", "1 while the objects of a resource can't be seen, by resource and namespace of the informer (empty for all).", "resource", "namespace"),
		blindness:     counter("blindness_total", "How often a resource could not be seen any more, or for another reason, by what failed: list, watch, or sync where the first list does not come.", "resource", "namespace", "verb"),
		ignored:       counter("ignored_deliveries_total", "Deliveries of informers that were no API objects, by resource.", "resource"),
		wentBack:      counter("versions_went_back_total", "How often the server's resource versions went back, by resource.", "resource"),
		reloads:       prometheus.NewCounter(prometheus.CounterOpts{Name: "donewhen_engine_sets_total", Help: "Sets taken into use, the first one included."}),
		set:           gauge("set_info", "1 for the digest of the set in use.", "digest"),
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.waiters, m.waits, m.evaluations, m.evaluating, m.cost, m.judgeFailures, m.merges, m.lanes, m.disagreements,
		m.blind, m.blindness, m.ignored, m.wentBack, m.reloads, m.set,
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

// WaiterRegistered implements engine.Observer.
func (m *Metrics) WaiterRegistered(operation string, _ engine.PredicateID) {
	m.waiters.WithLabelValues(m.operations.name(operation)).Inc()
}

// WaiterEnded implements engine.Observer.
func (m *Metrics) WaiterEnded(e engine.WaitEnd) {
	operation := m.operations.name(e.Operation)
	m.waiters.WithLabelValues(operation).Dec()
	m.waits.WithLabelValues(operation, string(e.Outcome)).Observe(e.Took.Seconds())
}

// Evaluated implements engine.Observer.
func (m *Metrics) Evaluated(e engine.Evaluation) {
	predicate := m.predicates.name(e.Predicate.Name)
	m.evaluations.WithLabelValues(predicate, e.Purpose.String(), phase(e.Verdict)).Inc()
	m.evaluating.WithLabelValues(predicate).Observe(e.Took.Seconds())
	if e.Cost > 0 {
		m.cost.WithLabelValues(predicate).Observe(float64(e.Cost))
	}
	if e.Verdict.Cause == engine.CauseJudge {
		m.judgeFailures.WithLabelValues(predicate, m.reasons.name(e.Verdict.Reason)).Inc()
	}
}

// phase says which part of a predicate has decided.
func phase(v engine.Verdict) string {
	if v.Cause == engine.CauseJudge {
		return "error"
	}
	switch rule, _, _ := strings.Cut(v.Rule, "["); rule {
	case "aborted", "done", "failed", "pending":
		return rule
	}
	if v.Decision == engine.Pending {
		return "pending"
	}
	return "policy"
}

// Merged implements engine.Observer.
func (m *Metrics) Merged(resource schema.GroupVersionResource) {
	m.merges.WithLabelValues(m.resource(resource)).Inc()
}

// Lanes implements engine.Observer.
func (m *Metrics) Lanes(open int) { m.lanes.Set(float64(open)) }

// ShadowDisagreed implements engine.Observer.
func (m *Metrics) ShadowDisagreed(operation, binding string) {
	m.disagreements.WithLabelValues(m.operations.name(operation), m.bindings.name(binding)).Inc()
}

// BlindnessBegan implements engine.Observer.
func (m *Metrics) BlindnessBegan(b engine.Blindness) {
	resource, namespace, verb := m.resource(b.Resource), m.namespaces.name(b.Namespace), b.Verb
	if verb == "" {
		verb = "sync"
	}
	m.blind.WithLabelValues(resource, namespace).Set(1)
	m.blindness.WithLabelValues(resource, namespace, verb).Inc()
}

// BlindnessEnded implements engine.Observer.
func (m *Metrics) BlindnessEnded(b engine.Blindness) {
	m.blind.WithLabelValues(m.resource(b.Resource), m.namespaces.name(b.Namespace)).Set(0)
}

// Ignored implements engine.Observer.
func (m *Metrics) Ignored(resource schema.GroupVersionResource) {
	m.ignored.WithLabelValues(m.resource(resource)).Inc()
}

// VersionsWentBack implements engine.Observer.
func (m *Metrics) VersionsWentBack(resource schema.GroupVersionResource) {
	m.wentBack.WithLabelValues(m.resource(resource)).Inc()
}

// Swapped implements engine.Observer.
func (m *Metrics) Swapped(digest string) {
	m.reloads.Inc()
	m.set.Reset()
	m.set.WithLabelValues(digest).Set(1)
}

func (m *Metrics) resource(r schema.GroupVersionResource) string {
	return m.resources.name(r.GroupResource().String())
}
