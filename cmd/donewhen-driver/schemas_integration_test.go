//go:build integration

package main

import (
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/predicates"
)

// With --schemas-from-cluster, kinds that the driver itself knows nothing of are
// checked too; the driver's own predicates fit what the server serves.
func TestSchemasFromCluster(t *testing.T) {
	core, err := kubernetes.NewForConfig(clustertest.Shared(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	document := predicates.Source{Name: "test", Files: []predicates.File{{Name: "p.yaml", Data: []byte(`apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: v1, kind: Pod}
  done: object.status.phas == 'Running'
`)}}}
	for _, on := range []bool{true, false} {
		c, err := newConfig(t.Context(), core, options{gate: gateOn, schemasFromCluster: on}, newMetrics(), klog.Background())
		if err != nil {
			t.Fatal(err)
		}
		c.swap = func(engine.Set) {}
		err = c.store.Update(document)
		if got := err != nil && strings.Contains(err.Error(), "object.status has no field 'phas'; did you mean 'phase'?"); got != on {
			t.Errorf("--schemas-from-cluster=%v: error %v", on, err)
		}
	}
}
