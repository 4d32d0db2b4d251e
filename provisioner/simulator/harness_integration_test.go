//go:build integration

package simulator_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2/ktesting"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/simulator"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

const (
	gib  = int64(1) << 30
	wait = 30 * time.Second
)

// world is a namespace with a scripted caller in the driver's place.
type world struct {
	t         *testing.T
	namespace string
	config    *rest.Config
	client    *versioned.Clientset
	ctx       context.Context
	history   *history
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := clustertest.Shared(t)
	return newWorldOn(t, cluster.Config(), cluster.Namespace(t))
}

func newWorldOn(t *testing.T, config *rest.Config, namespace string) *world {
	t.Helper()
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.InstallCRDs(t.Context(), config, manifests...); err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, namespace: namespace, config: config, client: client, ctx: ctx}
	w.history = w.watch()
	return w
}

// run starts a simulator with a client of its own and returns how to stop it.
func (w *world) run(cloud *simulator.Cloud, opts simulator.Options) (stop func()) {
	w.t.Helper()
	client, err := versioned.NewForConfig(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	opts.Namespace = w.namespace
	logger, _ := ktesting.NewTestContext(w.t)
	opts.Logger = logger
	azure, err := simulator.New(client, cloud, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- azure.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("simulator: %v", err)
		}
	})
	w.t.Cleanup(stop)
	select {
	case <-azure.Ready():
	case <-ctx.Done():
		w.t.Fatal("the simulator isn't ready")
	}
	return stop
}

// start is run with a cloud that is fast and has the faults of a YAML list.
func (w *world) start(faults string) *simulator.Cloud {
	w.t.Helper()
	cloud := newCloud(w.t, faults)
	w.run(cloud, simulator.Options{})
	return cloud
}

func newCloud(t *testing.T, faults string) *simulator.Cloud {
	t.Helper()
	var opts simulator.CloudOptions
	if faults != "" {
		parsed, err := simulator.ParseFaults([]byte(faults))
		if err != nil {
			t.Fatal(err)
		}
		opts.Faults = parsed
	}
	cloud, err := simulator.NewCloud(opts)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// history is what a watch shows of each object: a line for every event.
type history struct {
	mu      sync.Mutex
	lines   map[string][]string
	changed chan struct{}
}

func (w *world) watch() *history {
	w.t.Helper()
	h := &history{lines: map[string][]string{}, changed: make(chan struct{})}
	disk := w.client.AzureDiskV1beta2()
	list, err := disk.AzVolumes(w.namespace).List(w.ctx, metav1.ListOptions{})
	w.check(err)
	// The server closes watches that fall behind; these go on where they were.
	from := func(watch cache.WatchFuncWithContext) watch.Interface {
		watcher, err := toolswatch.NewRetryWatcherWithContext(w.ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: watch})
		w.check(err)
		return watcher
	}
	volumes, attachments := from(disk.AzVolumes(w.namespace).Watch), from(disk.AzVolumeAttachments(w.namespace).Watch)
	var readers sync.WaitGroup
	for _, events := range []watch.Interface{volumes, attachments} {
		readers.Go(func() {
			for event := range events.ResultChan() {
				h.add(event)
			}
		})
	}
	w.t.Cleanup(func() { volumes.Stop(); attachments.Stop(); readers.Wait() })
	return h
}

func (h *history) add(event watch.Event) {
	name, line := render(event.Object)
	if event.Type == watch.Deleted {
		line = "gone"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines[name] = append(h.lines[name], line)
	close(h.changed)
	h.changed = make(chan struct{})
}

// until waits for a last line of the object that begins with prefix.
func (w *world) until(name, prefix string) {
	w.t.Helper()
	timeout := time.After(wait)
	for {
		w.history.mu.Lock()
		lines, changed := w.history.lines[name], w.history.changed
		w.history.mu.Unlock()
		if len(lines) > 0 && strings.HasPrefix(lines[len(lines)-1], prefix) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			w.t.Fatalf("%s: no %q after %v, only:\n%s", name, prefix, wait, strings.Join(lines, "\n"))
		}
	}
}

// expect compares everything that the watch has shown of the object.
func (w *world) expect(name string, want ...string) {
	w.t.Helper()
	w.until(name, want[len(want)-1])
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	if diff := cmp.Diff(want, w.history.lines[name]); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// render shows what an object says, without what doesn't change.
func render(object runtime.Object) (name, line string) {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	meta := func(m metav1.ObjectMeta) {
		add(m.DeletionTimestamp != nil, "deleting")
		add(len(m.Finalizers) == 0, "no finalizer")
	}
	annotations := func(a map[string]string) {
		for _, key := range []string{v1beta2.StatusVolumeDeleteRequest, v1beta2.StatusVolumeDetachRequest, v1beta2.StatusCleanUp} {
			add(a[key] != "", "%s=%s", strings.TrimPrefix(key, v1beta2.GroupName+"/"), a[key])
		}
		add(a[v1beta2.StatusRecovery] != "", "recovered")
	}
	switch o := object.(type) {
	case *v1beta2.AzVolume:
		parts = []string{orNone(string(o.Status.State))}
		if d := o.Status.Detail; d != nil {
			add(true, "%dGi", d.CapacityBytes/gib)
			add(d.NodeExpansionRequired, "expand-node")
		}
		add(o.Status.Error != nil, "error=%s", code(o.Status.Error))
		annotations(o.Status.Annotation)
		meta(o.ObjectMeta)
		return o.Name, strings.Join(parts, " ")
	case *v1beta2.AzVolumeAttachment:
		parts = []string{orNone(string(o.Status.State))}
		if d := o.Status.Detail; d != nil {
			add(true, "LUN=%s %s", d.PublishContext[v1beta2.PublishContextLUN], d.Role)
			add(d.PreviousRole != "", "was=%s", d.PreviousRole)
		}
		add(o.Status.Error != nil, "error=%s", code(o.Status.Error))
		annotations(o.Status.Annotation)
		meta(o.ObjectMeta)
		return o.Name, strings.Join(parts, " ")
	}
	return "", fmt.Sprintf("%T %v", object, object)
}

func orNone(state string) string {
	if state == "" {
		return "-"
	}
	return state
}

func code(e *v1beta2.AzError) v1beta2.ErrorCode {
	if e == nil {
		return ""
	}
	return e.Code
}

// What the driver does.

func (w *world) createVolume(name string, required int64) {
	w.t.Helper()
	_, err := w.client.AzureDiskV1beta2().AzVolumes(w.namespace).Create(w.ctx, &v1beta2.AzVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1beta2.VolumeFinalizer}},
		Spec: v1beta2.AzVolumeSpec{
			VolumeName: name, VolumeCapability: []v1beta2.VolumeCapability{},
			CapacityRange: &v1beta2.CapacityRange{RequiredBytes: required},
		},
	}, metav1.CreateOptions{})
	w.check(err)
}

