//go:build integration

package simulator_test

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestAttachDetach(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("")
	w.createdVolume("v")
	name := w.attached("v", "n1", v1beta2.RolePrimary)
	expectInventory(t, cloud, 1, 1)
	w.requestDetach(name)
	w.expect(name, "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary",
		"Attached LUN=0 Primary was=Primary volume-detach-request=crdProvisioner",
		"Detaching LUN=0 Primary was=Primary volume-detach-request=crdProvisioner",
		"Detaching LUN=0 Primary was=Primary volume-detach-request=crdProvisioner deleting",
		"gone")
	expectInventory(t, cloud, 1, 0)
}

func TestAttachFails(t *testing.T) {
	w := newWorld(t)
	cloud := w.start(`
- {operation: lun, volume: before, code: NOT_FOUND}
- {operation: attach, volume: after, code: UNAVAILABLE, times: 1}
`)
	w.createdVolume("before")
	w.createdVolume("after")
	before := w.createAttachment("before", "n1", v1beta2.RolePrimary, true)
	w.expect(before, "-", "Attaching", "AttachmentFailed error=NOT_FOUND")
	after := w.createAttachment("after", "n1", v1beta2.RolePrimary, true)
	failed := []string{"-", "Attaching", "Attaching LUN=0 Primary", "AttachmentFailed LUN=0 Primary error=UNAVAILABLE"}
	w.expect(after, failed...)
	expectInventory(t, cloud, 2, 0)

	// The driver's reset lets it try again; a failed attach can be detached.
	w.attachment(after, func(a *v1beta2.AzVolumeAttachment) {
		a.Status = v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentPending}
	})
	w.expect(after, append(failed, "Pending", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary")...)
	w.requestDetach(before)
	w.expect(before, "-", "Attaching", "AttachmentFailed error=NOT_FOUND",
		"AttachmentFailed error=NOT_FOUND volume-detach-request=crdProvisioner",
		"Detaching error=NOT_FOUND volume-detach-request=crdProvisioner",
		"Detaching error=NOT_FOUND volume-detach-request=crdProvisioner deleting", "gone")
}

func TestDetachFails(t *testing.T) {
	w := newWorld(t)
	w.start("{operation: detach, code: INTERNAL, times: 1}")
	w.createdVolume("v")
	name := w.attached("v", "n1", v1beta2.RolePrimary)
	w.requestDetach(name)
	const primary = " LUN=0 Primary was=Primary"
	const request = " volume-detach-request=crdProvisioner"
	failed := []string{
		"-", "Attaching", "Attaching LUN=0 Primary", "Attached" + primary, "Attached" + primary + request,
		"Detaching" + primary + request, "DetachmentFailed" + primary + " error=INTERNAL" + request,
	}
	w.expect(name, failed...)
	w.requestDetach(name) // resets the state
	w.expect(name, append(failed, "Attached"+primary+request, "Detaching"+primary+request, "Detaching"+primary+request+" deleting", "gone")...)
}

// A replica is detached again without being asked.
func TestDetachOfReplicaFails(t *testing.T) {
	w := newWorld(t)
	w.start("{operation: detach, code: INTERNAL, times: 1}")
	w.createdVolume("v")
	name := w.attached("v", "n1", v1beta2.RoleReplica)
	w.requestDetach(name)
	const replica = " LUN=0 Replica was=Replica"
	const request = " volume-detach-request=crdProvisioner"
	w.expect(name, "-", "Attaching", "Attaching LUN=0 Replica", "Attached"+replica, "Attached"+replica+request,
		"Detaching"+replica+request, "DetachmentFailed"+replica+" error=INTERNAL"+request,
		"ForceDetachPending"+replica+" error=INTERNAL"+request, "Detaching"+replica+" error=INTERNAL"+request,
		"Detaching"+replica+" error=INTERNAL"+request+" deleting", "gone")
}

// What isn't asked for, or has no volume that stays, is left alone.
func TestAttachNotStarted(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("{operation: delete, code: INTERNAL}")
	w.createdVolume("v")
	w.createdVolume("leaving")
	w.requestDelete("leaving")
	w.deleteVolume("leaving")
	w.until("leaving", "DeletionFailed")
	noVolume := w.createAttachment("none", "n1", v1beta2.RolePrimary, true)
	leaving := w.createAttachment("leaving", "n1", v1beta2.RolePrimary, true)
	unrequested := w.createAttachment("v", "n1", v1beta2.RolePrimary, false)
	w.until(unrequested, "-")
	w.attachment(unrequested, func(a *v1beta2.AzVolumeAttachment) {
		a.Annotations = map[string]string{v1beta2.AnnotationVolumeAttachRequest: v1beta2.RequesterProvisioner}
	})
	w.expect(unrequested, "-", "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary")
	w.expect(noVolume, "-")
	w.expect(leaving, "-")
	expectInventory(t, cloud, 2, 1)
}

// A DELETE by hand leaves the disk attached; the next attach frees it.
func TestDeletedByHand(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("")
	w.createdVolume("v")
	name := w.attached("v", "n1", v1beta2.RolePrimary)
	w.check(w.client.AzureDiskV1beta2().AzVolumeAttachments(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{}))
	w.expect(name, "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary",
		"Attached LUN=0 Primary was=Primary deleting", "gone")
	expectInventory(t, cloud, 1, 1)
	w.attached("v", "n2", v1beta2.RolePrimary)
	expectInventory(t, cloud, 1, 1)
}

// A disk that is on another node is detached there through its attachment; if
// that fails the failure says where it is.
func TestAttachElsewhere(t *testing.T) {
	w := newWorld(t)
	w.start("- {operation: detach, volume: fixed, code: INTERNAL}")
	w.createdVolume("v")
	first := w.attached("v", "n1", v1beta2.RolePrimary)
	second := w.attached("v", "n2", v1beta2.RolePrimary)
	w.expect(first, "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary",
		"Attached LUN=0 Primary was=Primary volume-detach-request=attach-opeation",
		"Detaching LUN=0 Primary was=Primary volume-detach-request=attach-opeation",
		"Detaching LUN=0 Primary was=Primary volume-detach-request=attach-opeation deleting", "gone")
	w.expect(second, "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary")

	w.createdVolume("fixed")
	byHand := w.attached("fixed", "n1", v1beta2.RolePrimary)
	w.check(w.client.AzureDiskV1beta2().AzVolumeAttachments(w.namespace).Delete(w.ctx, byHand, metav1.DeleteOptions{}))
	w.until(byHand, "gone")
	name := w.createAttachment("fixed", "n2", v1beta2.RolePrimary, true)
	w.expect(name, "-", "Attaching", "AttachmentFailed error=DANGLING_ATTACH")
	attachment, err := w.client.AzureDiskV1beta2().AzVolumeAttachments(w.namespace).Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	if node := attachment.Status.Error.Parameters[v1beta2.ErrorParameterCurrentNode]; node != "n1" {
		t.Errorf("the error names node %q, want n1", node)
	}
}

func TestChangeRole(t *testing.T) {
	w := newWorld(t)
	w.start("")
	w.createdVolume("v")
	name := w.attached("v", "n1", v1beta2.RoleReplica)
	w.attachment(name, func(a *v1beta2.AzVolumeAttachment) { a.Spec.RequestedRole = v1beta2.RolePrimary })
	w.until(name, "Attached LUN=0 Primary was=Replica")
	w.attachment(name, func(a *v1beta2.AzVolumeAttachment) { a.Spec.RequestedRole = v1beta2.RoleReplica })
	w.expect(name, "-", "Attaching", "Attaching LUN=0 Replica", "Attached LUN=0 Replica was=Replica",
		"Attached LUN=0 Replica was=Replica", "Attached LUN=0 Primary was=Replica",
		"Attached LUN=0 Primary was=Replica", "Attached LUN=0 Replica was=Primary")
}

// P32's side of the cloud: fifty volumes to one node at the same time.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("")
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			name := fmt.Sprintf("v%d", i)
			w.createdVolume(name)
			w.requestDetach(w.attached(name, "n1", v1beta2.RolePrimary))
			w.until(attachmentName(name, "n1"), "gone")
			w.requestDelete(name)
			w.deleteVolume(name)
			w.until(name, "gone")
		})
	}
	group.Wait()
	expectInventory(t, cloud, 0, 0)
}
