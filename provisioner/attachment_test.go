package provisioner

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

const testVolumeID = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/disks/v"

func azAttachment(changes ...func(*v1beta2.AzVolumeAttachment)) *v1beta2.AzVolumeAttachment {
	a := &v1beta2.AzVolumeAttachment{}
	a.Name, a.Namespace = "a", "n"
	a.Annotations = map[string]string{v1beta2.AnnotationVolumeAttachRequest: v1beta2.RequesterProvisioner}
	a.Spec = v1beta2.AzVolumeAttachmentSpec{VolumeName: "v", VolumeID: testVolumeID, NodeName: "node", RequestedRole: v1beta2.RolePrimary}
	for _, change := range changes {
		change(a)
	}
	return a
}

func inState(state v1beta2.AttachmentState) func(*v1beta2.AzVolumeAttachment) {
	return func(a *v1beta2.AzVolumeAttachment) { a.Status.State = state }
}

func withError(a *v1beta2.AzVolumeAttachment) {
	a.Status.Error = &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"}
}
func withDeletion(a *v1beta2.AzVolumeAttachment) { now := metav1.Now(); a.DeletionTimestamp = &now }
func asReplica(a *v1beta2.AzVolumeAttachment)    { a.Spec.RequestedRole = v1beta2.RoleReplica }
func unasked(a *v1beta2.AzVolumeAttachment)      { a.Annotations = nil }
func detachedBy(who string) func(*v1beta2.AzVolumeAttachment) {
	return func(a *v1beta2.AzVolumeAttachment) {
		a.Status.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: who}
	}
}

// P6–P8, P17, P18, P23, P25, R1, R5, R15: what Publish makes of what it finds.
func TestPublishDecision(t *testing.T) {
	type changes = []func(*v1beta2.AzVolumeAttachment)
	for _, row := range []struct {
		name           string
		changes        changes
		code           codes.Code
		promote, asked bool
	}{
		{"attached", changes{inState(v1beta2.AttachmentAttached)}, codes.OK, false, false},
		{"P17 error, not asked for", changes{inState(v1beta2.AttachmentPending), withError, unasked}, codes.OK, false, true},
		{"P18 not asked for", changes{unasked}, codes.OK, false, true},
		{"attached by recovery", changes{inState(v1beta2.AttachmentAttached), unasked}, codes.OK, false, false},
		{"P8 failed", changes{inState(v1beta2.AttachmentFailed), withError}, codes.OK, false, false},
		{"P7 deleted", changes{withDeletion}, codes.Aborted, false, false},
		{"P7 detach asked", changes{inState(v1beta2.AttachmentAttached), detachedBy("node-controller")}, codes.Aborted, false, false},
		{"detaching", changes{inState(v1beta2.AttachmentDetaching)}, codes.Aborted, false, false},
		{"R15", changes{inState(v1beta2.AttachmentForceDetachPending), asReplica}, codes.Aborted, false, false},
		{"R1 replica", changes{inState(v1beta2.AttachmentAttached), asReplica}, codes.OK, true, false},
		{"R5 failed replica", changes{inState(v1beta2.AttachmentFailed), asReplica, withError}, codes.Aborted, false, false},
		{"R1 replica with an old error", changes{inState(v1beta2.AttachmentAttached), asReplica, withError}, codes.OK, true, false},
		{"P23 another volume", changes{func(a *v1beta2.AzVolumeAttachment) { a.Spec.VolumeName = "w" }}, codes.AlreadyExists, false, false},
		{"P23 another node", changes{func(a *v1beta2.AzVolumeAttachment) { a.Spec.NodeName = "other" }}, codes.AlreadyExists, false, false},
		{"another disk of the name", changes{func(a *v1beta2.AzVolumeAttachment) { a.Spec.VolumeID = "x" }}, codes.AlreadyExists, false, false},
		{"P25 another context", changes{func(a *v1beta2.AzVolumeAttachment) { a.Spec.VolumeContext = map[string]string{"a": "b"} }}, codes.AlreadyExists, false, false},
		{"replica with another context", changes{asReplica, func(a *v1beta2.AzVolumeAttachment) { a.Spec.VolumeContext = map[string]string{"a": "b"} }}, codes.OK, true, false},
	} {
		existing := azAttachment(row.changes...)
		request := PublishRequest{VolumeID: testVolumeID, NodeID: "Node"}
		id, err := ParseVolumeID(testVolumeID)
		if err != nil {
			t.Fatal(err)
		}
		if got := Code(unpublishable(existing, request, id)); got != row.code {
			t.Errorf("%s: code %s, want %s", row.name, got, row.code)
		}
		if row.code != codes.OK {
			continue
		}
		changed, differs := testProvisioner().asPrimary(existing, request)
		if differs != (row.promote || row.asked) || changed.Spec.RequestedRole != v1beta2.RolePrimary || row.asked && !attachRequested(changed) {
			t.Errorf("%s: written %v: %+v", row.name, differs, changed)
		}
		if row.promote && (changed.Labels[v1beta2.LabelRoleChange] != v1beta2.RoleChangePromoted || changed.Spec.VolumeContext == nil || len(changed.Spec.VolumeContext) != 0) {
			t.Errorf("%s: promoted to %+v", row.name, changed)
		}
	}
}

// U6, U10, U11, U14, U15: what Unpublish writes on what it finds.
func TestDetachDecision(t *testing.T) {
	type changes = []func(*v1beta2.AzVolumeAttachment)
	for _, row := range []struct {
		name    string
		changes changes
		writes  bool
		state   v1beta2.AttachmentState
	}{
		{"U1 attached", changes{inState(v1beta2.AttachmentAttached)}, true, v1beta2.AttachmentAttached},
		{"U14 never attached", changes{inState(v1beta2.AttachmentPending)}, true, v1beta2.AttachmentPending},
		{"U6 attach failed", changes{inState(v1beta2.AttachmentFailed), withError}, true, v1beta2.AttachmentFailed},
		{"U9 attaching", changes{inState(v1beta2.AttachmentAttaching)}, true, v1beta2.AttachmentAttaching},
		{"U10 detaching", changes{inState(v1beta2.AttachmentDetaching), detachedBy("crdProvisioner")}, false, ""},
		{"U11 detach failed", changes{inState(v1beta2.AttachmentDetachmentFailed), withError, detachedBy("crdProvisioner")}, true, v1beta2.AttachmentAttached},
		{"U15 deleted", changes{inState(v1beta2.AttachmentAttached), withDeletion}, false, ""},
		{"asked by somebody else", changes{inState(v1beta2.AttachmentAttached), detachedBy("node-controller")}, false, ""},
	} {
		existing := azAttachment(row.changes...)
		changed, writes := detachRequest(existing)
		if writes != row.writes {
			t.Errorf("%s: writes %v, want %v", row.name, writes, row.writes)
		}
		if writes && (changed.Status.State != row.state || changed.Status.Error != nil || changed.Status.Annotation[v1beta2.StatusVolumeDetachRequest] == "") {
			t.Errorf("%s: status %+v", row.name, changed.Status)
		}
	}
}