// createdVolume is createVolume and waits for the disk.
func (w *world) createdVolume(name string) {
	w.t.Helper()
	w.createVolume(name, 10*gib)
	w.until(name, "Created 10Gi")
}

func (w *world) volume(name string, change func(*v1beta2.AzVolume)) {
	w.t.Helper()
	client := w.client.AzureDiskV1beta2().AzVolumes(w.namespace)
	w.check(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		volume, err := client.Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := volume.DeepCopy()
		change(volume)
		if !cmp.Equal(before.Status, volume.Status) {
			_, err = client.UpdateStatus(w.ctx, volume, metav1.UpdateOptions{})
		} else {
			_, err = client.Update(w.ctx, volume, metav1.UpdateOptions{})
		}
		return err
	}))
}

// requestDelete is what the driver writes before its DELETE.
func (w *world) requestDelete(name string) {
	w.t.Helper()
	w.volume(name, func(v *v1beta2.AzVolume) {
		v.Status.State, v.Status.Error = v1beta2.VolumeCreated, nil
		v.Status.Annotation = map[string]string{v1beta2.StatusVolumeDeleteRequest: v1beta2.CloudDeleteVolume}
	})
}

func (w *world) deleteVolume(name string) {
	w.t.Helper()
	w.check(w.client.AzureDiskV1beta2().AzVolumes(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{}))
}

func (w *world) expandVolume(name string, required int64) {
	w.t.Helper()
	w.volume(name, func(v *v1beta2.AzVolume) { v.Spec.CapacityRange = &v1beta2.CapacityRange{RequiredBytes: required} })
}

func attachmentName(volume, node string) string { return volume + "-" + node + "-attachment" }

func (w *world) createAttachment(volume, node string, role v1beta2.Role, requested bool) string {
	w.t.Helper()
	attachment := &v1beta2.AzVolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: attachmentName(volume, node), Finalizers: []string{v1beta2.AttachmentFinalizer}},
		Spec: v1beta2.AzVolumeAttachmentSpec{
			VolumeName: volume, NodeName: node, RequestedRole: role, VolumeContext: map[string]string{},
			VolumeID: "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-simulated/providers/Microsoft.Compute/disks/" + volume,
		},
	}
	if requested {
		attachment.Annotations = map[string]string{v1beta2.AnnotationVolumeAttachRequest: v1beta2.RequesterProvisioner}
	}
	_, err := w.client.AzureDiskV1beta2().AzVolumeAttachments(w.namespace).Create(w.ctx, attachment, metav1.CreateOptions{})
	w.check(err)
	return attachment.Name
}

// attached is createAttachment and waits for the disk.
func (w *world) attached(volume, node string, role v1beta2.Role) string {
	w.t.Helper()
	name := w.createAttachment(volume, node, role, true)
	w.until(name, "Attached")
	return name
}

func (w *world) attachment(name string, change func(*v1beta2.AzVolumeAttachment)) {
	w.t.Helper()
	client := w.client.AzureDiskV1beta2().AzVolumeAttachments(w.namespace)
	w.check(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		attachment, err := client.Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := attachment.DeepCopy()
		change(attachment)
		if !cmp.Equal(before.Status, attachment.Status) {
			_, err = client.UpdateStatus(w.ctx, attachment, metav1.UpdateOptions{})
		} else {
			_, err = client.Update(w.ctx, attachment, metav1.UpdateOptions{})
		}
		return err
	}))
}

func (w *world) requestDetach(name string) {
	w.t.Helper()
	w.attachment(name, func(a *v1beta2.AzVolumeAttachment) {
		if a.Status.State == v1beta2.AttachmentDetachmentFailed {
			a.Status.State, a.Status.Error = v1beta2.AttachmentAttached, nil
		}
		a.Status.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: v1beta2.RequesterProvisioner}
	})
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func expectInventory(t *testing.T, cloud *simulator.Cloud, disks, attachments int) {
	t.Helper()
	if got := cloud.Inventory(); len(got.Disks) != disks || len(got.Attachments) != attachments {
		t.Errorf("the cloud holds %q, want %d disks and %d attachments", got, disks, attachments)
	}
}
