package v1beta2_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/client/informers"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/fake"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// The generated packages fit together: what the clientset writes, the informer
// sees and the lister finds, for each kind.
func TestGeneratedClients(t *testing.T) {
	ctx := t.Context()
	meta := metav1.ObjectMeta{Namespace: v1beta2.DefaultNamespace, Name: "a"}
	clientset := fake.NewSimpleClientset()
	disk := clientset.AzureDiskV1beta2()
	if _, err := disk.AzVolumes(meta.Namespace).Create(ctx, &v1beta2.AzVolume{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.AzVolumeAttachments(meta.Namespace).Create(ctx, &v1beta2.AzVolumeAttachment{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.AzDriverNodes(meta.Namespace).Create(ctx, &v1beta2.AzDriverNode{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(meta.Namespace))
	group := factory.AzureDisk().V1beta2()
	volumes, attachments, nodes := group.AzVolumes().Lister(), group.AzVolumeAttachments().Lister(), group.AzDriverNodes().Lister()
	factory.Start(ctx.Done())
	t.Cleanup(factory.Shutdown)
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Errorf("%s: not synced", kind)
		}
	}
	if _, err := volumes.AzVolumes(meta.Namespace).Get(meta.Name); err != nil {
		t.Error(err)
	}
	if _, err := attachments.AzVolumeAttachments(meta.Namespace).Get(meta.Name); err != nil {
		t.Error(err)
	}
	if _, err := nodes.AzDriverNodes(meta.Namespace).Get(meta.Name); err != nil {
		t.Error(err)
	}

	for _, resource := range []struct {
		got  string
		want string
	}{
		{v1beta2.AzVolumes().String(), "disk.csi.azure.com/v1beta2, Resource=azvolumes"},
		{v1beta2.AzVolumeAttachments().String(), "disk.csi.azure.com/v1beta2, Resource=azvolumeattachments"},
		{v1beta2.AzDriverNodes().String(), "disk.csi.azure.com/v1beta2, Resource=azdrivernodes"},
	} {
		if resource.got != resource.want {
			t.Errorf("resource %s, want %s", resource.got, resource.want)
		}
	}
}
