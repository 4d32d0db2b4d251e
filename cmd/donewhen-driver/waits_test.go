package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// watch is an engine with waits, and the handler that shows them.
type watch struct {
	t       *testing.T
	volumes *script.Source
	engine  *engine.Engine
	handler *waits
	version int
}

// newWatch must be called in a bubble.
func newWatch(t *testing.T, set engine.Set, inForce func() setInForce, unsynced bool) *watch {
	t.Helper()
	n := &watch{t: t, volumes: script.NewSource(unsynced), version: 1}
	n.engine = engine.New(set, engine.WithLogger(klog.Logger{}))
	if err := n.engine.Watch(v1beta2.AzVolumes(), n.volumes); err != nil {
		t.Fatal(err)
	}
	if err := n.engine.Watch(v1beta2.AzVolumeAttachments(), script.NewSource(false)); err != nil {
		t.Fatal(err)
	}
	if err := n.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.handler = newWaits(n.engine, inForce, clock.RealClock{})
	return n
}

func (n *watch) put(name string, status map[string]any) {
	n.t.Helper()
	n.version++
	err := n.volumes.Put(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1beta2.AzVolumes().GroupVersion().String(), "kind": v1beta2.KindAzVolume,
		"metadata": map[string]any{"namespace": "disks", "name": name, "uid": "uid-" + name, "resourceVersion": fmt.Sprint(n.version)},
		"spec":     map[string]any{"volumeName": name},
		"status":   status,
	}})
	if err != nil {
		n.t.Fatal(err)
	}
}

