package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// emptyCluster serves lists and watches of no pods at an address that stays.
type emptyCluster struct {
	address string
	server  *http.Server
	answer  atomic.Int64 // a status to answer everything with; 0: well
	asked   atomic.Int64
}

func (c *emptyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked.Add(1)
	w.Header().Set("Content-Type", "application/json")
	if status := c.answer.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	if r.URL.Query().Get("watch") == "" {
		_, _ = fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[]}`)
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		_, _ = fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (c *emptyCluster) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", c.address)
	must(t, err)
	c.address = listener.Addr().String()
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(listener) }(c.server)
}

// wired returns an engine on a real informer of the cluster, and how often
// client-go has told of a failure.
func wired(t *testing.T, c *emptyCluster) (*engine.Engine, *recorder, *atomic.Int64) {
	t.Helper()
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	r, told := &recorder{}, new(atomic.Int64)
	e := engine.New(newSet(), engine.WithLogger(klog.Logger{}), engine.WithObserver(r))
	config := &rest.Config{Host: "http://" + c.address, QPS: -1}
	config.Wrap(e.WrapTransport)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	factory := informers.NewSharedInformerFactory(client, 0)
	must(t, e.Watch(pods, factory.Core().V1().Pods().Informer(), engine.WithWatchErrorHandler(func(context.Context, *cache.Reflector, error) { told.Add(1) })))
	must(t, e.Start(ctx))
	factory.StartWithContext(ctx)
	t.Cleanup(func() { stop(); factory.Shutdown() })
	must(t, e.WaitForSync(ctx))
	return e, r, told
}

func TestG15_ARefusedConnectionIsSaidThoughClientGoIsSilent(t *testing.T) {
	c := &emptyCluster{address: "127.0.0.1:0"}
	c.start(t)
	defer func() { _ = c.server.Close() }()
	e, r, told := wired(t, c)
	if b := e.Blindness(); len(b) != 0 {
		t.Fatalf("Blindness: %v", b)
	}
	must(t, c.server.Close())
	eventually(t, "blindness", func() bool {
		b := e.Blindness()
		return len(b) == 1 && strings.Contains(b[0].Reason, "connection refused")
	})
	c.start(t)
	eventually(t, "sight", func() bool { return len(e.Blindness()) == 0 })
	if r.count("blind: cannot see objects of pods: ") == 0 || r.count("sees: pods") == 0 {
		t.Errorf("the observer was told %q", r.told)
	}
	t.Logf("client-go has told of %d failures", told.Load())
}

func TestG15_AServerThatIsTooBusyIsSaid(t *testing.T) {
	c := &emptyCluster{address: "127.0.0.1:0"}
	c.start(t)
	defer func() { _ = c.server.Close() }()
	e, _, _ := wired(t, c)
	c.answer.Store(http.StatusTooManyRequests)
	must(t, c.server.Close()) // cuts the watch
	c.start(t)
	eventually(t, "blindness", func() bool {
		b := e.Blindness()
		return len(b) == 1 && strings.HasSuffix(b[0].String(), "watch fails: the server answers 429 Too Many Requests")
	})
	c.answer.Store(0)
	eventually(t, "sight", func() bool { return len(e.Blindness()) == 0 })
}

// answers is a transport that answers with a status.
type answers int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Status: fmt.Sprint(int(a), " ", http.StatusText(int(a))), Body: http.NoBody}, nil
}

func TestWrapTransport_KnowsWhoseRequestItIs(t *testing.T) {
	for path, namespaces := range map[string]string{
		"/api/v1/pods":                                   " all",
		"/prefix/api/v1/pods":                            " all",
		"/api/v1/pods?watch=true":                        " all",
		"/api/v1/namespaces/b/pods":                      " b",
		"/api/v1/namespaces/a/pods":                      "",
		"/api/v1/namespaces/b/pods/x":                    "",
		"/api/v1/nodes":                                  "",
		"/apis/metrics.k8s.io/v1beta1/namespaces/b/pods": "",
	} {
		all, one := engine.New(newSet(), engine.WithLogger(klog.Logger{})), engine.New(newSet(), engine.WithLogger(klog.Logger{}))
		must(t, all.Watch(pods, newInformer()))
		must(t, one.Watch(pods, newInformer(), engine.InNamespace("b")))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.test"+path, http.NoBody)
		must(t, err)
		var blind string
		for name, e := range map[string]*engine.Engine{"all": all, "b": one} {
			_, err := e.WrapTransport(answers(http.StatusForbidden)).RoundTrip(request)
			must(t, err)
			for _, b := range e.Blindness() {
				blind += " " + name
				if want := "list"; b.Verb != want && !strings.Contains(path, "watch") {
					t.Errorf("%s: verb %s", path, b.Verb)
				}
			}
		}
		if blind != namespaces {
			t.Errorf("%s makes%s blind, want%s", path, blind, namespaces)
		}
	}
}
