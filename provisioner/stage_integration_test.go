//go:build integration

package provisioner_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func (h *harness) stage(lun string) <-chan answer[string] {
	return start(func() (string, error) { return h.WaitForAttach(h.context(), diskID(volume), nodeID, lun) })
}

func TestN1_AttachedIsReady(t *testing.T) {
	h := newHarness(t)
	h.with(attached("4"))
	wantEqual(t, "LUN", must(t, h.stage("4")), "4")
	h.wantRequests("GET azvolumeattachments/" + attachment)
}

func TestN2_LUNIsNotEnough(t *testing.T) {
	h := newHarness(t)
	h.with(attaching("4"))
	answers := h.stage("4")
	eventually(t, "the attachment is read", func() bool { return h.requests.seen("GET azvolumeattachments/" + attachment) })
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attached("4") })
	wantEqual(t, "LUN", must(t, answers), "4")
	h.wantRequests("GET azvolumeattachments/" + attachment)
}

func TestN4_N5_FailedAttachIsStartedAgain(t *testing.T) {
	h := newHarness(t)
	h.with(v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentFailed, Error: &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"}})
	answers := h.stage("")
	h.disks.awaitAttachment(attachment, "is started again", func(a *v1beta2.AzVolumeAttachment) bool {
		return a.Status.State == v1beta2.AttachmentPending && a.Status.Error == nil
	})
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) {
		s.State, s.Error = v1beta2.AttachmentFailed, &v1beta2.AzError{Code: v1beta2.ErrorUnavailable, Message: "new"}
	})
	wantCode(t, (<-answers).err, codes.Unavailable)
	h.wantRequests("GET azvolumeattachments/"+attachment, "PUT azvolumeattachments/"+attachment+"/status")
}

func TestN6_NotPublished(t *testing.T) {
	h := newHarness(t)
	wantCode(t, (<-h.stage("4")).err, codes.NotFound)
	h.wantRequests("GET azvolumeattachments/" + attachment)
}

func TestN8_DeletedWhileWaiting(t *testing.T) {
	h := newHarness(t)
	h.with(attaching("4"))
	answers := h.stage("4")
	eventually(t, "the attachment is read", func() bool { return h.requests.seen("GET azvolumeattachments/" + attachment) })
	h.disks.removeAttachment(h.context(), attachment)
	wantCode(t, (<-answers).err, codes.Aborted)
}

func TestN10_NobodyAsked(t *testing.T) {
	h := newHarness(t)
	made := h.with(v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentPending})
	made.Annotations = nil
	if _, err := h.disks.client.AzVolumeAttachments(h.namespace).Update(h.context(), made, updateOptions); err != nil {
		t.Fatal(err)
	}
	wantCode(t, (<-h.stage("4")).err, codes.FailedPrecondition)
}

// The cache still has the attachment from before: attached, primary, another UID
// and LUN.
func TestN15_StaleAttachmentInTheCache(t *testing.T) {
	for _, lun := range []string{"", "5"} { // what Publish returned
		t.Run("lun="+lun, func(t *testing.T) {
			h := newHarness(t)
			h.with(attached("3"))
			h.requests.cut("azvolumeattachments")
			h.disks.removeAttachment(h.context(), attachment)
			h.disks.putAttachment(attachment, volume, nodeID, attaching("5"))
			answers := h.stage(lun)
			eventually(t, "the attachment is read", func() bool { return h.requests.seen("GET azvolumeattachments/" + attachment) })
			h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attached("5") })
			select {
			case a := <-answers:
				t.Fatalf("ended on the old attachment: %v, %v", a.value, a.err)
			default:
			}
			h.requests.release("azvolumeattachments", false)
			wantEqual(t, "LUN", must(t, answers), "5")
		})
	}
}
