//go:build integration

package provisioner_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	typed "github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/typed/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// otherSide plays the Azure side by hand, with a client of its own.
type otherSide struct {
	t         *testing.T
	namespace string
	client    typed.AzureDiskV1beta2Interface
}

// diskID is the volume ID of the disk.
func diskID(name string) string {
	return "/subscriptions/0-0/resourceGroups/rg/providers/Microsoft.Compute/disks/" + name
}

func (o *otherSide) addNode(name string) {
	o.t.Helper()
	_, err := o.client.AzDriverNodes(o.namespace).Create(context.Background(), &v1beta2.AzDriverNode{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta2.AzDriverNodeSpec{NodeName: name},
	}, metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
}

// volume returns the AzVolume, nil if there is none.
func (o *otherSide) volume(name string) *v1beta2.AzVolume {
	o.t.Helper()
	volume, err := o.client.AzVolumes(o.namespace).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return volume
}

// attachment returns the AzVolumeAttachment, nil if there is none.
func (o *otherSide) attachment(name string) *v1beta2.AzVolumeAttachment {
	o.t.Helper()
	attachment, err := o.client.AzVolumeAttachments(o.namespace).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return attachment
}

// awaitVolume returns the AzVolume once the condition holds.
func (o *otherSide) awaitVolume(name, what string, condition func(*v1beta2.AzVolume) bool) *v1beta2.AzVolume {
	o.t.Helper()
	var volume *v1beta2.AzVolume
	eventually(o.t, name+" "+what, func() bool {
		volume = o.volume(name)
		return volume != nil && condition(volume)
	})
	return volume
}

// awaitAttachment returns the AzVolumeAttachment once the condition holds.
func (o *otherSide) awaitAttachment(name, what string, condition func(*v1beta2.AzVolumeAttachment) bool) *v1beta2.AzVolumeAttachment {
	o.t.Helper()
	var attachment *v1beta2.AzVolumeAttachment
	eventually(o.t, name+" "+what, func() bool {
		attachment = o.attachment(name)
		return attachment != nil && condition(attachment)
	})
	return attachment
}

func anyVolume(*v1beta2.AzVolume) bool               { return true }
func anyAttachment(*v1beta2.AzVolumeAttachment) bool { return true }

// putVolume makes an AzVolume as it stands, status and all.
func (o *otherSide) putVolume(volume *v1beta2.AzVolume) *v1beta2.AzVolume {
	o.t.Helper()
	volume = volume.DeepCopy()
	volume.Namespace = o.namespace
	if volume.Spec.VolumeCapability == nil {
		volume.Spec.VolumeCapability = []v1beta2.VolumeCapability{{AccessType: v1beta2.AccessTypeMount, AccessMode: 1}}
	}
	if volume.Spec.VolumeName == "" {
		volume.Spec.VolumeName = volume.Name
	}
	created, err := o.client.AzVolumes(o.namespace).Create(context.Background(), volume, metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	if volume.Status.State == "" {
		return created
	}
	created.Status = volume.Status
	created, err = o.client.AzVolumes(o.namespace).UpdateStatus(context.Background(), created, metav1.UpdateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return created
}

// readyVolume makes an AzVolume with a disk of that many GiB.
func (o *otherSide) readyVolume(name string, gib int64) *v1beta2.AzVolume {
	o.t.Helper()
	return o.putVolume(&v1beta2.AzVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1beta2.VolumeFinalizer}},
		Spec:       v1beta2.AzVolumeSpec{CapacityRange: &v1beta2.CapacityRange{RequiredBytes: gib << 30}},
		Status: v1beta2.AzVolumeStatus{
			State:  v1beta2.VolumeCreated,
			Detail: &v1beta2.AzVolumeStatusDetail{VolumeID: diskID(name), CapacityBytes: gib << 30},
		},
	})
}

// putAttachment makes an AzVolumeAttachment of volume and node as it stands.
func (o *otherSide) putAttachment(name, volume, node string, status v1beta2.AzVolumeAttachmentStatus) *v1beta2.AzVolumeAttachment {
	o.t.Helper()
	created, err := o.client.AzVolumeAttachments(o.namespace).Create(context.Background(), &v1beta2.AzVolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Finalizers:  []string{v1beta2.AttachmentFinalizer},
			Labels:      map[string]string{v1beta2.LabelVolumeName: volume, v1beta2.LabelNodeName: node, v1beta2.LabelRequestedRole: string(v1beta2.RolePrimary)},
			Annotations: map[string]string{v1beta2.AnnotationVolumeAttachRequest: v1beta2.RequesterProvisioner},
		},
		Spec: v1beta2.AzVolumeAttachmentSpec{
			VolumeName: volume, VolumeID: diskID(volume), NodeName: node, VolumeContext: map[string]string{}, RequestedRole: v1beta2.RolePrimary,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return o.attachmentStatus(created.Name, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = status })
}

