//go:build integration

package provisioner_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func (h *harness) delete(ctx context.Context, id string) <-chan answer[struct{}] {
	return start(func() (struct{}, error) { return struct{}{}, h.DeleteVolume(ctx, id) })
}

// markDeleted is somebody's DELETE.
func (o *otherSide) markDeleted(name string) *v1beta2.AzVolume {
	o.t.Helper()
	if err := o.client.AzVolumes(o.namespace).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		o.t.Fatal(err)
	}
	return o.awaitVolume(name, "is being deleted", func(v *v1beta2.AzVolume) bool { return v.DeletionTimestamp != nil })
}

func deletionAsked(v *v1beta2.AzVolume) bool {
	return v.DeletionTimestamp != nil && v.Status.Annotation[v1beta2.StatusVolumeDeleteRequest] == v1beta2.CloudDeleteVolume
}

func TestD1_RequestThenDelete(t *testing.T) {
	h := newHarness(t)
	ready := h.disks.readyVolume("vol", 10)
	h.cached(h.volumes, "vol", ready.ResourceVersion)
	answers := h.delete(h.context(), diskID("vol"))
	h.disks.awaitVolume("vol", "is asked to go", deletionAsked)
	h.disks.volumeState("vol", v1beta2.VolumeDeleting)
	h.disks.dropVolume("vol")
	must(t, answers)
	h.wantRequests("PUT azvolumes/vol/status", "DELETE azvolumes/vol")
}

func TestD2_ForeignID(t *testing.T) {
	h := newHarness(t)
	for _, id := range []string{"x", "/subscriptions/0-0/resourceGroups/rg/providers/Microsoft.Compute/snapshots/vol"} {
		if err := h.DeleteVolume(h.context(), id); err != nil {
			t.Error(err)
		}
	}
	h.wantRequests()
}

func TestD3_AbsenceIsConfirmed(t *testing.T) {
	h := newHarness(t)
	if err := h.DeleteVolume(h.context(), diskID("vol")); err != nil {
		t.Fatal(err)
	}
	h.wantRequests("GET azvolumes/vol")
}

func TestD4_LaggingCache(t *testing.T) {
	h := newHarness(t)
	h.requests.cut("azvolumes")
	h.disks.readyVolume("vol", 10)
	answers := h.delete(h.context(), diskID("vol"))
	h.disks.awaitVolume("vol", "is asked to go", deletionAsked)
	h.disks.dropVolume("vol")
	h.requests.release("azvolumes", false)
	must(t, answers)
	h.wantRequests("GET azvolumes/vol", "PUT azvolumes/vol/status", "DELETE azvolumes/vol")
}

func TestD5_ReadyMadeDiskStays(t *testing.T) {
	h := newHarness(t)
	h.disks.readyVolume("vol", 10)
	volume := h.disks.volumeStatus("vol", func(s *v1beta2.AzVolumeStatus) {
		s.Annotation = map[string]string{v1beta2.StatusPreProvisioned: "true"}
	})
	h.cached(h.volumes, "vol", volume.ResourceVersion)
	if err := h.DeleteVolume(h.context(), diskID("vol")); err != nil {
		t.Fatal(err)
	}
	h.wantRequests()
}

// D9, D10: an expansion ends first, however it ends.
func TestD9_D10_ExpansionEndsFirst(t *testing.T) {
	h := newHarness(t)
	for name, state := range map[string]v1beta2.VolumeState{"updated": v1beta2.VolumeUpdated, "failed": v1beta2.VolumeUpdateFailed} {
		t.Run(name, func(t *testing.T) {
			h.disks.readyVolume(name, 10)
			updating := h.disks.volumeStatus(name, func(s *v1beta2.AzVolumeStatus) { s.State = v1beta2.VolumeUpdating })
			h.cached(h.volumes, name, updating.ResourceVersion)
			answers := h.delete(h.context(), diskID(name))
			h.disks.volumeFailed(name, state, v1beta2.ErrorOutOfRange, "no")
			h.disks.awaitVolume(name, "is asked to go", deletionAsked)
			h.disks.dropVolume(name)
			must(t, answers)
		})
	}
}

func TestD6_D8_CreationEndsFirst(t *testing.T) {
	h := newHarness(t)
	for name, end := range map[string]func(string){
		"created":  func(name string) { h.disks.volumeCreated(name, 10) },
		"vanished": nil,
	} {
		t.Run(name, func(t *testing.T) {
			volume := h.disks.putVolume(&v1beta2.AzVolume{
				ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1beta2.VolumeFinalizer}},
				Status:     v1beta2.AzVolumeStatus{State: v1beta2.VolumeCreating},
			})
			h.cached(h.volumes, name, volume.ResourceVersion)
			answers := h.delete(h.context(), diskID(name))
			if end == nil {
				h.disks.markDeleted(name)
				h.disks.dropVolume(name)
				must(t, answers)
				return
			}
			end(name)
			h.disks.awaitVolume(name, "is asked to go", deletionAsked)
			h.disks.dropVolume(name)
			must(t, answers)
		})
	}
}

