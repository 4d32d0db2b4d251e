//go:build integration

package simulator_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	polling "k8s.io/apimachinery/pkg/util/wait"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/simulator"
)

func TestCreate(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("")
	w.createVolume("v", 10*gib)
	w.expect("v", "-", "Creating", "Created 10Gi")
	expectInventory(t, cloud, 1, 0)
}

func TestCreateFails(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("{operation: create, code: RESOURCE_EXHAUSTED, message: no space, times: 1}")
	w.createVolume("v", 10*gib)
	w.expect("v", "-", "Creating", "CreationFailed error=RESOURCE_EXHAUSTED", "CreationFailed error=RESOURCE_EXHAUSTED no finalizer")
	expectInventory(t, cloud, 0, 0)

	// The driver asks for another try: main-write first, then the reset.
	w.volume("v", func(v *v1beta2.AzVolume) { v.Finalizers = []string{v1beta2.VolumeFinalizer} })
	w.volume("v", func(v *v1beta2.AzVolume) { v.Status.State, v.Status.Error = v1beta2.VolumePending, nil })
	w.expect("v", "-", "Creating", "CreationFailed error=RESOURCE_EXHAUSTED", "CreationFailed error=RESOURCE_EXHAUSTED no finalizer",
		"CreationFailed error=RESOURCE_EXHAUSTED", "Pending", "Creating", "Created 10Gi")
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("")
	w.createdVolume("v")
	w.requestDelete("v")
	w.deleteVolume("v")
	w.expect("v", "-", "Creating", "Created 10Gi",
		"Created 10Gi volume-delete-request=cloud-delete-volume",
		"Created 10Gi volume-delete-request=cloud-delete-volume deleting",
		"Deleting 10Gi volume-delete-request=cloud-delete-volume deleting",
		"gone")
	expectInventory(t, cloud, 0, 0)
}

// The attachments go first.
func TestDeleteWithAttachments(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("{operation: detach, delay: 100ms}")
	w.createdVolume("v")
	name := w.attached("v", "n1", v1beta2.RolePrimary)
	w.requestDelete("v")
	w.deleteVolume("v")
	w.until("v", "gone")
	w.expect(name, "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary",
		"Attached LUN=0 Primary was=Primary volume-detach-request=azvolume-controller",
		"Detaching LUN=0 Primary was=Primary volume-detach-request=azvolume-controller",
		"Detaching LUN=0 Primary was=Primary volume-detach-request=azvolume-controller deleting",
		"gone")
	expectInventory(t, cloud, 0, 0)
}

// Nobody asked for the disk to go: the object is forgotten, the primary's
// attachment with it, and both stay in the cloud. A replica is detached.
func TestDeleteNotRequested(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("")
	w.createdVolume("v")
	primary := w.attached("v", "n1", v1beta2.RolePrimary)
	w.deleteVolume("v")
	w.expect("v", "-", "Creating", "Created 10Gi", "Created 10Gi deleting", "gone")
	w.expect(primary, "-", "Attaching", "Attaching LUN=0 Primary", "Attached LUN=0 Primary was=Primary",
		"Attached LUN=0 Primary was=Primary deleting", "gone")
	expectInventory(t, cloud, 1, 1)

	w.createdVolume("w")
	replica := w.attached("w", "n2", v1beta2.RoleReplica)
	w.deleteVolume("w")
	w.until("w", "gone")
	w.expect(replica, "-", "Attaching", "Attaching LUN=0 Replica", "Attached LUN=0 Replica was=Replica",
		"Attached LUN=0 Replica was=Replica volume-detach-request=azvolume-controller clean-up=azvolume-controller",
		"Detaching LUN=0 Replica was=Replica volume-detach-request=azvolume-controller clean-up=azvolume-controller",
		"Detaching LUN=0 Replica was=Replica volume-detach-request=azvolume-controller clean-up=azvolume-controller deleting",
		"gone")
	expectInventory(t, cloud, 2, 1)
}

func TestDeleteFails(t *testing.T) {
	w := newWorld(t)
	cloud := w.start("{operation: delete, code: FAILED_PRECONDITION, times: 1}")
	w.createdVolume("v")
	w.requestDelete("v")
	w.deleteVolume("v")
	const request = " volume-delete-request=cloud-delete-volume"
	failed := []string{
		"-", "Creating", "Created 10Gi", "Created 10Gi" + request, "Created 10Gi" + request + " deleting",
		"Deleting 10Gi" + request + " deleting", "DeletionFailed 10Gi error=FAILED_PRECONDITION" + request + " deleting",
	}
	w.expect("v", failed...)
	w.requestDelete("v") // resets the state
	w.expect("v", append(failed, "Created 10Gi"+request+" deleting", "Deleting 10Gi"+request+" deleting", "gone")...)
	expectInventory(t, cloud, 0, 0)
}

