//go:build integration

package provisioner_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// The API server dies and comes back while calls of every kind wait: none is
// lost, and none ends before its object says so.
func TestX12_ServerDiesWhileCallsWait(t *testing.T) {
	server := clustertest.Own(t, controlplane.Options{})
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.InstallCRDs(t.Context(), manifests...); err != nil {
		t.Fatal(err)
	}
	const namespace = "restart"
	_, err = kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := versioned.NewForConfigOrDie(server.Config()).AzureDiskV1beta2()
	h := &harness{T: t, namespace: namespace, disks: &otherSide{t: t, namespace: namespace, client: client}}
	h.disks.addNode(nodeID)
	h.start(server)

	const each = 5
	var creates []<-chan answer[*provisioner.Volume]
	var publishes []<-chan answer[map[string]string]
	var expansions []<-chan answer[*provisioner.Expansion]
	var deletes []<-chan answer[struct{}]
	name := func(kind string, i int) string { return fmt.Sprintf("%s-%d", kind, i) }
	for i := range each {
		creates = append(creates, h.create(h.context(), tenGiB(name("create", i))))
		for _, kind := range []string{"publish", "expand", "delete"} {
			ready := h.disks.readyVolume(name(kind, i), 10)
			h.cached(h.volumes, name(kind, i), ready.ResourceVersion)
		}
		publishes = append(publishes, h.publish(h.context(), publication(name("publish", i), nodeID)))
		expansions = append(expansions, start(func() (*provisioner.Expansion, error) {
			return h.Expand(h.context(), diskID(name("expand", i)), v1beta2.CapacityRange{RequiredBytes: 20 << 30})
		}))
		deletes = append(deletes, h.delete(h.context(), diskID(name("delete", i))))
	}
	var attachments []string
	for i := range each {
		h.disks.awaitVolume(name("create", i), "exists", anyVolume)
		h.disks.awaitVolume(name("expand", i), "is to grow", func(v *v1beta2.AzVolume) bool { return v.Spec.CapacityRange.RequiredBytes == 20<<30 })
		h.disks.awaitVolume(name("delete", i), "is asked to go", deletionAsked)
	}
	eventually(t, "every attachment exists", func() bool {
		list, err := client.AzVolumeAttachments(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		attachments = nil
		for _, a := range list.Items {
			attachments = append(attachments, a.Name)
		}
		return len(attachments) == each
	})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	ended := func() (ended int) {
		for i := range each {
			ended += len(creates[i]) + len(publishes[i]) + len(expansions[i]) + len(deletes[i])
		}
		return ended
	}
	if n := ended(); n != 0 {
		t.Fatalf("%d calls ended with nothing done", n)
	}
	for i := range each {
		h.disks.volumeCreated(name("create", i), 10)
		h.disks.attachmentStatus(attachments[i], func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("7") })
		h.disks.volumeStatus(name("expand", i), func(s *v1beta2.AzVolumeStatus) { s.State, s.Detail.CapacityBytes = v1beta2.VolumeUpdated, 20<<30 })
		h.disks.dropVolume(name("delete", i))
	}
	for i := range each {
		must(t, creates[i])
		wantLUN(t, must(t, publishes[i]), "7")
		must(t, expansions[i])
		must(t, deletes[i])
	}
}
