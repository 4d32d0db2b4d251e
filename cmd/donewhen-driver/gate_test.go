package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// A predicate that lies about a disk is refused, unless the operator has said
// that it may; then that is in the log and in the metrics.
func TestGate(t *testing.T) {
	const lie = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: volume-created}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  done: "true"
`
	for _, row := range []struct {
		gate    string
		metric  float64
		inForce bool
		log     string
	}{
		{gateOn, 1, false, "the contract of CreateVolume forbids it"},
		{gateOff, 0, true, "THE GATE IS OFF"},
	} {
		var log strings.Builder
		m := newMetrics()
		c, err := newConfig(t.Context(), nil, options{gate: row.gate}, m, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		if err != nil {
			t.Fatal(err)
		}
		c.swap = func(engine.Set) {}
		err = c.store.Update(predicates.Source{Name: "config", Files: []predicates.File{{Name: "p.yaml", Data: []byte(lie)}}})
		if (err == nil) != row.inForce || testutil.ToFloat64(m.gate) != row.metric || !strings.Contains(log.String(), row.log) {
			t.Errorf("--gate=%s: error %v, metric %v, log %q", row.gate, err, testutil.ToFloat64(m.gate), log.String())
		}
	}
}
