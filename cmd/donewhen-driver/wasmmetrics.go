package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

var (
	wasmParked = prometheus.NewDesc("donewhen_wasm_parked",
		"1 while a predicate's module isn't asked, because it failed too often in a row, 0 for the other modules in force, by predicate.", []string{"predicate"}, nil)
	wasmMemory = prometheus.NewDesc("donewhen_wasm_memory_bytes", "Linear memory of all WebAssembly instances.", nil, nil)
)

// wasmMetrics shows the modules of the set in force. It is a prometheus.Collector.
type wasmMetrics struct {
	runtime *wasm.Runtime
	store   *predicates.Store
}

// Describe implements prometheus.Collector.
func (m *wasmMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- wasmParked
	ch <- wasmMemory
}

// Collect implements prometheus.Collector.
func (m *wasmMetrics) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(wasmMemory, prometheus.GaugeValue, float64(m.runtime.Memory()))
	for _, p := range m.store.Set().Predicates() {
		if _, parked, module := p.Parked(); module {
			value := 0.0
			if parked {
				value = 1
			}
			ch <- prometheus.MustNewConstMetric(wasmParked, prometheus.GaugeValue, value, p.ID().Name)
		}
	}
}
