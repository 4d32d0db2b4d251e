//go:build integration

package provisioner_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// The cache still holds an attachment that is on its way out; on the server it is
// gone, and the volume was published again. The end of the old one is no answer.
func TestU3_U10_SuccessorOfACachedAttachment(t *testing.T) {
	detaching := attached("1")
	detaching.State = v1beta2.AttachmentDetaching
	detaching.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: v1beta2.RequesterProvisioner}
	for name, cached := range map[string]v1beta2.AzVolumeAttachmentStatus{"detaching": detaching, "attaching": attaching("1")} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.with(cached)
			h.requests.cut("azvolumeattachments")
			h.disks.removeAttachment(context.Background(), attachment)
			h.disks.putAttachment(attachment, volume, nodeID, attached("2"))
			answers := h.unpublish(h.context(), diskID(volume), nodeID)
			h.requests.release("azvolumeattachments", false)
			eventually(t, "the new attachment is asked to go", func() bool {
				select {
				case a := <-answers:
					t.Fatalf("answered %v while the new attachment stands", a.err)
				default:
				}
				return detachAsked(h.disks.attachment(attachment))
			})
			h.disks.detach(attachment)
			must(t, answers)
		})
	}
}

// The same for volumes: what the cache shows is deleted or in the making, and the
// server has another one of the name since.
func TestD4_D8_SuccessorOfACachedVolume(t *testing.T) {
	creating := v1beta2.AzVolumeStatus{State: v1beta2.VolumeCreating}
	deleting := v1beta2.AzVolumeStatus{
		State:      v1beta2.VolumeDeleting,
		Detail:     &v1beta2.AzVolumeStatusDetail{VolumeID: diskID("vol"), CapacityBytes: 10 << 30},
		Annotation: map[string]string{v1beta2.StatusVolumeDeleteRequest: v1beta2.CloudDeleteVolume},
	}
	for name, cached := range map[string]v1beta2.AzVolumeStatus{"creating": creating, "deleting": deleting} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			old := h.disks.putVolume(&v1beta2.AzVolume{
				ObjectMeta: metav1.ObjectMeta{Name: "vol", Finalizers: []string{v1beta2.VolumeFinalizer}}, Status: cached,
			})
			if name == "deleting" {
				old = h.disks.markDeleted("vol")
			}
			h.cached(h.volumes, "vol", old.ResourceVersion)
			h.requests.cut("azvolumes")
			if name != "deleting" {
				h.disks.markDeleted("vol")
			}
			h.disks.dropVolume("vol")
			h.disks.readyVolume("vol", 10)
			answers := h.delete(h.context(), diskID("vol"))
			h.requests.release("azvolumes", false)
			eventually(t, "the new volume is asked to go", func() bool {
				select {
				case a := <-answers:
					t.Fatalf("answered %v while the new volume stands", a.err)
				default:
				}
				return deletionAsked(h.disks.volume("vol"))
			})
			h.disks.dropVolume("vol")
			must(t, answers)
		})
	}
}

// Others name an attachment by the Azure side's own rule, and the cache lags.
func TestU3_AttachmentOfOthersUnderALaggingCache(t *testing.T) {
	h := newHarness(t)
	h.requests.cut("azvolumeattachments")
	const plain = "data-" + nodeID + "-attachment"
	h.disks.putAttachment(plain, "data", nodeID, attached("1"))
	answers := h.unpublish(h.context(), diskID("data"), nodeID)
	eventually(t, "it is asked to go", func() bool {
		select {
		case a := <-answers:
			t.Fatalf("answered %v while the disk is attached", a.err)
		default:
		}
		return detachAsked(h.disks.attachment(plain))
	})
	h.disks.detach(plain)
	h.requests.release("azvolumeattachments", false)
	must(t, answers)
}
