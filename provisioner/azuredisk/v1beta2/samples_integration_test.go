//go:build integration

package v1beta2_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// A real API server with our CRDs takes each sample from the typed client, as a
// create and then a write of its status, and gives back what was sent.
func TestSamplesOnServer(t *testing.T) {
	clientset, namespace := connect(t)
	disk := clientset.AzureDiskV1beta2()
	files, err := filepath.Glob("testdata/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sample, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(sample, &kind); err != nil {
				t.Fatal(err)
			}
			// A suffix, because some samples are the same object at two times.
			name := "-" + filepath.Base(file)[:2]
			switch kind.Kind {
			case v1beta2.KindAzVolume:
				var volume v1beta2.AzVolume
				decode(t, sample, &volume)
				volume.ObjectMeta = writable(volume.ObjectMeta, namespace, name)
				created := writeBoth(t, &volume, disk.AzVolumes(namespace).Create, disk.AzVolumes(namespace).UpdateStatus,
					func(from, to *v1beta2.AzVolume) { to.Status = from.Status })
				equal(t, volume.Spec, created.Spec)
				equal(t, volume.Status, created.Status)
			case v1beta2.KindAzVolumeAttachment:
				var attachment v1beta2.AzVolumeAttachment
				decode(t, sample, &attachment)
				attachment.ObjectMeta = writable(attachment.ObjectMeta, namespace, name)
				created := writeBoth(t, &attachment, disk.AzVolumeAttachments(namespace).Create, disk.AzVolumeAttachments(namespace).UpdateStatus,
					func(from, to *v1beta2.AzVolumeAttachment) { to.Status = from.Status })
				equal(t, attachment.Spec, created.Spec)
				equal(t, attachment.Status, created.Status)
			default:
				t.Fatalf("kind %s", kind.Kind)
			}
		})
	}
}

// A create drops the status, and a write of the status changes nothing else:
// the status subresource is on for each kind.
func TestStatusSubresource(t *testing.T) {
	clientset, namespace := connect(t)
	ctx := t.Context()
	nodes := clientset.AzureDiskV1beta2().AzDriverNodes(namespace)
	ready := true
	node := &v1beta2.AzDriverNode{
		ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Spec:       v1beta2.AzDriverNodeSpec{NodeName: "node"},
		Status:     v1beta2.AzDriverNodeStatus{ReadyForVolumeAllocation: &ready},
	}
	created, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, v1beta2.AzDriverNodeStatus{}, created.Status)

	now := metav1.Now().Rfc3339Copy()
	created.Spec.NodeName = "another"
	created.Status = v1beta2.AzDriverNodeStatus{
		LastHeartbeatTime:        &now,
		ReadyForVolumeAllocation: &ready,
		Conditions:               []v1beta2.AzDriverNodeCondition{{Type: "Ready", Status: metav1.ConditionTrue}},
	}
	updated, err := nodes.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "node", updated.Spec.NodeName)
	equal(t, created.Status, updated.Status)
}

// A nil in Go becomes null in JSON, which the server refuses for the two
// collections that are required: callers must send empty ones.
func TestNullIsRefused(t *testing.T) {
	clientset, namespace := connect(t)
	ctx, disk := t.Context(), clientset.AzureDiskV1beta2()
	meta := metav1.ObjectMeta{Name: "null"}
	_, err := disk.AzVolumes(namespace).Create(ctx, &v1beta2.AzVolume{ObjectMeta: meta}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("AzVolume with volumeCapability null: %v, want Invalid", err)
	}
	_, err = disk.AzVolumeAttachments(namespace).Create(ctx, &v1beta2.AzVolumeAttachment{ObjectMeta: meta}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("AzVolumeAttachment with volume_context null: %v, want Invalid", err)
	}
}

func connect(t *testing.T) (clientset versioned.Interface, namespace string) {
	t.Helper()
	cluster := clustertest.Shared(t)
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	cluster.InstallCRDs(t, manifests...)
	clientset, err = versioned.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return clientset, cluster.Namespace(t)
}

// writeBoth creates the object, then writes its status. Strict: the server
// refuses fields that its schema doesn't have.
func writeBoth[T any](
	t *testing.T, object *T,
	create func(context.Context, *T, metav1.CreateOptions) (*T, error),
	updateStatus func(context.Context, *T, metav1.UpdateOptions) (*T, error),
	copyStatus func(from, to *T),
) *T {
	t.Helper()
	created, err := create(t.Context(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	copyStatus(object, created)
	updated, err := updateStatus(t.Context(), created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatalf("write the status: %v", err)
	}
	return updated
}

// writable keeps of an object's metadata what a client may set.
func writable(meta metav1.ObjectMeta, namespace, suffix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   namespace,
		Name:        meta.Name + suffix,
		Labels:      meta.Labels,
		Annotations: meta.Annotations,
		Finalizers:  meta.Finalizers,
	}
}

func decode(t *testing.T, document []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
}