// wait begins a wait, for an operation or by the name of a predicate.
func (n *watch) wait(name, operation, predicate string) {
	n.t.Helper()
	w, err := n.engine.Register(engine.Request{
		Ref:       engine.Reference{Resource: v1beta2.AzVolumes(), Namespace: "disks", Name: name},
		Operation: operation, Predicate: predicate,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	w.Done()
	synctest.Wait()
}

func configOf(t *testing.T, opts options, files ...string) *config {
	t.Helper()
	c, err := newConfig(t.Context(), nil, opts, newMetrics(), klog.Logger{})
	if err != nil {
		t.Fatal(err)
	}
	c.swap = func(engine.Set) {}
	for _, text := range files {
		_ = c.store.Update(predicates.Source{Name: "configmap", Files: []predicates.File{{Name: "p.yaml", Data: []byte(text)}}})
	}
	return c
}

func ask(t *testing.T, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	return answer
}

func askJSON(t *testing.T, h http.Handler, target string) waitsView {
	t.Helper()
	answer, view := ask(t, h, target), waitsView{}
	if err := json.Unmarshal(answer.Body.Bytes(), &view); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", target, answer.Code, err, answer.Body)
	}
	return view
}

// Whoever is called at night asks one question: which wait hangs, and on what.
func TestWaits_SaysWhatHangs(t *testing.T) {
	const secret = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: has-key}
spec:
  version: "3"
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  done: object.status.detail.volume_id == 'other' && object.status.state == 'Created'
`
	c := configOf(t, options{gate: gateOff, redact: []string{"status.detail.volume_id"}}, secret, "kind: Nonsense")
	synctest.Test(t, func(t *testing.T) {
		n := newWatch(t, c.set(), c.inForce, false)
		n.put("pvc-1", map[string]any{"state": "Creating"})
		n.wait("pvc-1", provisioner.OperationCreateVolume, "")
		time.Sleep(3 * time.Minute)
		n.put("pvc-2", map[string]any{"state": "Creating", "detail": map[string]any{"volume_id": "hush-hush"}})
		n.wait("pvc-2", "", "has-key")

		view := askJSON(t, n.handler, "/waits")
		if view.Total != 2 || len(view.Waits) != 2 || view.Waits[1].Object != "disks/pvc-2" {
			t.Fatalf("%+v", view)
		}
		got := view.Waits[0]
		got.Digest, got.Since = "", got.Since.UTC()
		want := wait{
			Resource: "azvolumes.disk.csi.azure.com", Object: "disks/pvc-1", UID: "uid-pvc-1", Operation: "CreateVolume", Predicate: "volume-created",
			Age: "3m0s", Since: time.Now().Add(-3 * time.Minute).UTC(), Verdict: "Pending", Cause: "Operation", Reason: "Creating",
			Message: "the cloud is creating the disk", Rule: "pending[0]", ResourceVersion: "2", JudgedAge: "3m0s",
		}
		got.Explanation, want.Explanation = "", ""
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if says := view.Waits[0].Explanation; !strings.Contains(says, "variables.state") || !strings.Contains(says, `Creating`) {
			t.Errorf("what is false is not said: %q", says)
		}
		if view.Set.Digest != c.set().Digest() || !slices.Equal(view.Set.Overrides, []string{"adds predicate has-key version 3"}) {
			t.Errorf("the set: %+v", view.Set)
		}
		if p := view.Set.Problem; !strings.Contains(p, "the last good set stays in force: configmap, p.yaml:1") || strings.Contains(p, "\n") {
			t.Errorf("the config's problem: %q", p)
		}
		one := askJSON(t, n.handler, "/waits?explain=disks%2Fpvc-2")
		if one.Total != 1 || one.Waits[0].Object != "disks/pvc-2" || !strings.Contains(one.Waits[0].Explanation, "•••") {
			t.Errorf("explained: %+v", one)
		}
		if none := askJSON(t, n.handler, "/waits?explain=disks%2Fpvc-1&operation=DeleteVolume"); none.Total != 0 || none.Waits == nil {
			t.Errorf("another operation: %+v", none)
		}
		for _, target := range []string{"/waits", "/waits?output=html", "/waits?output=html&explain=disks%2Fpvc-2"} {
			body := ask(t, n.handler, target).Body.String()
			if strings.Contains(body, "hush-hush") {
				t.Errorf("%s shows what --redact hides", target)
			}
			if !strings.Contains(body, "disks/pvc-2") {
				t.Errorf("%s: %s", target, body)
			}
		}
	})
}

// A predicate that doesn't return holds the list for one second, and hides nobody else.
func TestWaits_APredicateThatNeverReturnsHoldsItForOneSecond(t *testing.T) {
	c := configOf(t, options{})
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		n := newWatch(t, withPredicate{c.set(), silent{over}}, c.inForce, false)
		for _, name := range []string{"pvc-1", "pvc-2", "pvc-3"} {
			n.put(name, map[string]any{"state": "Creating"})
			n.wait(name, "", "silent")
		}
		n.put("pvc-4", map[string]any{"state": "Creating"})
		n.wait("pvc-4", provisioner.OperationCreateVolume, "")
		for round, want := range []time.Duration{time.Second, 0} {
			start := time.Now()
			view := askJSON(t, n.handler, "/waits")
			if took := time.Since(start); took != want || view.Total != 4 || view.Incomplete != "" {
				t.Errorf("look %d took %s: %+v", round, took, view)
			}
			says := map[string]string{}
			for _, w := range view.Waits {
				says[w.Object] = w.Message
			}
			if !strings.Contains(says["disks/pvc-1"], "the predicate did not say it within 1s") || says["disks/pvc-4"] != "the cloud is creating the disk" {
				t.Errorf("look %d: %v", round, says)
			}
		}
	})
}

func TestWaits_SaysWhatIsBlind(t *testing.T) {
	c := configOf(t, options{})
	synctest.Test(t, func(t *testing.T) {
		n := newWatch(t, c.set(), c.inForce, true)
		n.wait("pvc-1", provisioner.OperationCreateVolume, "")
		time.Sleep(time.Minute)
		view := askJSON(t, n.handler, "/waits")
		if len(view.Blind) != 1 || !strings.Contains(view.Blind[0], "cannot see objects of azvolumes") || view.Waits[0].Blind == "" || view.Waits[0].Reason != engine.ReasonNotSynced {
			t.Errorf("%+v", view)
		}
		if body := ask(t, n.handler, "/waits?output=html").Body.String(); !strings.Contains(body, "Blind: cannot see objects of azvolumes") {
			t.Error(body)
		}
	})
}

// What objects, modules and configs say is text, wherever it stands.
func TestWaits_AHostileTextIsOnlyText(t *testing.T) {
	const hostile = "<script>alert(1)</script>\"'><img src=x onerror=y>\x1b[2J\x9b\u009b\u202e\u2028{{.}}\xff"
	status := engine.WaiterStatus{
		Ref:       engine.Reference{Resource: schema.GroupVersionResource{Group: hostile, Resource: hostile}, Namespace: "javascript:" + hostile, Name: hostile, UID: hostile},
		Operation: hostile, Predicate: engine.PredicateID{Name: hostile, Label: hostile, Digest: hostile}, ResourceVersion: hostile,
		Verdict: engine.Verdict{
			Decision: engine.Failed, Cause: engine.CauseJudge, Code: codes.Internal, Reason: hostile, Message: hostile,
			Missing: slices.Repeat([]string{hostile}, 20), Explanation: hostile, Rule: hostile,
		},
		Blind: &engine.Blindness{Namespace: hostile, Verb: hostile, Reason: hostile},
	}
	h := newWaits(&fakeWaits{clock: clock.RealClock{}, n: 1, like: status}, func() setInForce {
		return setInForce{Digest: "d", Overrides: []string{hostile}, Problem: hostile}
	}, clock.RealClock{})
	object := strings.TrimPrefix(showWait(seen{status: status}, time.Now(), 100).Link, "?")
	for _, target := range []string{"/waits?output=html", "/waits?" + object, "/waits.json", "/waits?output=json&" + object, "/waits?output=%3Cscript%3E", "/waits?%3Cscript%3E=1"} {
		answer := ask(t, h, target)
		body := answer.Body.String()
		isHTML := strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html")
		isJSON := answer.Header().Get("Content-Type") == "application/json"
		switch {
		case isHTML && (strings.Contains(body, "<script") || strings.Contains(body, "<img") || strings.Contains(body, `"javascript`) || !strings.Contains(body, "&lt;script&gt;")),
			isJSON && !json.Valid([]byte(body)),
			!isHTML && !isJSON && answer.Code != http.StatusBadRequest:
			t.Errorf("%s: %s", target, body)
		}
		for _, r := range body {
			if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' {
				t.Errorf("%s: %q in %q", target, r, body)
				break
			}
		}
		header := answer.Header()
		if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none';") {
			t.Errorf("%s: %v", target, header)
		}
	}
	if body := ask(t, h, "/waits?output=html").Body.String(); !strings.Contains(body, `<meta http-equiv="refresh" content="2">`) || strings.Contains(body, "style=") {
		t.Error(body)
	}
}

