//go:build integration

package provisioner_test

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/informers"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// patience bounds everything that a test waits for.
const patience = 60 * time.Second

const nodeID = "node-1"

// harness is a provisioner with an engine, informers and clients of its own on a
// real API server, and the other side's client, which the test scripts.
type harness struct {
	*testing.T
	namespace string
	*provisioner.Provisioner
	requests *recorder
	store    *predicates.Store
	engine   *engine.Engine
	disks    *otherSide
	volumes  cache.SharedIndexInformer
	attached cache.SharedIndexInformer
	tombs    atomic.Int32 // AzVolumes whose deletion was found out by a relist
}

// newHarness starts the first process of a namespace of its own.
func newHarness(t *testing.T) *harness {
	t.Helper()
	cluster := clustertest.Shared(t)
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	cluster.InstallCRDs(t, manifests...)
	namespace := cluster.Namespace(t)
	other, err := versioned.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{T: t, namespace: namespace, disks: &otherSide{t: t, namespace: namespace, client: other.AzureDiskV1beta2()}}
	h.disks.addNode(nodeID)
	h.start(cluster)
	return h
}

// another starts another process in the same namespace.
func (h *harness) another() *harness {
	h.Helper()
	process := &harness{T: h.T, namespace: h.namespace, disks: h.disks}
	process.start(clustertest.Shared(h.T))
	return process
}

func (h *harness) start(cluster interface{ Config() *rest.Config }) {
	h.Helper()
	config := cluster.Config()
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		h.requests = newRecorder(next)
		return h.requests
	})
	client, err := versioned.NewForConfig(config)
	if err != nil {
		h.Fatal(err)
	}
	name, data := provisioner.Defaults()
	h.store, err = predicates.NewStore(provisioner.Operations(),
		predicates.Source{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}},
		predicates.WithObserver(func(r predicates.Report) { h.engine.Swap(r.Set) }))
	if err != nil {
		h.Fatal(err)
	}
	logger := ktesting.NewLogger(h.T, ktesting.NewConfig(ktesting.Verbosity(0)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	h.engine = engine.New(h.store.Set(), engine.WithLogger(logger))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(h.namespace))
	group := factory.AzureDisk().V1beta2()
	h.volumes, h.attached = group.AzVolumes().Informer(), group.AzVolumeAttachments().Informer()
	for gvr, informer := range map[string]cache.SharedIndexInformer{"volumes": h.volumes, "attachments": h.attached} {
		resource := v1beta2.AzVolumes()
		if gvr == "attachments" {
			resource = v1beta2.AzVolumeAttachments()
		}
		if err := h.engine.Watch(resource, informer, engine.InNamespace(h.namespace)); err != nil {
			h.Fatal(err)
		}
	}
	if _, err := h.volumes.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if _, ok := object.(cache.DeletedFinalStateUnknown); ok {
			h.tombs.Add(1)
		}
	}}); err != nil {
		h.Fatal(err)
	}
	h.Provisioner, err = provisioner.New(provisioner.Config{
		Client: client, Namespace: h.namespace, Engine: h.engine, Clock: clock.RealClock{}, Logger: logger,
		Volumes: group.AzVolumes().Lister(), Attachments: group.AzVolumeAttachments().Lister(), Nodes: group.AzDriverNodes().Lister(),
	})
	if err != nil {
		h.Fatal(err)
	}
	if err := h.engine.Start(ctx); err != nil {
		h.Fatal(err)
	}
	factory.StartWithContext(ctx)
	h.Cleanup(func() {
		h.Close()
		cancel()
		factory.Shutdown()
	})
	if err := h.engine.WaitForSync(ctx); err != nil {
		h.Fatal(err)
	}
	if !cache.WaitForCacheSync(ctx.Done(), group.AzDriverNodes().Informer().HasSynced) {
		h.Fatal("the AzDriverNodes don't sync")
	}
}

// configure overrides predicates and bindings, as a ConfigMap does.
func (h *harness) configure(documents string) {
	h.Helper()
	if err := h.store.Update(predicates.Source{Name: "configmap", Files: []predicates.File{{Name: "config.yaml", Data: []byte(documents)}}}); err != nil {
		h.Fatal(err)
	}
}

// context is one call's.
func (h *harness) context() context.Context {
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	h.Cleanup(cancel)
	return ctx
}

// answer is what a call in the background returned.
type answer[T any] struct {
	value T
	err   error
}

// start runs a call in the background.
func start[T any](call func() (T, error)) <-chan answer[T] {
	answers := make(chan answer[T], 1)
	go func() {
		value, err := call()
		answers <- answer[T]{value, err}
	}()
	return answers
}

// must returns what the call in the background returned, without an error.
func must[T any](t *testing.T, answers <-chan answer[T]) T {
	t.Helper()
	a := <-answers
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.value
}

// wantCode fails the test unless the error has the code.
func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := provisioner.Code(err); got != want {
		t.Fatalf("code %s (%v), want %s", got, err, want)
	}
}

// wantRequests fails the test unless exactly these requests were made since the
// last look, beside the informers' own.
func (h *harness) wantRequests(want ...string) {
	h.Helper()
	if got := h.requests.made(); !slices.Equal(got, want) {
		h.Errorf("requests %q, want %q", got, want)
	}
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(patience)
	for !condition() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("still not after %s: %s", patience, what)
		}
	}
}

// cached waits until the volume's state is in the process's cache.
func (h *harness) cached(informer cache.SharedIndexInformer, name, version string) {
	h.Helper()
	eventually(h.T, "the cache has "+name+" at "+version, func() bool {
		object, exists, err := informer.GetStore().GetByKey(h.namespace + "/" + name)
		if err != nil || !exists {
			return false
		}
		return object.(interface{ GetResourceVersion() string }).GetResourceVersion() == version
	})
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
