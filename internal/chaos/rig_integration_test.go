//go:build integration

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/faultproxy"
)

// rig is an engine whose informers reach the server through a proxy, and a writer that reaches it directly, in a
// namespace of their own.
type rig struct {
	*testing.T
	server    *controlplane.Server
	proxy     *faultproxy.Proxy
	engine    *engine.Engine
	kinds     []*kind
	requests  requests
	late      lateness
	namespace string
}

// newRig starts everything and returns when the informers have synced.
func newRig(t *testing.T, server *controlplane.Server) *rig {
	t.Helper()
	r := &rig{T: t, server: server}
	must(t, r.open(func(*rest.Config) {}))
	return r
}

// newWiredRig is newRig with an engine that is told how its informers' requests fare.
func newWiredRig(t *testing.T, server *controlplane.Server) *rig {
	t.Helper()
	r := &rig{T: t, server: server}
	must(t, r.open(func(c *rest.Config) { c.Wrap(r.engine.WrapTransport) }))
	return r
}

func (r *rig) open(configure func(*rest.Config)) error {
	var err error
	if r.proxy, err = faultproxy.Listen(strings.TrimPrefix(r.server.URL(), "https://")); err != nil {
		return err
	}
	r.engine = engine.New(set{}, engine.WithLogger(klog.Logger{}))
	direct := r.server.Config()
	through := rest.CopyConfig(direct)
	through.Host = "https://" + r.proxy.Addr()
	through.Wrap(r.requests.wrap)
	configure(through)
	// Each fails only if the configuration is wrong.
	writer, err1 := dynamic.NewForConfig(direct)
	typedReader, err2 := kubernetes.NewForConfig(through)
	dynamicReader, err3 := dynamic.NewForConfig(through)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	namespace, err := newNamespace(r.Context(), writer)
	r.namespace = namespace
	if err != nil {
		return err
	}
	r.kinds = []*kind{
		{gvr: configMaps, informer: informers.NewSharedInformerFactoryWithOptions(typedReader, 0, informers.WithNamespace(namespace)).Core().V1().ConfigMaps().Informer()},
		{gvr: azVolumes, informer: dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicReader, 0, namespace, nil).ForResource(azVolumes).Informer()},
	}
	for _, k := range r.kinds {
		k.rig, k.seen, k.writer = r, newRecorder(), writer.Resource(k.gvr).Namespace(namespace)
		if _, err := k.informer.AddEventHandler(k.seen); err != nil {
			return err
		}
		if err := r.engine.Watch(k.gvr, k.informer, engine.InNamespace(namespace)); err != nil {
			return err
		}
	}
	return r.run()
}

// run starts engine and informers; the end of the test stops them.
func (r *rig) run() error {
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	var running sync.WaitGroup
	r.Cleanup(func() {
		stop()
		r.proxy.Close() // ends requests that nobody answers
		running.Wait()
	})
	if err := r.engine.Start(ctx); err != nil {
		return err
	}
	for _, k := range r.kinds {
		running.Go(func() { k.informer.RunWithContext(ctx) })
		running.Go(func() { k.seen.watchStore(ctx, k.informer.GetStore()) })
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.engine.WaitForSync(bounded)
}

func newNamespace(ctx context.Context, client dynamic.Interface) (string, error) {
	created, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "chaos-"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("creating a namespace: %w", err)
	}
	return created.GetName(), nil
}

// each runs f for both kinds, one after the other.
func (r *rig) each(f func(k *kind)) {
	for _, k := range r.kinds {
		f(k)
	}
}

// restart has the server stopped, or killed if that was done before, and started again, and returns when it serves both
// kinds to the writer.
func (r *rig) restart() {
	r.Helper()
	begin := time.Now()
	must(r.T, r.server.Restart(r.Context()))
	r.each(func(k *kind) {
		r.eventually("the server serves "+k.gvr.Resource, func() error {
			_, err := k.writer.List(r.Context(), metav1.ListOptions{Limit: 1})
			return err
		})
	})
	r.Logf("server restarted in %v", time.Since(begin).Round(time.Millisecond))
}

// settled returns when both informers have reached the versions of the writes, and the engine has nothing left to do.
func (r *rig) settled(until map[*kind]written) {
	r.Helper()
	r.each(func(k *kind) {
		r.eventually("the informer of "+k.gvr.Resource+" catches up", func() error {
			if _, ok := k.seen.reached(until[k].GetResourceVersion()); !ok {
				return errNotYet
			}
			return nil
		})
	})
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	must(r.T, r.engine.Settle(ctx))
}

// onlyListsAndWatches checks that no wait has caused a request.
func (r *rig) onlyListsAndWatches() {
	r.Helper()
	for what := range r.requests.all() {
		verb := what[strings.LastIndex(what, " ")+1:]
		if verb != "list" && verb != "watch" && verb != "410" {
			r.Errorf("a request that is no informer's: %s", what)
		}
	}
	r.Logf("requests through the proxy: %v", r.requests.all())
}

var errNotYet = errors.New("not yet")

// eventually tries until check returns nil; its last error fails the test.
func (r *rig) eventually(what string, check func() error) {
	r.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			r.Fatalf("%s: %v", what, err)
		case <-ticker.C:
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
