//go:build integration

package controlplane_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
)

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.controlplane.donewhen.test
  labels: {ours: "1"}
spec:
  group: controlplane.donewhen.test
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
`

var (
	crdResource    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgetResource = schema.GroupVersionResource{Group: "controlplane.donewhen.test", Version: "v1", Resource: "widgets"}
)

func TestInstallCRDsLeavesNothingToWaitFor(t *testing.T) {
	cluster := clustertest.Shared(t)
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespace := cluster.Namespace(t)
	begin := time.Now()
	cluster.InstallCRDs(t, []byte(widgetCRD))
	t.Logf("installed in %v", time.Since(begin))

	// This is what the server goes by when it decides whether it holds up a create.
	if since := establishedFor(t, client); since < 2*time.Second {
		t.Errorf("established for only %v", since)
	}
	begin = time.Now()
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlplane.donewhen.test/v1", "kind": "Widget", "metadata": map[string]any{"generateName": "w-"},
	}}
	if _, err := client.Resource(widgetResource).Namespace(namespace).Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took >= 2*time.Second {
		t.Errorf("the first create took %v", took)
	}

	// Clients that read discovery once find the resource.
	disco := clientFor(t, cluster.Config()).Discovery()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	if _, err := mapper.RESTMapping(schema.GroupKind{Group: widgetResource.Group, Kind: "Widget"}, "v1"); err != nil {
		t.Error(err)
	}
	paths, err := disco.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := paths["apis/controlplane.donewhen.test/v1"]; !ok {
		t.Error("OpenAPI v3 doesn't list the group version")
	}
}

func establishedFor(t *testing.T, client dynamic.Interface) time.Duration {
	t.Helper()
	obj, err := client.Resource(crdResource).Get(t.Context(), "widgets.controlplane.donewhen.test", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Status struct{ Conditions []metav1.Condition }
	}
	data, err := obj.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, &crd)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range crd.Status.Conditions {
		if c.Type == "Established" && c.Status == metav1.ConditionTrue {
			return time.Since(c.LastTransitionTime.Time)
		}
	}
	t.Fatal("not established")
	return 0
}

func TestInstallCRDsUpdates(t *testing.T) {
	cluster := clustertest.Shared(t)
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	cluster.InstallCRDs(t, []byte(widgetCRD))
	const name = "widgets.controlplane.donewhen.test"
	foreign := []byte(`{"metadata":{"annotations":{"theirs":"2"},"labels":{"theirs":"2"}}}`)
	if _, err := client.Resource(crdResource).Patch(t.Context(), name, types.MergePatchType, foreign, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	cluster.InstallCRDs(t, []byte(strings.Replace(widgetCRD, "kind: Widget}", "kind: Widget, shortNames: [wdg]}", 1)))
	t.Logf("updated in %v", time.Since(begin))
	got, err := client.Resource(crdResource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	short, _, _ := unstructured.NestedStringSlice(got.Object, "spec", "names", "shortNames")
	if len(short) != 1 || short[0] != "wdg" {
		t.Errorf("short names after the update: %v", short)
	}
	if got.GetLabels()["ours"] != "1" || got.GetLabels()["theirs"] != "2" || got.GetAnnotations()["theirs"] != "2" {
		t.Errorf("labels %v, annotations %v, want ours and theirs", got.GetLabels(), got.GetAnnotations())
	}
}

func TestInstallCRDsFailsClearly(t *testing.T) {
	cluster := clustertest.Shared(t)
	bad := strings.Replace(widgetCRD, "plural: widgets", "plural: gizmos", 1)
	if err := controlplane.InstallCRDs(t.Context(), cluster.Config(), []byte(bad)); err == nil || !strings.Contains(err.Error(), "install CRD widgets.controlplane.donewhen.test") {
		t.Errorf("invalid CRD: got error %v", err)
	}
	cluster.InstallCRDs(t, []byte(widgetCRD))
	// The kind is taken by the CRD above.
	taken := strings.NewReplacer("name: widgets.", "name: others.", "plural: widgets", "plural: others", "singular: widget", "singular: other").Replace(widgetCRD)
	err := controlplane.InstallCRDs(t.Context(), cluster.Config(), []byte(taken))
	if err == nil || !strings.Contains(err.Error(), "the server refuses its names") {
		t.Errorf("CRD whose kind is taken: got error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := controlplane.InstallCRDs(ctx, cluster.Config(), []byte(widgetCRD)); err == nil {
		t.Error("installed with a context that had ended")
	}
}