// The list has its bounds in lines, bytes and time, however many wait and whatever they say.
func TestWaits_TenThousand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeWaits{clock: clock.RealClock{}, n: 10_000, like: engine.WaiterStatus{
			Verdict: engine.Verdict{Message: strings.Repeat("<", 1<<16), Explanation: strings.Repeat("&", 1<<16), Missing: slices.Repeat([]string{strings.Repeat("'", 1<<10)}, 100)},
		}}
		h := newWaits(fake, func() setInForce { return setInForce{} }, clock.RealClock{})
		view := askJSON(t, h, "/waits")
		if view.Total != 10_000 || len(view.Waits) != maxWaits || view.Incomplete != "" {
			t.Fatalf("%d of %d, %s", len(view.Waits), view.Total, view.Incomplete)
		}
		for i, w := range view.Waits { // the oldest came last
			if want := fmt.Sprintf("disks/pvc-%05d", 9_999-i); w.Object != want {
				t.Fatalf("place %d has %s, want %s", i, w.Object, want)
			}
		}
		for _, target := range []string{"/waits", "/waits?output=html", "/waits?output=html&explain=disks%2Fpvc-00001"} {
			if size := ask(t, h, target).Body.Len(); size > 12<<20 {
				t.Errorf("%s: %d bytes", target, size)
			}
		}
		fake.takes = time.Millisecond
		start := time.Now()
		view = askJSON(t, h, "/waits")
		if took := time.Since(start); took > waitsWithin+time.Second || view.Incomplete == "" || len(view.Waits) != maxWaits {
			t.Errorf("10,000 slow ones: %s, %d, %q", took, len(view.Waits), view.Incomplete)
		}
		if fake.looked > 6_000 {
			t.Errorf("%d were looked at", fake.looked)
		}
	})
}

// So many requests at once as there are turns; others are told to come again.
func TestWaits_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeWaits{clock: clock.RealClock{}, n: 1, hold: make(chan struct{})}
		h := newWaits(fake, func() setInForce { return setInForce{} }, clock.RealClock{})
		answers := make(chan int, waitsAtOnce)
		for range waitsAtOnce {
			go func() { answers <- ask(t, h, "/waits").Code }()
		}
		synctest.Wait()
		start := time.Now()
		if answer := ask(t, h, "/waits"); answer.Code != http.StatusServiceUnavailable || time.Since(start) != waitsWithin {
			t.Errorf("%d after %s", answer.Code, time.Since(start))
		}
		close(fake.hold)
		for range waitsAtOnce {
			if code := <-answers; code != http.StatusOK {
				t.Error(code)
			}
		}
		if code := ask(t, h, "/waits").Code; code != http.StatusOK {
			t.Errorf("afterwards: %d", code)
		}
	})
}

