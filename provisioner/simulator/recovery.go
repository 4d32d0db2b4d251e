package simulator

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// recoverObjects is what a controller does when it takes the lead: operations
// that were cut off go back to where they can start again, and every object
// gets a mark that makes everybody look at it.
func (s *Simulator) recoverObjects(ctx context.Context) error {
	volumes, err := s.volumes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the volumes to recover: %w", err)
	}
	attachments, err := s.attachments.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the attachments to recover: %w", err)
	}
	s.cloud.adopt(volumes, attachments)
	run := uuid.NewString()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.opts.Workers)
	for _, volume := range volumes {
		group.Go(func() error {
			_, err := writeStatus(ctx, s.volumeClient, volume, func(volume *v1beta2.AzVolume) error {
				recoverVolume(&volume.Status, run)
				return nil
			})
			return unlessGone(err)
		})
	}
	for _, attachment := range attachments {
		group.Go(func() error {
			_, err := writeStatus(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
				recoverAttachment(&attachment.Status, run)
				return nil
			})
			return unlessGone(err)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("recover what a former controller left: %w", err)
	}
	return nil
}

func unlessGone(err error) error {
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

func recoverVolume(status *v1beta2.AzVolumeStatus, run string) {
	switch status.State {
	case v1beta2.VolumeCreating:
		status.State = v1beta2.VolumePending
	case v1beta2.VolumeDeleting, v1beta2.VolumeUpdating:
		status.State = v1beta2.VolumeCreated
	}
	status.Annotation = setStatusAnnotation(status.Annotation, v1beta2.StatusRecovery, run)
}

func recoverAttachment(status *v1beta2.AzVolumeAttachmentStatus, run string) {
	switch status.State {
	case v1beta2.AttachmentAttaching:
		status.State, status.Detail, status.Error = v1beta2.AttachmentPending, nil, nil
	case v1beta2.AttachmentDetaching:
		status.State = v1beta2.AttachmentAttached
	}
	status.Annotation = setStatusAnnotation(status.Annotation, v1beta2.StatusRecovery, run)
}
