package simulator

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// delete removes a volume that is marked for deletion. Only a volume whose
// deletion the driver asked for, or whose disk is somebody else's, has its
// attachments detached in good order.
func (s *Simulator) delete(ctx context.Context, volume *v1beta2.AzVolume) error {
	if !deleteRequested(volume) && !preProvisioned(volume) {
		return s.forget(ctx, volume)
	}
	volume, err := s.begin(ctx, volume, deleteVolume, v1beta2.VolumeDeleting)
	if err != nil {
		return err
	}
	err = s.clearAttachments(ctx, volume, func(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
		return s.requestDetach(ctx, attachment, v1beta2.RequesterVolumeController)
	})
	if err == nil && deleteRequested(volume) && volume.Status.Detail != nil {
		err = s.cloud.deleteDisk(ctx, volume)
	}
	if err != nil {
		_, err = s.endFailed(ctx, volume, err, v1beta2.VolumeDeletionFailed)
		return err
	}
	return s.releaseVolume(ctx, volume)
}

// forget lets the object go and keeps the disk: replicas are detached, primary
// attachments deleted without a detach.
func (s *Simulator) forget(ctx context.Context, volume *v1beta2.AzVolume) error {
	err := s.clearAttachments(ctx, volume, func(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
		if attachment.Spec.RequestedRole == v1beta2.RoleReplica {
			return s.requestDetach(ctx, attachment, v1beta2.RequesterVolumeController)
		}
		return s.deleteAttachment(ctx, attachment)
	})
	if err != nil {
		return err
	}
	return s.releaseVolume(ctx, volume)
}

func (s *Simulator) releaseVolume(ctx context.Context, volume *v1beta2.AzVolume) error {
	_, err := writeMain(ctx, s.volumeClient, volume, func(volume *v1beta2.AzVolume) error {
		removeFinalizer(volume, v1beta2.VolumeFinalizer)
		return nil
	})
	return err
}

// clearAttachments asks every attachment of the volume to go and waits until
// none is left. What detaching fails with isn't seen: it ends in the timeout.
func (s *Simulator) clearAttachments(ctx context.Context, volume *v1beta2.AzVolume, ask func(context.Context, *v1beta2.AzVolumeAttachment) error) error {
	limited, cancel := context.WithTimeout(ctx, s.opts.DetachTimeout)
	defer cancel()
	for {
		deleted := s.attachmentDeleted.next()
		attachments, err := s.attachmentsOf(volume.Name)
		if err != nil || len(attachments) == 0 {
			return err
		}
		for _, attachment := range attachments {
			if err := ask(limited, attachment); err != nil && !errors.Is(err, errGone) && limited.Err() == nil {
				return err
			}
		}
		select {
		case <-deleted:
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failf(v1beta2.ErrorUnknown, "%d attachments of volume %s are left: %v", len(attachments), volume.Name, limited.Err())
		}
	}
}

// requestDetach marks an attachment for detaching and, a replica, as not to be
// replaced. A mark that is there already stays as it is.
func (s *Simulator) requestDetach(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, requester string) error {
	_, err := writeStatus(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
		status := &attachment.Status
		if detachRequested(attachment) || attachment.DeletionTimestamp != nil {
			return nil
		}
		status.Annotation = setStatusAnnotation(status.Annotation, v1beta2.StatusVolumeDetachRequest, requester)
		if attachment.Spec.RequestedRole == v1beta2.RoleReplica {
			status.Annotation = setStatusAnnotation(status.Annotation, v1beta2.StatusCleanUp, requester)
		}
		return nil
	})
	return err
}

// deleteAttachment sends a DELETE for this very object. One that is gone is no error.
func (s *Simulator) deleteAttachment(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
	if attachment.DeletionTimestamp != nil {
		return nil
	}
	err := s.attachmentClient.Delete(ctx, attachment.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(attachment.UID)},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // conflict: another object has the name
		return nil
	}
	return fmt.Errorf("delete attachment %s: %w", attachment.Name, err)
}
