package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

func TestVerbAndResource(t *testing.T) {
	const base = "/apis/disk.csi.azure.com/v1beta2/namespaces/azure-disk-csi/azvolumes"
	for _, row := range []struct{ method, path, verb, resource string }{
		{"GET", base, "LIST", "azvolumes"},
		{"GET", base + "?watch=true&resourceVersion=7", "WATCH", "azvolumes"},
		{"GET", base + "?watch=1", "WATCH", "azvolumes"},
		{"GET", "/apis/disk.csi.azure.com/v1beta2/azvolumes", "LIST", "azvolumes"},
		{"GET", base + "/v", "GET", "azvolumes"},
		{"POST", base, "CREATE", "azvolumes"},
		{"PUT", base + "/v", "UPDATE", "azvolumes"},
		{"PUT", base + "/v/status", "UPDATE", "azvolumes/status"},
		{"PATCH", base + "/v/status", "PATCH", "azvolumes/status"},
		{"DELETE", base + "/v", "DELETE", "azvolumes"},
		{"GET", "/api/v1/namespaces/n/configmaps?watch=true", "WATCH", "configmaps"},
		{"GET", "/api/v1/namespaces/n", "GET", "namespaces"},
		{"GET", "/api/v1/namespaces", "LIST", "namespaces"},
		{"GET", "/apis/disk.csi.azure.com/v1beta2", "GET", "discovery"},
		{"GET", "/version", "GET", "discovery"},
	} {
		verb, resource := verbAndResource(httptest.NewRequest(row.method, row.path, nil))
		if verb != row.verb || resource != row.resource {
			t.Errorf("%s %s: %s %s, want %s %s", row.method, row.path, verb, resource, row.verb, row.resource)
		}
	}
}

func TestRequestsAreCounted(t *testing.T) {
	m := newMetrics()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }))
	defer server.Close()
	client := &http.Client{Transport: m.countAPI(http.DefaultTransport)}
	defer client.CloseIdleConnections()
	response, err := client.Post(server.URL+"/api/v1/namespaces/n/configmaps", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	for name, counter := range map[string]*prometheus.CounterVec{"requests": m.requests, "conflicts": m.conflicts} {
		if got := testutil.ToFloat64(counter.WithLabelValues("CREATE", "configmaps")); got != 1 {
			t.Errorf("%v %s counted", got, name)
		}
	}
}

// kubeconfigFor writes a kubeconfig of the server.
func kubeconfigFor(t *testing.T, url string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: url}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// What can't work is one line at the start, with what to do about it, and
// nothing is left behind.
func TestStartFails(t *testing.T) {
	answering := func(code int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return kubeconfigFor(t, server.URL)
	}
	refusing := httptest.NewServer(http.NotFoundHandler())
	refusing.Close()
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, kubeconfig, want string }{
		{"no such kubeconfig", filepath.Join(t.TempDir(), "none"), "load the kubeconfig"},
		{"not a kubeconfig", garbage, "load the kubeconfig"},
		{"not in a cluster", "", "no --kubeconfig was given"},
		{"nobody answers", kubeconfigFor(t, refusing.URL), "is it running"},
		{"no CRDs", answering(http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`), "install the CRDs"},
		{"a CRD is missing", answering(http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"azvolumes"},{"name":"azvolumes/status"}]}`), "azvolumeattachments, azvolumeattachments/status, azdrivernodes, azdrivernodes/status"},
		{"forbidden", answering(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`), "check the kubeconfig's user"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			command := newCommand(t.Output())
			command.SetArgs([]string{
				"--kubeconfig", row.kubeconfig, "--endpoint", "unix://" + filepath.Join(dir, "csi.sock"), "--node-id", "n",
				"--metrics-address-file", filepath.Join(dir, "metrics"),
			})
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(oneLine(err), "\n") {
				t.Fatalf("error %v, want %q in it", err, row.want)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for _, row := range []struct{ flag, value, want string }{
		{"--kube-api-qps", "0", "--kube-api-qps is 0"},
		{"--namespace", "", "--namespace is empty"},
		{"--namespace", "No_Namespace", `--namespace "No_Namespace": a lowercase`},
		{"--node-id", "Node_1", `--node-id "Node_1" can't be the name`},
		{"--endpoint", "tcp://127.0.0.1:1", "only unix sockets are served"},
		{"--predicates-dir", "", "it names no path"},
		{"--predicates-configmap", "No_Name", "can't be the name of a ConfigMap"},
		{"--gate", "ajar", `--gate is "ajar": give on or off`},
		{"--wasm-memory", "1Mi", "--wasm-memory is 1Mi: give a size from 8Mi to 1Ti"},
		{"--wasm-memory", "much", "give a size such as 256Mi"},
		{"--wasm-module-size", "0", "--wasm-module-size is 0: give a size from 1 to 16Mi"},
		{"--wasm-module-size", "17Mi", "--wasm-module-size is 17Mi: give a size from 1 to 16Mi"},
		{"--node-id", "n", "no --kubeconfig was given"}, // all that comes before is right
		{"surplus", "", "unknown command"},
		{"--nonsense", "", "unknown flag: --nonsense; see donewhen-driver --help"},
	} {
		command := newCommand(t.Output())
		command.SetArgs([]string{row.flag, row.value})
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %q: %v, want %q in it", row.flag, row.value, err, row.want)
		}
	}
}

