package provisioner

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// newAttachment returns the AzVolumeAttachment that publishes the volume.
func (p *Provisioner) newAttachment(request PublishRequest, id VolumeID) *v1beta2.AzVolumeAttachment {
	context := maps.Clone(request.VolumeContext)
	if context == nil {
		context = map[string]string{} // the API server refuses null
	}
	attachment := &v1beta2.AzVolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:  p.namespace,
			Name:       attachmentName(id.DiskName, request.NodeID),
			Finalizers: []string{v1beta2.AttachmentFinalizer},
			Labels: map[string]string{
				v1beta2.LabelNodeName:      labelValue(request.NodeID),
				v1beta2.LabelVolumeName:    labelValue(id.objectName()),
				v1beta2.LabelRequestedRole: string(v1beta2.RolePrimary),
			},
			Annotations: map[string]string{v1beta2.AnnotationVolumeAttachRequest: v1beta2.RequesterProvisioner},
		},
		Spec: v1beta2.AzVolumeAttachmentSpec{
			VolumeName:    id.objectName(),
			VolumeID:      request.VolumeID,
			NodeName:      request.NodeID,
			VolumeContext: context,
			RequestedRole: v1beta2.RolePrimary,
		},
	}
	p.stamp(attachment)
	return attachment
}

// isAttachment reports whether the object is about this volume and node: not
// about another pair with the same name, nor another disk of the same name.
func isAttachment(attachment *v1beta2.AzVolumeAttachment, id VolumeID, nodeID string) bool {
	return strings.EqualFold(attachment.Spec.VolumeName, id.DiskName) && strings.EqualFold(attachment.Spec.NodeName, nodeID) &&
		id.is(attachment.Spec.VolumeID)
}

// detachRequested reports whether the disk is being detached, or is about to be.
func detachRequested(attachment *v1beta2.AzVolumeAttachment) bool {
	switch attachment.Status.State {
	case v1beta2.AttachmentDetaching, v1beta2.AttachmentDetached, v1beta2.AttachmentDetachmentFailed, v1beta2.AttachmentForceDetachPending:
		return true
	}
	_, requested := attachment.Status.Annotation[v1beta2.StatusVolumeDetachRequest]
	return requested || attachment.DeletionTimestamp != nil
}

// attachRequested reports whether anybody has asked for the attach.
func attachRequested(attachment *v1beta2.AzVolumeAttachment) bool {
	_, requested := attachment.Annotations[v1beta2.AnnotationVolumeAttachRequest]
	return requested
}

// attachUnbegun reports whether the attach still has to start: it is looked at
// only if somebody has asked for it.
func attachUnbegun(attachment *v1beta2.AzVolumeAttachment) bool {
	switch attachment.Status.State {
	case "", v1beta2.AttachmentPending, v1beta2.AttachmentFailed:
		return true
	}
	return false
}

// restarted returns a copy whose failed attach is to be tried again: the LUN
// beside a failure means nothing, and the old error would only mislead.
func restarted(attachment *v1beta2.AzVolumeAttachment) *v1beta2.AzVolumeAttachment {
	changed := attachment.DeepCopy()
	changed.Status.State = v1beta2.AttachmentPending
	changed.Status.Detail = nil
	changed.Status.Error = nil
	return changed
}