func TestD14_D15_OldErrorIsNoNews(t *testing.T) {
	h := newHarness(t)
	h.disks.readyVolume("vol", 10)
	h.disks.markDeleted("vol")
	failed := h.disks.volumeFailed("vol", v1beta2.VolumeDeletionFailed, v1beta2.ErrorInternal, "old")
	h.cached(h.volumes, "vol", failed.ResourceVersion)
	h.requests.cut("azvolumes") // the cache keeps the old error
	answers := h.delete(h.context(), diskID("vol"))
	h.disks.awaitVolume("vol", "is asked to go again", func(v *v1beta2.AzVolume) bool {
		return v.Status.Error == nil && v.Status.State == v1beta2.VolumeCreated && deletionAsked(v)
	})
	h.requests.release("azvolumes", false)
	h.disks.volumeFailed("vol", v1beta2.VolumeDeletionFailed, v1beta2.ErrorFailedPrecondition, "new") // D16
	wantCode(t, (<-answers).err, codes.FailedPrecondition)
	h.wantRequests("PUT azvolumes/vol/status")
}

// The AzVolume vanishes while the watch is cut, and the server no longer knows
// what was missed: the reflector lists again and delivers a tombstone.
func TestD17_Tombstone(t *testing.T) {
	h := newHarness(t)
	ready := h.disks.readyVolume("vol", 10)
	h.cached(h.volumes, "vol", ready.ResourceVersion)
	answers := h.delete(h.context(), diskID("vol"))
	marked := h.disks.awaitVolume("vol", "is asked to go", deletionAsked)
	h.cached(h.volumes, "vol", marked.ResourceVersion)
	h.requests.cut("azvolumes")
	h.disks.volumeState("vol", v1beta2.VolumeDeleting)
	h.disks.dropVolume("vol")
	h.requests.release("azvolumes", true)
	must(t, answers)
	eventually(t, "the informer has delivered a tombstone", func() bool { return h.tombs.Load() == 1 })
	h.wantRequests("PUT azvolumes/vol/status", "DELETE azvolumes/vol")
}

func TestD19_DeleteFindsNothing(t *testing.T) {
	h := newHarness(t)
	ready := h.disks.readyVolume("vol", 10)
	h.cached(h.volumes, "vol", ready.ResourceVersion)
	h.requests.cut("azvolumes")
	h.disks.markDeleted("vol")
	h.disks.dropVolume("vol")
	if err := h.DeleteVolume(h.context(), diskID("vol")); err != nil { // while the cache still has it
		t.Fatal(err)
	}
	h.wantRequests("PUT azvolumes/vol/status")
}

func TestD25_DiskOfTheSameName(t *testing.T) {
	h := newHarness(t)
	ready := h.disks.readyVolume("vol", 10)
	h.cached(h.volumes, "vol", ready.ResourceVersion)
	if err := h.DeleteVolume(h.context(), "/subscriptions/0-0/resourceGroups/other/providers/Microsoft.Compute/disks/vol"); err != nil {
		t.Fatal(err)
	}
	h.wantRequests("GET azvolumes/vol")
}

func TestD26_AttachedVolumeIsInUse(t *testing.T) {
	h := newHarness(t)
	ready := h.disks.readyVolume("vol", 10)
	attachment := h.disks.putAttachment("vol-att", "vol", nodeID, attached("1"))
	h.cached(h.volumes, "vol", ready.ResourceVersion)
	h.cached(h.attached, "vol-att", attachment.ResourceVersion)
	wantCode(t, h.DeleteVolume(h.context(), diskID("vol")), codes.FailedPrecondition)
	h.wantRequests()
}

func TestD27_DeadlineThenRetry(t *testing.T) {
	h := newHarness(t)
	ready := h.disks.readyVolume("vol", 10)
	h.cached(h.volumes, "vol", ready.ResourceVersion)
	ctx, cancel := context.WithTimeout(h.context(), 500*time.Millisecond)
	defer cancel()
	wantCode(t, h.DeleteVolume(ctx, diskID("vol")), codes.DeadlineExceeded)
	answers := h.delete(h.context(), diskID("vol"))
	h.disks.dropVolume("vol")
	must(t, answers)
	// The GET: the retry writes nothing, and what its cache holds may be an old one.
	h.wantRequests("PUT azvolumes/vol/status", "DELETE azvolumes/vol", "GET azvolumes/vol")
}
