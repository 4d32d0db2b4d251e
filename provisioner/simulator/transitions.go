package simulator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// errRefused: the controllers don't do this with an object in its present
// state. The object is looked at again when it changes, not before.
var errRefused = errors.New("refused")

// volumeTransitions lists the states that the normal writes may take a volume
// to. The writes that end an operation aren't checked.
func volumeTransitions(from v1beta2.VolumeState) []v1beta2.VolumeState {
	switch from {
	case "":
		return []v1beta2.VolumeState{v1beta2.VolumePending, v1beta2.VolumeCreating, v1beta2.VolumeDeleting}
	case v1beta2.VolumePending:
		return []v1beta2.VolumeState{v1beta2.VolumeCreating, v1beta2.VolumeDeleting}
	case v1beta2.VolumeCreating:
		return []v1beta2.VolumeState{v1beta2.VolumeCreated, v1beta2.VolumeCreationFailed}
	case v1beta2.VolumeCreated, v1beta2.VolumeUpdated:
		return []v1beta2.VolumeState{v1beta2.VolumeUpdating, v1beta2.VolumeDeleting}
	case v1beta2.VolumeUpdating:
		return []v1beta2.VolumeState{v1beta2.VolumeUpdated, v1beta2.VolumeUpdateFailed}
	case v1beta2.VolumeDeleting:
		return []v1beta2.VolumeState{v1beta2.VolumeDeleted, v1beta2.VolumeDeletionFailed}
	case v1beta2.VolumeCreationFailed, v1beta2.VolumeUpdateFailed, v1beta2.VolumeDeletionFailed, v1beta2.VolumeDeleted:
		return nil // only the driver leads out of these
	}
	return nil
}

// attachmentTransitions is volumeTransitions for attachments.
func attachmentTransitions(from v1beta2.AttachmentState) []v1beta2.AttachmentState {
	switch from {
	case "":
		return []v1beta2.AttachmentState{v1beta2.AttachmentPending, v1beta2.AttachmentAttaching, v1beta2.AttachmentDetaching}
	case v1beta2.AttachmentPending:
		return []v1beta2.AttachmentState{v1beta2.AttachmentAttaching, v1beta2.AttachmentDetaching}
	case v1beta2.AttachmentAttaching:
		return []v1beta2.AttachmentState{v1beta2.AttachmentAttached, v1beta2.AttachmentFailed}
	case v1beta2.AttachmentAttached, v1beta2.AttachmentFailed, v1beta2.AttachmentForceDetachPending:
		return []v1beta2.AttachmentState{v1beta2.AttachmentDetaching}
	case v1beta2.AttachmentDetaching:
		return []v1beta2.AttachmentState{v1beta2.AttachmentDetached, v1beta2.AttachmentDetachmentFailed}
	case v1beta2.AttachmentDetachmentFailed:
		return []v1beta2.AttachmentState{v1beta2.AttachmentForceDetachPending}
	case v1beta2.AttachmentDetached, v1beta2.AttachmentUnknown:
		return nil
	}
	return nil
}

func moveVolume(volume *v1beta2.AzVolume, to v1beta2.VolumeState) error {
	if from := volume.Status.State; !slices.Contains(volumeTransitions(from), to) {
		return fmt.Errorf("%w: a volume doesn't go from state %q to %q", errRefused, from, to)
	}
	volume.Status.State = to
	return nil
}

func moveAttachment(attachment *v1beta2.AzVolumeAttachment, to v1beta2.AttachmentState) error {
	if from := attachment.Status.State; !slices.Contains(attachmentTransitions(from), to) {
		return fmt.Errorf("%w: an attachment doesn't go from state %q to %q", errRefused, from, to)
	}
	attachment.Status.State = to
	return nil
}
