//go:build integration

package provisioner_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

var updateOptions = metav1.UpdateOptions{}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Finalizers: []string{v1beta2.VolumeFinalizer}}
}

func (h *harness) expand(gib int64) <-chan answer[*provisioner.Expansion] {
	return start(func() (*provisioner.Expansion, error) {
		return h.Expand(h.context(), diskID(volume), v1beta2.CapacityRange{RequiredBytes: gib << 30})
	})
}

func (h *harness) expanded(gib int64) {
	h.Helper()
	h.disks.awaitVolume(volume, "is asked to grow", func(v *v1beta2.AzVolume) bool { return v.Spec.CapacityRange.RequiredBytes == gib<<30 })
	h.disks.volumeState(volume, v1beta2.VolumeUpdating)
	h.disks.volumeStatus(volume, func(s *v1beta2.AzVolumeStatus) {
		s.State, s.Detail.CapacityBytes, s.Detail.NodeExpansionRequired = v1beta2.VolumeUpdated, gib<<30, true
	})
}

func TestE1_Expand(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.grow(20)
	h.wantRequests("PUT azvolumes/" + volume)
}

func (h *harness) grow(gib int64) {
	h.Helper()
	answers := h.expand(gib)
	h.expanded(gib)
	wantEqual(h.T, "expansion", *must(h.T, answers), provisioner.Expansion{CapacityBytes: gib << 30, NodeExpansionRequired: true})
}

func TestE2_E18_ExpandAgain(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.grow(20)
	h.grow(30)
	h.requests.made()
	// Smaller than it is: done, and the spec is never lowered.
	wantEqual(t, "expansion", *must(t, h.expand(15)), provisioner.Expansion{CapacityBytes: 30 << 30, NodeExpansionRequired: true})
	h.wantRequests()
	if size := h.disks.volume(volume).Spec.CapacityRange.RequiredBytes; size != 30<<30 {
		t.Errorf("the spec asks for %d bytes", size)
	}
}

func TestE4_FailedExpansionIsStartedAgain(t *testing.T) {
	h := newHarness(t)
	h.ready()
	failed := h.disks.volumeFailed(volume, v1beta2.VolumeUpdateFailed, v1beta2.ErrorInternal, "old")
	h.cached(h.volumes, volume, failed.ResourceVersion)
	h.requests.cut("azvolumes") // the cache keeps the old error
	answers := h.expand(20)
	h.disks.awaitVolume(volume, "is started again", func(v *v1beta2.AzVolume) bool {
		return v.Status.State == v1beta2.VolumeCreated && v.Status.Error == nil && v.Spec.CapacityRange.RequiredBytes == 20<<30
	})
	h.requests.release("azvolumes", false)
	h.expanded(20)
	must(t, answers)
	h.wantRequests("PUT azvolumes/"+volume, "PUT azvolumes/"+volume+"/status")
}

func TestE6_E7_E8_E10_E11_ExpandFails(t *testing.T) {
	h := newHarness(t)
	_, err := h.Expand(h.context(), "x", v1beta2.CapacityRange{RequiredBytes: 1})
	wantCode(t, err, codes.NotFound)
	wantCode(t, (<-h.expand(20)).err, codes.NotFound)
	h.wantRequests("GET azvolumes/" + volume)

	h.ready()
	answers := h.expand(20)
	h.disks.awaitVolume(volume, "is asked to grow", func(v *v1beta2.AzVolume) bool { return v.Spec.CapacityRange.RequiredBytes == 20<<30 })
	h.disks.volumeFailed(volume, v1beta2.VolumeUpdateFailed, v1beta2.ErrorOutOfRange, "too large")
	wantCode(t, (<-answers).err, codes.OutOfRange)

	answers = h.expand(20)
	h.disks.awaitVolume(volume, "is started again", func(v *v1beta2.AzVolume) bool { return v.Status.State == v1beta2.VolumeCreated })
	marked := h.disks.markDeleted(volume)
	wantCode(t, (<-answers).err, codes.Aborted)
	h.cached(h.volumes, volume, marked.ResourceVersion)
	wantCode(t, (<-h.expand(20)).err, codes.Aborted)
	h.disks.dropVolume(volume)
}
