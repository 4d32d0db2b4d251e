//go:build integration

package provisioner_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

const volume = "pvc-3f6c1d9e-0a52-4f7b-9c1e-7d2b8a4e5c03"

const attachment = volume + "-" + nodeID + "-attachment"

func publication(name, node string) provisioner.PublishRequest {
	return provisioner.PublishRequest{
		VolumeID: diskID(name), NodeID: node,
		Capability: v1beta2.VolumeCapability{AccessType: v1beta2.AccessTypeMount, AccessMode: 1},
	}
}

func (h *harness) publish(ctx context.Context, request provisioner.PublishRequest) <-chan answer[map[string]string] {
	return start(func() (map[string]string, error) { return h.Publish(ctx, request) })
}

func (h *harness) unpublish(ctx context.Context, id, node string) <-chan answer[struct{}] {
	return start(func() (struct{}, error) { return struct{}{}, h.Unpublish(ctx, id, node) })
}

// ready makes the volume and waits until the cache has it.
func (h *harness) ready() *v1beta2.AzVolume {
	h.Helper()
	ready := h.disks.readyVolume(volume, 10)
	h.cached(h.volumes, volume, ready.ResourceVersion)
	return ready
}

// with makes the attachment and waits until the cache has it.
func (h *harness) with(status v1beta2.AzVolumeAttachmentStatus) *v1beta2.AzVolumeAttachment {
	h.Helper()
	made := h.disks.putAttachment(attachment, volume, nodeID, status)
	h.cached(h.attached, attachment, made.ResourceVersion)
	return made
}

func wantLUN(t *testing.T, publishContext map[string]string, lun string) {
	t.Helper()
	wantEqual(t, "publish context", publishContext, map[string]string{v1beta2.PublishContextLUN: lun})
}

func TestP1_LUNIsEnough(t *testing.T) {
	h := newHarness(t)
	h.ready()
	answers := h.publish(h.context(), publication(volume, nodeID))
	made := h.disks.awaitAttachment(attachment, "exists", anyAttachment)
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("") })
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("3") })
	wantLUN(t, must(t, answers), "3")
	h.wantRequests("POST azvolumeattachments")
	if made.Annotations[v1beta2.AnnotationVolumeAttachRequest] != v1beta2.RequesterProvisioner {
		t.Errorf("annotations %v: nobody has asked for the attach", made.Annotations)
	}
	wantEqual(t, "spec", made.Spec, v1beta2.AzVolumeAttachmentSpec{
		VolumeName: volume, VolumeID: diskID(volume), NodeName: nodeID, RequestedRole: v1beta2.RolePrimary,
	})
	wantEqual(t, "labels", made.Labels, map[string]string{
		v1beta2.LabelNodeName: nodeID, v1beta2.LabelVolumeName: volume, v1beta2.LabelRequestedRole: "Primary",
	})
	wantEqual(t, "finalizers", made.Finalizers, []string{v1beta2.AttachmentFinalizer})
}

func TestP2_NothingToPublish(t *testing.T) {
	h := newHarness(t)
	_, err := h.Publish(h.context(), publication("x/y", nodeID))
	wantCode(t, err, codes.NotFound)
	h.wantRequests()
	_, err = h.Publish(h.context(), publication(volume, nodeID))
	wantCode(t, err, codes.NotFound)
	h.wantRequests("GET azvolumes/" + volume)
	h.ready()
	_, err = h.Publish(h.context(), publication(volume, "node-9"))
	wantCode(t, err, codes.NotFound)
	h.wantRequests("GET azdrivernodes/node-9")
}

