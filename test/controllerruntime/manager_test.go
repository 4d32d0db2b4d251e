package controllerruntime

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	clustertest.Main(m)
}

// rig is a manager with an engine on its cache, on a real API server.
type rig struct {
	*testing.T
	manager   manager.Manager
	engine    *engine.Engine
	others    kubernetes.Interface // somebody else who writes
	namespace string
	watches   atomic.Int64 // of ConfigMaps, by the manager
}

func (r *rig) RoundTrip(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/configmaps") && request.URL.Query().Get("watch") != "" {
		r.watches.Add(1)
	}
	return next.RoundTrip(request)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newRig(t *testing.T, configure func(*manager.Options)) *rig {
	t.Helper()
	cluster := clustertest.Shared(t)
	r := &rig{T: t, namespace: cluster.Namespace(t), others: kubernetes.NewForConfigOrDie(cluster.Config())}
	config := cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) { return r.RoundTrip(request, next) })
	})
	set, err := LoadSet()
	must(t, err)
	r.engine = engine.New(set)
	config.Wrap(r.engine.WrapTransport)
	r.manager = newManager(t, config, configure)
	return r
}

func newManager(t *testing.T, config *rest.Config, configure func(*manager.Options)) manager.Manager {
	t.Helper()
	options := manager.Options{
		Logger:  logr.Discard(),
		Metrics: server.Options{BindAddress: "0"},
	}
	configure(&options)
	m, err := manager.New(config, options)
	must(t, err)
	return m
}

// start starts engine and manager until the end of the test.
func (r *rig) start() {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	must(r.T, Watch(ctx, r.engine, r.manager, &corev1.ConfigMap{}))
	must(r.T, r.engine.Start(ctx))
	go func() { ended <- r.manager.Start(ctx) }()
	r.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.Errorf("the manager: %v", err)
		}
	})
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	must(r.T, r.engine.WaitForSync(bounded))
}

func (r *rig) configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, Data: data}
}

// setState has somebody else write the state of a ConfigMap.
func (r *rig) setState(ctx context.Context, name, state string) {
	r.Helper()
	one, err := r.others.CoreV1().ConfigMaps(r.namespace).Get(ctx, name, metav1.GetOptions{})
	must(r.T, err)
	one.Data = map[string]string{"state": state}
	_, err = r.others.CoreV1().ConfigMaps(r.namespace).Update(ctx, one, metav1.UpdateOptions{})
	must(r.T, err)
}

// Do with the manager's own client: the cache's events end the wait, and the cache
// has one watch, whoever waits.
func TestWaitsEndByTheManagersCache(t *testing.T) {
	r := newRig(t, func(*manager.Options) {})
	r.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	do := func(name string, then func()) (*engine.Result, error) {
		return r.engine.Do(ctx, engine.Request{
			Ref:       engine.Reference{Resource: configMaps, Namespace: r.namespace, Name: name},
			Operation: "Copy",
		}, func(ctx context.Context) (metav1.Object, error) {
			made := r.configMap(name, nil)
			if err := r.manager.GetClient().Create(ctx, made); err != nil {
				return nil, err
			}
			then()
			return made, nil
		})
	}
	result, err := do("good", func() { r.setState(ctx, "good", "ready") })
	must(t, err)
	if got := result.Object().(*corev1.ConfigMap); got.Data["state"] != "ready" {
		t.Errorf("the wait ended on %v", got.Data)
	}
	_, err = do("bad", func() { r.setState(ctx, "bad", "broken") })
	var failed *engine.WaitError
	if !errors.As(err, &failed) || failed.Code() != codes.FailedPrecondition || !strings.Contains(err.Error(), "it was given up") {
		t.Errorf("the wait on a broken one: %v", err)
	}
	_, err = do("deleted", func() {
		must(t, r.others.CoreV1().ConfigMaps(r.namespace).Delete(ctx, "deleted", metav1.DeleteOptions{}))
	})
	if !errors.As(err, &failed) || failed.Verdict.Reason != engine.ReasonObjectDeleted {
		t.Errorf("the wait on a deleted one: %v", err)
	}
	if n := r.watches.Load(); n != 1 {
		t.Errorf("the manager has opened %d watches of ConfigMaps, want 1", n)
	}
	if b := r.engine.Blindness(); len(b) > 0 {
		t.Errorf("the engine says it is blind: %v", b)
	}
}

// A cache of several namespaces shows one informer, which has no store to read.
func TestACacheByNamespaceIsRefusedInWords(t *testing.T) {
	r := newRig(t, func(o *manager.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{"a": {}, "b": {}}
	})
	err := Watch(t.Context(), r.engine, r.manager, &corev1.ConfigMap{})
	if err == nil || !strings.Contains(err.Error(), "has no store to read") {
		t.Errorf("Watch: %v", err)
	}
}

// The reconciler's waits end without a blocked worker: there is one, and both
// originals are under way at once.
func TestCopier_WaitsWithoutBlockingAWorker(t *testing.T) {
	r := newRig(t, func(*manager.Options) {})
	must(t, AddCopier(r.manager, r.engine))
	r.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, name := range []string{"first", "second"} {
		original := r.configMap(name, map[string]string{"a": "b"})
		original.Labels = map[string]string{copyLabel: "yes"}
		_, err := r.others.CoreV1().ConfigMaps(r.namespace).Create(ctx, original, metav1.CreateOptions{})
		must(t, err)
	}
	// Both copies are there while neither wait has ended; the second ends first.
	for _, name := range []string{"first-copy", "second-copy"} {
		r.eventually(ctx, name, func(*corev1.ConfigMap) bool { return true })
	}
	r.setState(ctx, "second-copy", "ready")
	r.eventually(ctx, "second", func(c *corev1.ConfigMap) bool { return c.Annotations[outcome] == "Done" })
	r.setState(ctx, "first-copy", "broken")
	r.eventually(ctx, "first", func(c *corev1.ConfigMap) bool { return strings.Contains(c.Annotations[outcome], "it was given up") })
	for w := range r.engine.Waiters() {
		t.Errorf("a wait goes on: %s", w.Ref)
	}
}

// eventually waits, with the server's own answers, until a ConfigMap is as wanted.
func (r *rig) eventually(ctx context.Context, name string, ok func(*corev1.ConfigMap) bool) {
	r.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var last *corev1.ConfigMap
	for {
		one, err := r.others.CoreV1().ConfigMaps(r.namespace).Get(ctx, name, metav1.GetOptions{})
		if last = one; err == nil && ok(one) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			r.Fatalf("ConfigMap %s: last seen %v, error %v", name, last, client.IgnoreNotFound(err))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
