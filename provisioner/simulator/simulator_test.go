package simulator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/fake"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// writes records the simulator's writes as "verb resource[/status] state".
type writes struct {
	mu      sync.Mutex
	lines   []string
	changed chan struct{}
}

func (w *writes) record(action clienttesting.Action) (bool, runtime.Object, error) {
	var state string
	if update, ok := action.(clienttesting.UpdateAction); ok {
		switch object := update.GetObject().(type) {
		case *v1beta2.AzVolume:
			state = string(object.Status.State)
		case *v1beta2.AzVolumeAttachment:
			state = string(object.Status.State)
		}
	}
	line := strings.TrimSuffix(action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource(), "/") + " " + state
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, strings.TrimSpace(line))
	close(w.changed)
	w.changed = make(chan struct{})
	return false, nil, nil
}

func (w *writes) expect(t *testing.T, want ...string) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		w.mu.Lock()
		got, changed := append([]string(nil), w.lines...), w.changed
		w.mu.Unlock()
		if len(got) >= len(want) {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("writes (-want +got):\n%s", diff)
			}
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("writes after 10s: %q, want %q", got, want)
		}
	}
}

func recordWrites(client *fake.Clientset) *writes {
	w := &writes{changed: make(chan struct{})}
	for _, verb := range []string{"update", "delete", "patch", "create"} {
		client.PrependReactor(verb, "*", w.record)
	}
	return w
}

func runSimulator(t *testing.T, client *fake.Clientset, cloud *Cloud) (stop func()) {
	t.Helper()
	azure, err := New(client, cloud, Options{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- azure.Run(ctx) }()
	<-azure.Ready()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// What is written, in order, for a volume's creation that works and one that
// fails; and nothing is left running afterwards, operations in flight included.
func TestRunWritesInOrderAndEnds(t *testing.T) {
	ignored := goleak.IgnoreCurrent()
	client := fake.NewSimpleClientset()
	written := recordWrites(client)
	stop := runSimulator(t, client, newCloud(t, CloudOptions{Faults: []Fault{
		{Operation: OperationCreate, Volume: "bad", Code: v1beta2.ErrorResourceExhausted},
		{Operation: OperationCreate, Volume: "slow", Delay: "1h"},
	}}))
	create := func(name string) {
		t.Helper()
		volume := testVolume(name, gib, 0, nil)
		volume.Namespace, volume.Finalizers = v1beta2.DefaultNamespace, []string{v1beta2.VolumeFinalizer}
		if _, err := client.AzureDiskV1beta2().AzVolumes(volume.Namespace).Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"create azvolumes", "update azvolumes/status Creating", "update azvolumes/status Created"}
	create("good")
	written.expect(t, want...)
	want = append(want, "create azvolumes", "update azvolumes/status Creating", "update azvolumes/status CreationFailed", "update azvolumes CreationFailed")
	create("bad")
	written.expect(t, want...)
	want = append(want, "create azvolumes", "update azvolumes/status Creating")
	create("slow")
	written.expect(t, want...)
	stop()
	written.expect(t, want...)
	goleak.VerifyNone(t, ignored)
}

// A cluster that can't be read is an error at once, not a silent wait.
func TestRunNeedsTheCRDs(t *testing.T) {
	ignored := goleak.IgnoreCurrent()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no CRDs":   {apierrors.NewNotFound(v1beta2.Resource("azvolumeattachments"), ""), "install the CRDs of disk.csi.azure.com first"},
		"forbidden": {apierrors.NewForbidden(v1beta2.Resource("azvolumeattachments"), "", errors.New("no rule")), "forbidden: no rule"},
	} {
		client := fake.NewSimpleClientset()
		client.PrependReactor("list", "azvolumeattachments", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, test.err
		})
		azure, err := New(client, newCloud(t, CloudOptions{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := azure.Run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
	goleak.VerifyNone(t, ignored)
}
