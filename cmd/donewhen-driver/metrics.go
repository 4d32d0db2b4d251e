package main

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// metrics has everything that the driver counts, in a registry of its own.
type metrics struct {
	registry       *prometheus.Registry
	requests       *prometheus.CounterVec
	conflicts      *prometheus.CounterVec
	calls          *prometheus.HistogramVec
	engineShare    *prometheus.HistogramVec
	waits          *prometheus.CounterVec
	pending        *prometheus.GaugeVec
	reloads        prometheus.Counter
	reloadFailures prometheus.Counter
	reloadGood     prometheus.Gauge
	gate           prometheus.Gauge
	setInfo        *prometheus.GaugeVec
	unread         *prometheus.GaugeVec
	lastGood       prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "donewhen_api_requests_total",
			Help: "Requests to the API server, by verb and resource.",
		}, []string{"verb", "resource"}),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "donewhen_api_conflicts_total",
			Help: "Requests that the API server answered with 409, by verb and resource; each is followed by one GET.",
		}, []string{"verb", "resource"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "donewhen_csi_call_seconds",
			Help:    "CSI calls by method and gRPC code.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 20), // to 8.7 minutes
		}, []string{"method", "code"}),
		engineShare: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "donewhen_engine_share_seconds",
			Help:    "Time between the delivery of the deciding observation and the end of the wait, by operation.",
			Buckets: prometheus.ExponentialBuckets(0.000005, 2, 20), // to 2.6 s
		}, []string{"operation"}),
		waits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "donewhen_waits_total",
			Help: "Waits that have ended, by operation, outcome (Done, Failed, Judge, or Ended without a verdict), and the name and version of the predicate that ended them (empty without a verdict).",
		}, []string{"operation", "outcome", "predicate", "version"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "donewhen_waiters",
			Help: "Waits that run, by operation.",
		}, []string{"operation"}),
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "donewhen_config_reloads_total",
			Help: "Sets of predicates and bindings taken over since the start.",
		}),
		reloadFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "donewhen_config_reload_failures_total",
			Help: "Sets refused since the start; the last good one stays.",
		}),
		reloadGood: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "donewhen_config_last_reload_successful",
			Help: "1 if the predicates could be loaded when they last changed, 0 if the last good set stays in force.",
		}),
		gate: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "donewhen_config_gate",
			Help: "1 if predicates must keep the contracts of their operations to come into force, 0 with --gate=off.",
		}),
		setInfo: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "donewhen_set_info",
			Help: "1 for the digest of the set of predicates and bindings in force.",
		}, []string{"digest"}),
		unread: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "donewhen_config_source_unread",
			Help: "1 while a source of predicates can't be read; what it held before serves.",
		}, []string{"source"}),
		lastGood: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "donewhen_config_last_good_kept",
			Help: "1 if what is in force is kept for the next start, 0 without --last-good or if that failed.",
		}),
	}
	m.registry.MustRegister(
		m.requests, m.conflicts, m.calls, m.engineShare, m.waits, m.pending, m.reloads, m.reloadFailures, m.reloadGood, m.gate, m.setInfo, m.unread, m.lastGood,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// countAPI wraps the transport to the API server.
func (m *metrics) countAPI(next http.RoundTripper) http.RoundTripper {
	return countRequests(m.requests)(countConflicts(m.conflicts)(next))
}

// callEnded is a csi.CallObserver.
func (m *metrics) callEnded(method string, code codes.Code, took time.Duration) {
	m.calls.WithLabelValues(method, code.String()).Observe(took.Seconds())
}

// WaitStarted implements provisioner.Observer.
func (m *metrics) WaitStarted(operation string) { m.pending.WithLabelValues(operation).Inc() }

// WaitEnded implements provisioner.Observer.
func (m *metrics) WaitEnded(operation string, result *engine.Result, _ error) {
	m.pending.WithLabelValues(operation).Dec()
	outcome, predicate := "Ended", engine.PredicateID{}
	if result != nil {
		outcome, predicate = result.Verdict.Decision.String(), result.Verdict.Predicate
		if result.Verdict.Cause == engine.CauseJudge {
			outcome = "Judge"
		}
		if !result.Delivered.IsZero() {
			m.engineShare.WithLabelValues(operation).Observe(max(0, result.Ended.Sub(result.Delivered)).Seconds())
		}
	}
	m.waits.WithLabelValues(operation, outcome, predicate.Name, predicate.Label).Inc()
}

// setInForce shows the digest of the set that new waits use.
func (m *metrics) setInForce(digest string) {
	m.setInfo.Reset()
	m.setInfo.WithLabelValues(digest).Set(1)
}