// A detach that fails isn't seen by the deletion that waits for it.
func TestDeleteTimesOutOnAttachments(t *testing.T) {
	w := newWorld(t)
	w.run(newCloud(t, "{operation: detach, code: INTERNAL}"), simulator.Options{DetachTimeout: 300 * time.Millisecond})
	w.createdVolume("v")
	w.attached("v", "n1", v1beta2.RolePrimary)
	w.requestDelete("v")
	w.deleteVolume("v")
	w.until("v", "DeletionFailed 10Gi error=UNKNOWN")
}

func TestExpand(t *testing.T) {
	w := newWorld(t)
	w.start("")
	w.createdVolume("v")
	w.expandVolume("v", 10*gib+1)
	w.until("v", "Updated 11Gi")
	w.expandVolume("v", 20*gib)
	w.expect("v", "-", "Creating", "Created 10Gi",
		"Created 10Gi", "Updating 10Gi", "Updated 11Gi expand-node",
		"Updated 11Gi expand-node", "Updating 11Gi expand-node", "Updated 20Gi expand-node")
}

// After a failure nothing happens until the driver resets the state.
func TestExpandFails(t *testing.T) {
	w := newWorld(t)
	w.start("{operation: expand, code: OUT_OF_RANGE, times: 1}")
	w.createdVolume("v")
	w.expandVolume("v", 20*gib)
	w.until("v", "UpdateFailed")
	w.volume("v", func(v *v1beta2.AzVolume) { v.Status.State, v.Status.Error = v1beta2.VolumeCreated, nil })
	w.expect("v", "-", "Creating", "Created 10Gi", "Created 10Gi", "Updating 10Gi", "UpdateFailed 10Gi error=OUT_OF_RANGE",
		"Created 10Gi", "Updating 10Gi", "Updated 20Gi expand-node")
}

// A stuck operation, then a new controller over the same cloud.
func TestRecovery(t *testing.T) {
	w := newWorld(t)
	stop := w.run(newCloud(t, `
- {operation: create, volume: creating, stuck: true}
- {operation: expand, volume: updating, stuck: true}
- {operation: delete, volume: deleting, stuck: true}
- {operation: attach, volume: attaching, stuck: true}
- {operation: detach, volume: detaching, stuck: true}
`), simulator.Options{})
	w.createVolume("creating", 10*gib)
	for _, name := range []string{"updating", "deleting", "attaching", "detaching", "idle"} {
		w.createdVolume(name)
	}
	w.expandVolume("updating", 20*gib)
	w.requestDelete("deleting")
	w.deleteVolume("deleting")
	attaching := w.createAttachment("attaching", "n1", v1beta2.RolePrimary, true)
	w.until(attaching, "Attaching LUN=0") // it has its LUN before the other one asks for one on the same node
	detaching := w.attached("detaching", "n1", v1beta2.RolePrimary)
	w.requestDetach(detaching)
	for name, state := range map[string]string{
		"creating": "Creating", "updating": "Updating", "deleting": "Deleting", attaching: "Attaching LUN", detaching: "Detaching",
	} {
		w.until(name, state)
	}
	stop()

	cloud := w.start("")
	w.expect("creating", "-", "Creating", "Pending recovered", "Creating recovered", "Created 10Gi recovered")
	w.expect("updating", "-", "Creating", "Created 10Gi", "Created 10Gi", "Updating 10Gi",
		"Created 10Gi recovered", "Updating 10Gi recovered", "Updated 20Gi expand-node recovered")
	w.until("deleting", "gone")
	w.expect(attaching, "-", "Attaching", "Attaching LUN=0 Primary",
		"Pending recovered", "Attaching recovered", "Attaching LUN=0 Primary recovered", "Attached LUN=0 Primary was=Primary recovered")
	w.until(detaching, "gone")
	w.expect("idle", "-", "Creating", "Created 10Gi", "Created 10Gi recovered")
	expectInventory(t, cloud, 5, 1)
}

// The API server goes away in the middle of an operation: its end is written
// once the server is back, and the controllers go on.
func TestServerRestarts(t *testing.T) {
	server := clustertest.Own(t, controlplane.Options{})
	w := newWorldOn(t, server.Config(), "default")
	w.start("{operation: create, volume: slow, delay: 1s}")
	w.createVolume("slow", 10*gib)
	w.until("slow", "Creating")
	w.check(server.Kill())
	w.check(server.Restart(w.ctx))
	created := func(name string) { // a watch from before can't go on over a restart
		t.Helper()
		w.check(polling.PollUntilContextTimeout(w.ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			volume, err := w.client.AzureDiskV1beta2().AzVolumes(w.namespace).Get(ctx, name, metav1.GetOptions{})
			return err == nil && volume.Status.State == v1beta2.VolumeCreated, nil
		}))
	}
	created("slow")
	w.createVolume("next", 10*gib)
	created("next")
}
