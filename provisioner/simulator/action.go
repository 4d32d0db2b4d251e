package simulator

import "github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"

// action is what the controllers do with an object that they look at. What an
// object calls for depends on nothing but the object.
type action string

const (
	skip         action = "skip"
	createVolume action = "create"
	expandVolume action = "expand"
	deleteVolume action = "delete"
	attachDisk   action = "attach"
	detachDisk   action = "detach"
	changeRole   action = "change role"
	release      action = "release" // remove the finalizer, nothing else
)

// volumeAction is what a volume calls for. The first case that holds decides.
func volumeAction(volume *v1beta2.AzVolume) action {
	switch volume.Status.State {
	case v1beta2.VolumeCreating, v1beta2.VolumeDeleting, v1beta2.VolumeUpdating:
		return skip // an operation runs, or was cut off and waits for the recovery
	}
	switch {
	case volume.DeletionTimestamp != nil:
		return deleteVolume
	case volume.Status.Detail == nil:
		return createVolume
	case volume.Spec.CapacityRange != nil && volume.Spec.CapacityRange.RequiredBytes > volume.Status.Detail.CapacityBytes:
		return expandVolume
	}
	return skip
}

// attachmentAction is what an attachment calls for.
func attachmentAction(attachment *v1beta2.AzVolumeAttachment) action {
	deleting := attachment.DeletionTimestamp != nil
	switch state := attachment.Status.State; {
	case state == v1beta2.AttachmentAttaching, state == v1beta2.AttachmentDetaching && !deleting:
		return skip
	case deleting:
		return release // without a detach: whoever deletes it by hand leaves the disk attached
	case detachRequested(attachment):
		return detachDisk
	case attachment.Status.Detail == nil:
		return attachDisk
	case attachment.Spec.RequestedRole != attachment.Status.Detail.Role:
		return changeRole
	}
	return skip
}

func detachRequested(attachment *v1beta2.AzVolumeAttachment) bool {
	_, requested := attachment.Status.Annotation[v1beta2.StatusVolumeDetachRequest]
	return requested
}

func attachRequested(attachment *v1beta2.AzVolumeAttachment) bool {
	_, requested := attachment.Annotations[v1beta2.AnnotationVolumeAttachRequest]
	return requested
}

func deleteRequested(volume *v1beta2.AzVolume) bool {
	_, requested := volume.Status.Annotation[v1beta2.StatusVolumeDeleteRequest]
	return requested
}

func preProvisioned(volume *v1beta2.AzVolume) bool {
	_, marked := volume.Status.Annotation[v1beta2.StatusPreProvisioned]
	return marked
}

// setStatusAnnotation returns annotations with the key set; the map may be nil.
func setStatusAnnotation(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}