// A signal during the start is no riddle about what the driver may list.
func TestInterruptedAtTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer hanging.Close()
	command := newCommand(t.Output())
	command.SetArgs([]string{"--kubeconfig", kubeconfigFor(t, hanging.URL), "--node-id", "n", "--endpoint", "unix://" + filepath.Join(t.TempDir(), "s")})
	if err := command.ExecuteContext(ctx); err == nil || err.Error() != "interrupted" {
		t.Errorf("%v", err)
	}
}

// The log says which set serves while a source is broken: the driver's own is not
// one that was taken in before.
func TestWhatServesBesideABrokenSource(t *testing.T) {
	const stricter = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: volume-expanded}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  params: {requiredBytes: int}
  done: |-
    object.status.detail.capacity_bytes >= params.requiredBytes && object.status.state == 'Updated'
`
	const own, lastGood = "the driver's own set is in force", "the last good set stays in force"
	for _, row := range []struct {
		before    []string
		says, not string
	}{
		{nil, own, lastGood},
		{[]string{stricter}, lastGood, own},
	} {
		var log strings.Builder
		c, err := newConfig(t.Context(), nil, options{}, newMetrics(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		if err != nil {
			t.Fatal(err)
		}
		c.swap = func(engine.Set) {}
		for _, text := range append(row.before, "kind: Nonsense") {
			err = c.store.Update(predicates.Source{Name: "config", Files: []predicates.File{{Name: "p.yaml", Data: []byte(text)}}})
		}
		if text := log.String(); err == nil || !strings.Contains(text, row.says) || strings.Contains(text, row.not) {
			t.Errorf("after %d sets: error %v, log %q; want %q", len(row.before), err, text, row.says)
		}
	}
}

// A broken ConfigMap changes nothing, and is reported with its position.
func TestBrokenConfigMap(t *testing.T) {
	const good = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: volume-expanded}
spec:
  version: "7"
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  params: {requiredBytes: int}
  done: |-
    object.status.detail.capacity_bytes >= params.requiredBytes && object.status.state == 'Updated'
`
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"},
		Data:       map[string]string{"p.yaml": strings.Replace(good, "params.requiredBytes &&", "params.requiredByte &&", 1)},
	}
	client := fake.NewClientset(configMap)
	var log strings.Builder
	m := newMetrics()
	c, err := newConfig(t.Context(), client, options{namespace: "n", sources: []sourceSpec{{configMapSource, "p"}}}, m, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	if err != nil {
		t.Fatal(err)
	}
	swapped := make(chan engine.Set, 10)
	c.swap = func(set engine.Set) { swapped <- set }
	defaults := c.set().Digest()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.run(ctx) }()
	if err := c.looked(ctx); err != nil {
		t.Fatal(err)
	}
	if c.set().Digest() != defaults || testutil.ToFloat64(m.reloadFailures) != 1 || testutil.ToFloat64(m.reloadGood) != 0 || testutil.ToFloat64(m.setInfo.WithLabelValues(defaults)) != 1 {
		t.Error("a broken ConfigMap had an effect, or none was counted")
	}

	configMap.Data = map[string]string{"p.yaml": good, "stray.yaml": strings.Replace(good, "volume-expanded", "volume-creatd", 1)}
	if _, err := client.CoreV1().ConfigMaps("n").Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	set := <-swapped
	if set.Digest() == defaults || c.set().Digest() != set.Digest() {
		t.Error("the mended ConfigMap had no effect")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := testutil.CollectAndCount(m.setInfo); got != 1 || testutil.ToFloat64(m.setInfo.WithLabelValues(set.Digest())) != 1 {
		t.Errorf("%d sets are shown", got)
	}
	if testutil.ToFloat64(m.reloadGood) != 1 {
		t.Error("the mended ConfigMap still counts as broken")
	}
	for _, want := range []string{
		"The predicates can't be loaded, the driver's own set is in force", "p.yaml:10:", "requiredByte", "The predicates can be loaded again",
		"predicate volume-expanded version 7 (the driver's own: without a version)", "adds predicate volume-creatd version 7",
		"predicate volume-creatd is bound to no operation; did you mean", "volume-created",
	} {
		if text := log.String(); !strings.Contains(text, want) {
			t.Errorf("the log doesn't say %q:\n%s", want, text)
		}
	}
}

func TestStatusServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	ready := false
	status, err := listenStatus(t.Context(), "127.0.0.1:0", file, prometheus.NewRegistry(), http.NotFoundHandler(), func() bool { return ready })
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- status.serve() }()
	address, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + strings.TrimSpace(string(address))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	code := func(path string) int {
		response, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	if code("/healthz") != 200 || code("/readyz") != 503 || code("/metrics") != 200 {
		t.Error("before it is ready")
	}
	ready = true
	if code("/readyz") != 200 {
		t.Error("when it is ready")
	}
	if _, err := listenStatus(t.Context(), status.listener.Addr().String(), "", prometheus.NewRegistry(), http.NotFoundHandler(), nil); err == nil || !strings.Contains(err.Error(), "--metrics-address") {
		t.Errorf("the same address again: %v", err)
	}
	if err := status.close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the address file stays")
	}
}