func TestP4_P5_VolumeWithoutADisk(t *testing.T) {
	h := newHarness(t)
	h.disks.putVolume(&v1beta2.AzVolume{ObjectMeta: meta(volume), Status: v1beta2.AzVolumeStatus{State: v1beta2.VolumeCreating}})
	for _, row := range []struct {
		state v1beta2.VolumeState
		want  codes.Code
	}{
		{v1beta2.VolumeCreating, codes.Aborted},
		{v1beta2.VolumeCreationFailed, codes.FailedPrecondition},
		{v1beta2.VolumeDeleting, codes.Aborted},
	} {
		made := h.disks.volumeStatus(volume, func(s *v1beta2.AzVolumeStatus) { s.State = row.state })
		h.cached(h.volumes, volume, made.ResourceVersion)
		_, err := h.Publish(h.context(), publication(volume, nodeID))
		wantCode(t, err, row.want)
	}
	if h.disks.attachment(attachment) != nil {
		t.Error("an attachment was made all the same")
	}
}

func TestP6_AttachedIsReady(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.with(attached("4"))
	published, err := h.Publish(h.context(), publication(volume, nodeID))
	if err != nil {
		t.Fatal(err)
	}
	wantLUN(t, published, "4")
	h.wantRequests()
}

func TestP7_P16_U24_DetachWins(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.with(attaching(""))
	answers := h.publish(h.context(), publication(volume, nodeID))
	made := h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) {
		s.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: v1beta2.RequesterNodeController}
	})
	wantCode(t, (<-answers).err, codes.Aborted)
	h.cached(h.attached, attachment, made.ResourceVersion)
	_, err := h.Publish(h.context(), publication(volume, nodeID))
	wantCode(t, err, codes.Aborted)
}

func TestP8_P10_FailedAttachIsStartedAgain(t *testing.T) {
	h := newHarness(t)
	h.ready()
	status := attaching("7") // S11: the LUN beside a failure means nothing
	status.State = v1beta2.AttachmentFailed
	status.Error = &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"}
	h.with(status)
	h.requests.cut("azvolumeattachments") // the cache keeps the failure
	answers := h.publish(h.context(), publication(volume, nodeID))
	reset := h.disks.awaitAttachment(attachment, "is started again", func(a *v1beta2.AzVolumeAttachment) bool {
		return a.Status.State == v1beta2.AttachmentPending
	})
	if reset.Status.Error != nil || reset.Status.Detail != nil {
		t.Errorf("status %+v", reset.Status)
	}
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("8") })
	h.requests.release("azvolumeattachments", false)
	wantLUN(t, must(t, answers), "8")
}

func TestP11_P12_AttachFails(t *testing.T) {
	h := newHarness(t)
	h.ready()
	for code, want := range map[v1beta2.ErrorCode]codes.Code{
		v1beta2.ErrorNotFound: codes.NotFound, v1beta2.ErrorResourceExhausted: codes.ResourceExhausted, v1beta2.ErrorDanglingAttach: codes.FailedPrecondition,
	} {
		answers := h.publish(h.context(), publication(volume, nodeID))
		h.disks.awaitAttachment(attachment, "waits for its attach", func(a *v1beta2.AzVolumeAttachment) bool {
			return a.Status.State == "" || a.Status.State == v1beta2.AttachmentPending
		})
		h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) {
			s.State, s.Error = v1beta2.AttachmentFailed, &v1beta2.AzError{Code: code, Message: "no"}
		})
		wantCode(t, (<-answers).err, want)
	}
}

func TestP17_P18_RequestIsAdded(t *testing.T) {
	h := newHarness(t)
	h.ready()
	made := h.with(v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentPending, Error: &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"}})
	made.Annotations = nil
	made, err := h.disks.client.AzVolumeAttachments(h.namespace).Update(h.context(), made, updateOptions)
	if err != nil {
		t.Fatal(err)
	}
	h.cached(h.attached, attachment, made.ResourceVersion)
	answers := h.publish(h.context(), publication(volume, nodeID))
	h.disks.awaitAttachment(attachment, "is asked for", func(a *v1beta2.AzVolumeAttachment) bool {
		return a.Annotations[v1beta2.AnnotationVolumeAttachRequest] == v1beta2.RequesterProvisioner
	})
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("2") })
	wantLUN(t, must(t, answers), "2")
}