func TestWaits_OverHTTP(t *testing.T) {
	h := newWaits(&fakeWaits{clock: clock.RealClock{}, n: 1}, func() setInForce { return setInForce{} }, clock.RealClock{})
	status, err := listenStatus(t.Context(), "127.0.0.1:0", "", prometheus.NewRegistry(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- status.serve() }()
	if s := status.server; s.ReadTimeout == 0 || s.WriteTimeout <= 2*waitsWithin || s.IdleTimeout == 0 {
		t.Errorf("the server's limits: %+v", s)
	}
	client := &http.Client{}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, row := range []struct {
		method, path, accept string
		code                 int
		contentType          string
	}{
		{"GET", "/waits", "*/*", 200, "application/json"},
		{"GET", "/waits", "application/json", 200, "application/json"},
		{"GET", "/waits", browser, 200, "text/html; charset=utf-8"},
		{"GET", "/waits?output=json", browser, 200, "application/json"},
		{"GET", "/waits?output=html", "", 200, "text/html; charset=utf-8"},
		{"GET", "/waits.json", browser, 200, "application/json"},
		{"HEAD", "/waits", browser, 200, "text/html; charset=utf-8"},
		{"GET", "/waits?output=xml", "", 400, "text/plain; charset=utf-8"},
		{"GET", "/waits?object=x", "", 400, "text/plain; charset=utf-8"},
		{"POST", "/waits", "", 405, "text/plain; charset=utf-8"},
		{"DELETE", "/waits.json", "", 405, "text/plain; charset=utf-8"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), row.method, "http://"+status.listener.Addr().String()+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", row.accept)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != row.code || response.Header.Get("Content-Type") != row.contentType || (row.method == "HEAD") != (len(body) == 0) {
			t.Errorf("%s %s, Accept %s: %d %s, %v: %s", row.method, row.path, row.accept, response.StatusCode, response.Header.Get("Content-Type"), err, body)
		}
	}
	client.CloseIdleConnections()
	if err := status.close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// fakeWaits has n waits like one; those that come later are older.
type fakeWaits struct {
	clock  clock.Clock
	n      int
	like   engine.WaiterStatus
	takes  time.Duration // each
	hold   chan struct{} // nil: nothing holds the list
	looked int
}

func (f *fakeWaits) Waiters() iter.Seq[engine.WaiterStatus] {
	return func(yield func(engine.WaiterStatus) bool) {
		if f.hold != nil {
			<-f.hold
			return
		}
		f.looked = 0
		for n := range f.n {
			f.clock.Sleep(f.takes)
			f.looked++
			status := f.like
			if status.Ref.Name == "" {
				status.Ref = engine.Reference{Resource: v1beta2.AzVolumes(), Namespace: "disks", Name: fmt.Sprintf("pvc-%05d", n)}
			}
			status.Age = time.Duration(n) * time.Second
			if !yield(status) {
				return
			}
		}
	}
}

func (f *fakeWaits) Blindness() []engine.Blindness {
	if f.like.Blind == nil {
		return nil
	}
	return []engine.Blindness{*f.like.Blind}
}

// withPredicate is a set with one more predicate.
type withPredicate struct {
	engine.Set
	more engine.Predicate
}

func (s withPredicate) Predicate(name string) (engine.Predicate, error) {
	if name == s.more.ID().Name {
		return s.more, nil
	}
	return s.Set.Predicate(name)
}

// silent is a predicate that is always pending, and doesn't return when it is asked
// why, until over is closed.
type silent struct{ over chan struct{} }

func (silent) ID() engine.PredicateID { return engine.PredicateID{Name: "silent", Digest: "silent"} }

func (silent) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{v1beta2.AzVolumes()}
}
func (silent) ExpectsGone() bool                                          { return false }
func (s silent) Bind(engine.Params) (engine.Judge, error)                 { return s, nil }
func (silent) Key() string                                                { return "silent" }
func (silent) Judge(context.Context, engine.Observation) engine.Judgement { return engine.Judgement{} }

func (s silent) Describe(context.Context, engine.Observation) engine.Judgement {
	<-s.over
	return engine.Judgement{}
}