// attached is the status of a finished attach.
func attached(lun string) v1beta2.AzVolumeAttachmentStatus {
	return v1beta2.AzVolumeAttachmentStatus{
		State: v1beta2.AttachmentAttached,
		Detail: &v1beta2.AzVolumeAttachmentStatusDetail{
			Role: v1beta2.RolePrimary, PreviousRole: v1beta2.RolePrimary, PublishContext: map[string]string{v1beta2.PublishContextLUN: lun},
		},
	}
}

// attaching is the status of an attach that runs, with its LUN if it has one yet.
func attaching(lun string) v1beta2.AzVolumeAttachmentStatus {
	status := attached(lun)
	status.State, status.Detail.PreviousRole = v1beta2.AttachmentAttaching, ""
	if lun == "" {
		status.Detail = nil
	}
	return status
}

// volumeStatus writes the status of an AzVolume.
func (o *otherSide) volumeStatus(name string, change func(*v1beta2.AzVolumeStatus)) *v1beta2.AzVolume {
	o.t.Helper()
	var written *v1beta2.AzVolume
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		volume, err := o.client.AzVolumes(o.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&volume.Status)
		written, err = o.client.AzVolumes(o.namespace).UpdateStatus(context.Background(), volume, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return written
}

func (o *otherSide) volumeState(name string, state v1beta2.VolumeState) {
	o.t.Helper()
	o.volumeStatus(name, func(s *v1beta2.AzVolumeStatus) { s.State = state })
}

func (o *otherSide) volumeCreated(name string, gib int64) {
	o.t.Helper()
	o.volumeStatus(name, func(s *v1beta2.AzVolumeStatus) {
		s.State = v1beta2.VolumeCreated
		s.Detail = &v1beta2.AzVolumeStatusDetail{
			VolumeID: diskID(name), CapacityBytes: gib << 30, Parameters: map[string]string{"skuName": "Premium_LRS", "requestedsizegib": "10"},
			AccessibleTopology: []v1beta2.Topology{{Segments: map[string]string{"topology.disk.csi.azure.com/zone": ""}}},
		}
	})
}

func (o *otherSide) volumeFailed(name string, state v1beta2.VolumeState, code v1beta2.ErrorCode, message string) *v1beta2.AzVolume {
	o.t.Helper()
	return o.volumeStatus(name, func(s *v1beta2.AzVolumeStatus) {
		s.State = state
		s.Error = &v1beta2.AzError{Code: code, Message: message}
	})
}

// attachmentStatus writes the status of an AzVolumeAttachment.
func (o *otherSide) attachmentStatus(name string, change func(*v1beta2.AzVolumeAttachmentStatus)) *v1beta2.AzVolumeAttachment {
	o.t.Helper()
	var written *v1beta2.AzVolumeAttachment
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		attachment, err := o.client.AzVolumeAttachments(o.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&attachment.Status)
		written, err = o.client.AzVolumeAttachments(o.namespace).UpdateStatus(context.Background(), attachment, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return written
}

// dropVolume lets go of an AzVolume that is being deleted.
func (o *otherSide) dropVolume(name string) {
	o.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		volume, err := o.client.AzVolumes(o.namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		volume.Finalizers = nil
		_, err = o.client.AzVolumes(o.namespace).Update(context.Background(), volume, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

// detach does what follows a detach request: delete the object and let it go.
func (o *otherSide) detach(name string) {
	o.t.Helper()
	ctx := context.Background()
	o.attachmentStatus(name, func(s *v1beta2.AzVolumeAttachmentStatus) { s.State = v1beta2.AttachmentDetaching })
	o.removeAttachment(ctx, name)
}

func (o *otherSide) removeAttachment(ctx context.Context, name string) {
	o.t.Helper()
	attachments := o.client.AzVolumeAttachments(o.namespace)
	if err := attachments.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		o.t.Fatal(err)
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		attachment, err := attachments.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		attachment.Finalizers = nil
		_, err = attachments.Update(ctx, attachment, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
}