func TestP20_P21_AnotherProcessWasFirst(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.requests.cut("azvolumeattachments") // the cache lags
	first := h.another().publish(h.context(), publication(volume, nodeID))
	h.disks.awaitAttachment(attachment, "exists", anyAttachment)
	second := h.publish(h.context(), publication(volume, nodeID))
	eventually(t, "the second call looks at what it met", func() bool { return h.requests.seen("GET azvolumeattachments/" + attachment) })
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("5") })
	h.requests.release("azvolumeattachments", false)
	wantLUN(t, must(t, first), "5")
	wantLUN(t, must(t, second), "5")
}

func TestP22_OneNodeAtATime(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.with(attached("4"))
	h.disks.addNode("node-2")
	_, err := h.Publish(h.context(), publication(volume, "node-2"))
	wantCode(t, err, codes.FailedPrecondition)
}

func TestP23_ForeignAttachment(t *testing.T) {
	h := newHarness(t)
	h.ready()
	// An object of another pair that has taken the name.
	made := h.disks.putAttachment(attachment, volume[:len(volume)-1], nodeID, attached("9"))
	h.cached(h.attached, attachment, made.ResourceVersion)
	_, err := h.Publish(h.context(), publication(volume, nodeID))
	wantCode(t, err, codes.AlreadyExists)
}

func TestR1_ReplicaIsPromoted(t *testing.T) {
	h := newHarness(t)
	h.ready()
	status := attached("6")
	status.Detail.Role = v1beta2.RoleReplica
	made := h.with(status)
	made.Spec.RequestedRole = v1beta2.RoleReplica
	made.Labels[v1beta2.LabelRequestedRole] = string(v1beta2.RoleReplica)
	made, err := h.disks.client.AzVolumeAttachments(h.namespace).Update(h.context(), made, updateOptions)
	if err != nil {
		t.Fatal(err)
	}
	h.cached(h.attached, attachment, made.ResourceVersion)
	request := publication(volume, nodeID)
	request.VolumeContext = map[string]string{"a": "b"}
	wantLUN(t, must(t, h.publish(h.context(), request)), "6")
	promoted := h.disks.attachment(attachment)
	if promoted.Spec.RequestedRole != v1beta2.RolePrimary || promoted.Labels[v1beta2.LabelRequestedRole] != "Primary" ||
		promoted.Labels[v1beta2.LabelRoleChange] != v1beta2.RoleChangePromoted || promoted.Spec.VolumeContext["a"] != "b" {
		t.Errorf("spec %+v, labels %v", promoted.Spec, promoted.Labels)
	}
}

func TestU1_DetachThenGone(t *testing.T) {
	h := newHarness(t)
	h.with(attached("1"))
	answers := h.unpublish(h.context(), diskID(volume), nodeID)
	h.disks.awaitAttachment(attachment, "is asked to go", detachAsked)
	h.disks.detach(attachment)
	must(t, answers)
	h.wantRequests("PUT azvolumeattachments/" + attachment + "/status")
}

func detachAsked(a *v1beta2.AzVolumeAttachment) bool {
	return a.Status.Annotation[v1beta2.StatusVolumeDetachRequest] == v1beta2.RequesterProvisioner
}

func TestU2_AbsenceIsConfirmed(t *testing.T) {
	h := newHarness(t)
	if err := h.Unpublish(h.context(), diskID(volume), nodeID); err != nil {
		t.Fatal(err)
	}
	h.wantRequests("GET azvolumeattachments/" + attachment)
	if err := h.Unpublish(h.context(), "x", nodeID); err != nil { // U22
		t.Fatal(err)
	}
	h.wantRequests()
}

func TestU3_LaggingCache(t *testing.T) {
	h := newHarness(t)
	h.requests.cut("azvolumeattachments")
	h.disks.putAttachment(attachment, volume, nodeID, attached("1"))
	answers := h.unpublish(h.context(), diskID(volume), nodeID)
	h.disks.awaitAttachment(attachment, "is asked to go", detachAsked)
	h.disks.detach(attachment)
	h.requests.release("azvolumeattachments", false)
	must(t, answers)
	h.wantRequests("GET azvolumeattachments/"+attachment, "PUT azvolumeattachments/"+attachment+"/status")
}

