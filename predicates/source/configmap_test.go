package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/source"
)

const namespace, name = "azure-disk-csi", "donewhen-predicates"

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// run starts the source and returns the channel of what it delivers. The source
// is stopped, and has stopped, at the end of the test.
func run(t *testing.T, s *source.ConfigMap) <-chan predicates.Source {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	delivered, done := make(chan predicates.Source), make(chan error, 1)
	go func() {
		done <- s.Run(ctx, func(s predicates.Source) {
			select {
			case delivered <- s:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return delivered
}

// render prints a source on one line.
func render(s predicates.Source) string {
	text := s.Name + ":"
	for _, f := range s.Files {
		text += fmt.Sprintf(" %s=%s", f.Name, f.Data)
		if f.Binary {
			text += "(binary)"
		}
	}
	return text
}

// expect receives one delivery.
func expect(t *testing.T, delivered <-chan predicates.Source, want string) {
	t.Helper()
	select {
	case s := <-delivered:
		if got := strings.TrimPrefix(render(s), "configmap azure-disk-csi/donewhen-predicates:"); got != want {
			t.Fatalf("delivered %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("nothing was delivered, want %q", want)
	}
}

func TestConfigMapThroughItsLife(t *testing.T) {
	client := fake.NewClientset(configMap("another", map[string]string{"x": "y"}))
	maps := client.CoreV1().ConfigMaps(namespace)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	watched := source.NewConfigMap(client, namespace, name)
	delivered := run(t, watched)
	expect(t, delivered, "") // not there: nothing in it

	must(maps.Create(t.Context(), configMap(name, map[string]string{"b.yaml": "2", "a": "1"}), metav1.CreateOptions{}))
	expect(t, delivered, " a=1 b.yaml=2")

	must(maps.Update(t.Context(), configMap(name, map[string]string{"a": "1"}), metav1.UpdateOptions{}))
	expect(t, delivered, " a=1")

	labelled := configMap(name, map[string]string{"a": "1"})
	labelled.Labels = map[string]string{"only": "metadata"}
	must(maps.Update(t.Context(), labelled, metav1.UpdateOptions{}))
	must(maps.Update(t.Context(), configMap("another", map[string]string{"x": "z"}), metav1.UpdateOptions{}))
	must(maps.Update(t.Context(), configMap(name, map[string]string{"a": "3"}), metav1.UpdateOptions{}))
	expect(t, delivered, " a=3") // and nothing for the two before

	module := configMap(name, map[string]string{"a": "3"})
	module.BinaryData = map[string][]byte{"m.wasm": []byte("m")}
	must(maps.Update(t.Context(), module, metav1.UpdateOptions{}))
	expect(t, delivered, " a=3 m.wasm=m(binary)")
	module.BinaryData["m.wasm"] = []byte("n")
	must(maps.Update(t.Context(), module, metav1.UpdateOptions{}))
	expect(t, delivered, " a=3 m.wasm=n(binary)")
	if ref := watched.Reference(); ref == nil || ref.Name != name || ref.Kind != "ConfigMap" {
		t.Errorf("reference %v", ref)
	}

	must(nil, maps.Delete(t.Context(), name, metav1.DeleteOptions{}))
	expect(t, delivered, "")
	if ref := watched.Reference(); ref != nil {
		t.Errorf("reference %v of a deleted one", ref)
	}

	must(maps.Create(t.Context(), configMap(name, map[string]string{"c": "4"}), metav1.CreateOptions{}))
	expect(t, delivered, " c=4")
}

// TestConfigMapReplaced: one that is made again with the same content delivers nothing,
// and is another object all the same.
func TestConfigMapReplaced(t *testing.T) {
	client := fake.NewClientset()
	maps := client.CoreV1().ConfigMaps(namespace)
	watched := source.NewConfigMap(client, namespace, name)
	delivered := run(t, watched)
	expect(t, delivered, "")
	replaced := func(want string) {
		t.Helper()
		select {
		case <-watched.Replaced():
		case <-time.After(10 * time.Second):
			t.Fatalf("nothing tells of %q", want)
		}
		got := ""
		if reference := watched.Reference(); reference != nil {
			got = string(reference.UID)
		}
		if got != want {
			t.Errorf("reference of %q, want %q", got, want)
		}
	}
	for _, step := range []struct{ uid, content string }{{"u", ""}, {"", ""}, {"v", "1"}, {"w", "1"}} {
		if step.uid == "w" { // deleted and made again, as it looks to who comes too late
			m := configMap(name, map[string]string{"a": "1"})
			m.UID = "w"
			if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			replaced("w")
			break
		}
		if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		if step.uid != "" {
			m := configMap(name, nil)
			if m.UID = types.UID(step.uid); step.content != "" {
				m.Data = map[string]string{"a": step.content}
			}
			if _, err := maps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if step.uid == "v" {
			expect(t, delivered, " a=1")
		}
		replaced(step.uid)
	}
	select {
	case s := <-delivered:
		t.Errorf("delivered %s", render(s))
	default:
	}
}

// TestConfigMapBurst: a burst of edits is delivered as a few, the newest last.
func TestConfigMapBurst(t *testing.T) {
	client := fake.NewClientset(configMap(name, map[string]string{"a": "0"}))
	const edits = 200
	ctx, cancel := context.WithCancel(t.Context())
	first, newest, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	deliveries := 0
	go func() {
		done <- source.NewConfigMap(client, namespace, name).Run(ctx, func(s predicates.Source) {
			if deliveries++; deliveries == 1 {
				close(first)
			}
			if string(s.Files[0].Data) == fmt.Sprint(edits) {
				close(newest)
			}
		})
	}()
	<-first
	start := time.Now()
	for i := 1; i <= edits; i++ {
		edit := configMap(name, map[string]string{"a": fmt.Sprint(i)})
		if _, err := client.CoreV1().ConfigMaps(namespace).Update(t.Context(), edit, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-newest:
	case <-time.After(20 * time.Second):
		t.Fatal("the newest content was never delivered")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("%d deliveries for %d edits", deliveries, edits)
	// On a machine that takes its time over the edits they are several bursts.
	if took := time.Since(start); deliveries > 2+int(took/(50*time.Millisecond)) {
		t.Errorf("%d deliveries for %d edits in %v", deliveries, edits, took)
	}
}

// TestConfigMapSelectsByName: RBAC can then be for the one name.
func TestConfigMapSelectsByName(t *testing.T) {
	client := fake.NewClientset()
	seen := make(chan string, 10)
	client.PrependReactor("list", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		seen <- a.(clienttesting.ListAction).GetListRestrictions().Fields.String()
		return false, nil, nil
	})
	expect(t, run(t, source.NewConfigMap(client, namespace, name)), "")
	if got := <-seen; got != "metadata.name="+name {
		t.Errorf("listed with field selector %q", got)
	}
}

// TestConfigMapForbidden: the error is reported, nothing is delivered, and once
// the list succeeds all is well.
func TestConfigMapForbidden(t *testing.T) {
	client := fake.NewClientset(configMap(name, map[string]string{"a": "1"}))
	forbidden := errors.New("configmaps is forbidden")
	refuse := make(chan bool, 1)
	refuse <- true
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-refuse:
			return true, nil, forbidden
		default:
			return false, nil, nil
		}
	})
	reported := make(chan error, 10)
	delivered := run(t, source.NewConfigMap(client, namespace, name,
		source.WithErrorHandler(func(_ context.Context, err error) { reported <- err })))
	if err := <-reported; !strings.Contains(err.Error(), forbidden.Error()) {
		t.Errorf("reported %v", err)
	}
	expect(t, delivered, " a=1")
}

// TestConfigMapStopsBeforeItSynced: Run ends with its context at any time.
func TestConfigMapStopsBeforeItSynced(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("down")
	})
	reported := make(chan error, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	s := source.NewConfigMap(client, namespace, name, source.WithErrorHandler(func(_ context.Context, err error) {
		select {
		case reported <- err:
		default:
		}
	}))
	go func() { done <- s.Run(ctx, func(predicates.Source) { t.Error("delivered without a list") }) }()
	<-reported
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
