package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/engine"
)

// expandedBy is a predicate of a name that the driver's own set has.
func expandedBy(version string) string {
	return `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: volume-expanded}
spec:
  version: "` + version + `"
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  params: {requiredBytes: int}
  done: |-
    object.status.detail.capacity_bytes >= params.requiredBytes && object.status.state == 'Updated'
`
}

// night is a driver's config whose ConfigMap p may be forbidden, beside a file.
type night struct {
	*testing.T
	client    *fake.Clientset
	forbidden atomic.Bool
	opts      options
	file      string
}

func newNight(t *testing.T) *night {
	n := &night{T: t, client: fake.NewClientset(), file: filepath.Join(t.TempDir(), "more.yaml")}
	n.opts = options{
		namespace: "n", sources: []sourceSpec{{configMapSource, "p"}, {fileSource, n.file}},
		lastGood: filepath.Join(t.TempDir(), "last-good.json"), standIns: 50 * time.Millisecond,
	}
	n.client.PrependReactor("list", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if n.forbidden.Load() && a.(clienttesting.ListAction).GetListRestrictions().Fields.String() == "metadata.name=p" {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "p", errors.New("no"))
		}
		return false, nil, nil
	})
	if err := os.WriteFile(n.file, []byte(strings.Replace(expandedBy("file"), "volume-expanded", "beside", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := n.client.CoreV1().ConfigMaps("n").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"}, Data: map[string]string{"p.yaml": expandedBy("kept")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs a config until the test within has ended.
func (n *night) run(test func(ctx context.Context, c *config, m *metrics, log *buffer)) {
	n.Helper()
	log, m := &buffer{}, newMetrics()
	ctx, cancel := context.WithCancel(n.Context())
	c, err := newConfig(ctx, n.client, n.opts, m, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	if err != nil {
		n.Fatal(err)
	}
	c.swap = func(engine.Set) {}
	done := make(chan error, 1)
	go func() { done <- c.run(ctx) }()
	test(ctx, c, m, log)
	cancel()
	if err := <-done; err != nil {
		n.Error(err)
	}
}

func (n *night) labelOf(c *config, predicate string) string {
	p, err := c.set().Predicate(predicate)
	if err != nil {
		return err.Error()
	}
	return p.ID().Label
}

func (n *night) reported() string {
	m, err := n.client.CoreV1().ConfigMaps("n").Get(n.Context(), "p-status", metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return m.Data["conditions"]
}

// The ConfigMap can't be read at the start. What it held in the run before serves, with
// the file that can be read; that is said everywhere, and is over once it can be read.
func TestASourceThatCannotBeReadAtTheStart(t *testing.T) {
	n := newNight(t)
	n.run(func(ctx context.Context, c *config, m *metrics, _ *buffer) {
		if err := c.looked(ctx); err != nil || testutil.ToFloat64(m.lastGood) != 1 {
			t.Fatalf("%v, last good kept: %v", err, testutil.ToFloat64(m.lastGood))
		}
	})
	n.forbidden.Store(true)
	n.run(func(ctx context.Context, c *config, m *metrics, log *buffer) {
		if err := c.looked(ctx); err != nil {
			t.Fatal(err)
		}
		if n.labelOf(c, "volume-expanded") != "kept" || n.labelOf(c, "beside") != "file" {
			t.Errorf("in force: %s, %s", n.labelOf(c, "volume-expanded"), n.labelOf(c, "beside"))
		}
		unread := m.unread.WithLabelValues("configmap n/p")
		within(t, "the report says so", func() bool { return strings.Contains(n.reported(), `{type: Degraded, status: "True", reason: Unread`) })
		within(t, "an Event says so", func() bool {
			events, err := n.client.CoreV1().Events("n").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events.Items {
				if e.Reason == "Unread" && e.InvolvedObject.Name == "p" && e.InvolvedObject.Kind == "ConfigMap" && e.Type == "Warning" {
					return true
				}
			}
			return false
		})
		if text := log.text(); !strings.Contains(text, `SOURCES OF PREDICATES CAN'T BE READ`) || !strings.Contains(text, "is forbidden: no") || testutil.ToFloat64(unread) != 1 {
			t.Errorf("metric %v, log:\n%s", testutil.ToFloat64(unread), text)
		}
		n.forbidden.Store(false)
		within(t, "it is taken in", func() bool {
			return strings.Contains(n.reported(), `{type: Active, status: "True"`) && testutil.ToFloat64(unread) == 0
		})
		if text := log.text(); !strings.Contains(text, "can be read again") {
			t.Errorf("log:\n%s", text)
		}
	})
}

// Nothing is known of what the ConfigMap held: then nothing is judged, for the driver's own
// predicates may be what it overrode, and the reason is said at once.
func TestASourceThatCannotBeReadAndOfWhichNothingIsKnown(t *testing.T) {
	for name, damage := range map[string]func(n *night){
		"without a last good set": func(n *night) { n.opts.lastGood = "" },
		"it was never saved":      func(*night) {},
		"others may write it": func(n *night) {
			n.run(func(ctx context.Context, c *config, _ *metrics, _ *buffer) {
				if err := c.looked(ctx); err != nil {
					t.Fatal(err)
				}
			})
			if err := os.Chmod(n.opts.lastGood, 0o666); err != nil {
				t.Fatal(err)
			}
		},
	} {
		n := newNight(t)
		damage(n)
		n.forbidden.Store(true)
		n.run(func(ctx context.Context, c *config, m *metrics, log *buffer) {
			within(t, "the log says so", func() bool {
				return strings.Contains(log.text(), "without them the driver doesn't begin")
			})
			ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			err := c.looked(ctx)
			if err == nil || !strings.Contains(err.Error(), "read configmap n/p") || !strings.Contains(err.Error(), "is forbidden") {
				t.Errorf("%s: %v", name, err)
			}
			if got := n.labelOf(c, "beside"); got == "file" {
				t.Errorf("%s: the file alone is in force", name)
			}
			n.forbidden.Store(false)
			within(t, "it begins when it can be read", func() bool { return n.labelOf(c, "volume-expanded") == "kept" })
		})
	}
}

// within waits for a condition of what runs beside the test.
func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(time.Minute)
	for !condition() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("still not: %s", what)
		}
	}
}

// A source can't be where the driver writes about another one.
func TestASourceThatIsAReport(t *testing.T) {
	command := newCommand(t.Output())
	command.SetArgs([]string{"--predicates-configmap", "p", "--predicates-configmap", "p-status"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "p-status is where the driver reports about p") {
		t.Error(err)
	}
}