func TestU6_OldAttachErrorIsNoNews(t *testing.T) {
	h := newHarness(t)
	h.with(v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentFailed, Error: &v1beta2.AzError{Code: v1beta2.ErrorResourceExhausted, Message: "old"}})
	answers := h.unpublish(h.context(), diskID(volume), nodeID)
	asked := h.disks.awaitAttachment(attachment, "is asked to go", detachAsked)
	if asked.Status.Error != nil || asked.Status.State != v1beta2.AttachmentFailed {
		t.Errorf("status %+v", asked.Status)
	}
	h.disks.detach(attachment)
	must(t, answers)
}

// U7: the attach ends. U8: it fails. U9: it never ends, and the request is
// written all the same.
func TestU7_U8_U9_RunningAttachComesFirst(t *testing.T) {
	failed := v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentFailed, Error: &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "no"}}
	done := attached("1")
	for name, end := range map[string]*v1beta2.AzVolumeAttachmentStatus{"U7": &done, "U8": &failed, "U9": nil} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.with(attaching("1"))
			ctx := h.context()
			if end == nil {
				short, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				ctx = short
			}
			answers := h.unpublish(ctx, diskID(volume), nodeID)
			if end != nil {
				h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = *end })
			}
			h.disks.awaitAttachment(attachment, "is asked to go", detachAsked)
			h.disks.detach(attachment)
			must(t, answers)
		})
	}
}

func TestU11_U12_FailedDetach(t *testing.T) {
	h := newHarness(t)
	status := attached("1")
	status.State = v1beta2.AttachmentDetachmentFailed
	status.Error = &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"}
	status.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: v1beta2.RequesterProvisioner}
	h.with(status)
	h.requests.cut("azvolumeattachments") // the cache keeps the old error
	answers := h.unpublish(h.context(), diskID(volume), nodeID)
	h.disks.awaitAttachment(attachment, "is asked to go again", func(a *v1beta2.AzVolumeAttachment) bool {
		return a.Status.State == v1beta2.AttachmentAttached && a.Status.Error == nil && detachAsked(a)
	})
	h.requests.release("azvolumeattachments", false)
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) {
		s.State, s.Error = v1beta2.AttachmentDetachmentFailed, &v1beta2.AzError{Code: v1beta2.ErrorUnavailable, Message: "new"}
	})
	wantCode(t, (<-answers).err, codes.Unavailable)
}

func TestU18_U19_DemotedInsteadOfDetached(t *testing.T) {
	h := newHarness(t)
	shared := h.disks.putVolume(&v1beta2.AzVolume{ObjectMeta: meta(volume), Spec: v1beta2.AzVolumeSpec{MaxMountReplicaCount: 1}})
	h.cached(h.volumes, volume, shared.ResourceVersion)
	h.with(attached("1"))
	if err := h.Unpublish(h.context(), diskID(volume), nodeID); err != nil {
		t.Fatal(err)
	}
	demoted := h.disks.attachment(attachment)
	if demoted.Spec.RequestedRole != v1beta2.RoleReplica || demoted.Labels[v1beta2.LabelRequestedRole] != "Replica" ||
		demoted.Labels[v1beta2.LabelRoleChange] != v1beta2.RoleChangeDemoted || detachRequestedBy(demoted) != "" {
		t.Errorf("attachment %+v", demoted)
	}
	h.cached(h.attached, attachment, demoted.ResourceVersion)
	h.requests.made()
	if err := h.Unpublish(h.context(), diskID(volume), nodeID); err != nil {
		t.Fatal(err)
	}
	h.wantRequests()
}

func detachRequestedBy(a *v1beta2.AzVolumeAttachment) string {
	return a.Status.Annotation[v1beta2.StatusVolumeDetachRequest]
}
