package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func (s *Simulator) reconcileAttachment(ctx context.Context, name string) error {
	attachment, err := s.attachments.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up attachment %s: %w", name, err)
	}
	action := attachmentAction(attachment)
	if action != skip {
		klog.FromContext(ctx).V(2).Info("operation", "action", action, "state", attachment.Status.State)
	}
	switch action {
	case release:
		return s.releaseAttachment(ctx, attachment)
	case detachDisk:
		return s.detach(ctx, attachment)
	case attachDisk:
		return s.attach(ctx, attachment)
	case changeRole:
		return s.changeRole(ctx, attachment)
	}
	return nil
}

// beginAttachment and endAttachment are begin and end for attachments.
func (s *Simulator) beginAttachment(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, want action, state v1beta2.AttachmentState) (*v1beta2.AzVolumeAttachment, error) {
	return writeStatus(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
		if now := attachmentAction(attachment); now != want {
			return fmt.Errorf("%w: it now calls for %s, not for %s", errRefused, now, want)
		}
		return moveAttachment(attachment, state)
	})
}

func (s *Simulator) endAttachment(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, change func(*v1beta2.AzVolumeAttachmentStatus)) (*v1beta2.AzVolumeAttachment, error) {
	return writeStatus(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
		change(&attachment.Status)
		return nil
	})
}

func (s *Simulator) endAttachmentFailed(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, cause error, state v1beta2.AttachmentState) (*v1beta2.AzVolumeAttachment, error) {
	failure, err := failureOf(ctx, cause)
	if err != nil {
		return attachment, err
	}
	klog.FromContext(ctx).V(2).Info("operation failed", "state", state, "code", failure.Code, "message", failure.Message)
	return s.endAttachment(ctx, attachment, func(status *v1beta2.AzVolumeAttachmentStatus) {
		status.Error, status.State = failure.DeepCopy(), state
	})
}

// attach puts the disk on the node. The LUN is written as soon as it is known,
// before the disk is there.
func (s *Simulator) attach(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
	if !attachRequested(attachment) {
		return fmt.Errorf("%w: nobody has asked for the attach", errRefused)
	}
	if usable, err := s.volumeUsable(ctx, attachment.Spec.VolumeName); err != nil || !usable {
		return err
	}
	attachment, err := s.beginAttachment(ctx, attachment, attachDisk, v1beta2.AttachmentAttaching)
	if err != nil {
		return err
	}
	lun, err := s.reserveLUN(ctx, attachment)
	if err != nil {
		_, err = s.endAttachmentFailed(ctx, attachment, err, v1beta2.AttachmentFailed)
		return err
	}
	role := attachment.Spec.RequestedRole
	publishContext := map[string]string{v1beta2.PublishContextLUN: strconv.Itoa(lun)}
	attachment, err = s.endAttachment(ctx, attachment, func(status *v1beta2.AzVolumeAttachmentStatus) {
		status.Detail = &v1beta2.AzVolumeAttachmentStatusDetail{Role: role, PublishContext: maps.Clone(publishContext)}
	})
	if err != nil {
		return err
	}
	if err := s.cloud.attach(ctx, attachment.Spec.VolumeID, attachment.Spec.NodeName); err != nil {
		_, err = s.endAttachmentFailed(ctx, attachment, err, v1beta2.AttachmentFailed) // the LUN stays in detail
		return err
	}
	_, err = s.endAttachment(ctx, attachment, func(status *v1beta2.AzVolumeAttachmentStatus) {
		status.Detail = &v1beta2.AzVolumeAttachmentStatusDetail{
			Role: role, PreviousRole: role, PublishContext: maps.Clone(publishContext),
		}
		status.State = v1beta2.AttachmentAttached
	})
	return err
}

// volumeUsable says whether the volume exists and stays. An attachment is only
// ever made for a volume that its maker saw, so a cache that lacks it may lag.
func (s *Simulator) volumeUsable(ctx context.Context, name string) (bool, error) {
	volume, err := s.volumes.Get(strings.ToLower(name))
	if apierrors.IsNotFound(err) {
		volume, err = s.volumeClient.Get(ctx, strings.ToLower(name), metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read volume %s: %w", name, err)
	}
	return volume.DeletionTimestamp == nil, nil
}

// reserveLUN finds the LUN. A disk that is on another node is detached there
// first; if that doesn't help, the failure says where it is.
func (s *Simulator) reserveLUN(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) (int, error) {
	volumeID, node := attachment.Spec.VolumeID, attachment.Spec.NodeName
	lun, err := s.cloud.reserveLUN(ctx, volumeID, node)
	var dangling *cloudError
	if !errors.As(err, &dangling) || dangling.Code != v1beta2.ErrorDanglingAttach {
		return lun, err
	}
	other := dangling.Parameters[v1beta2.ErrorParameterCurrentNode]
	if other == "" {
		return 0, err
	}
	if detachErr := s.freeDisk(ctx, attachment, other); detachErr != nil {
		if ctx.Err() != nil || errors.Is(detachErr, errStuck) {
			return 0, detachErr
		}
		return 0, err
	}
	return s.cloud.reserveLUN(ctx, volumeID, node)
}

// freeDisk detaches the attachment's disk from another node: through the
// attachment of that node if there is one.
func (s *Simulator) freeDisk(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, node string) error {
	limited, cancel := context.WithTimeout(ctx, s.opts.DetachTimeout)
	defer cancel()
	for found := false; ; {
		deleted := s.attachmentDeleted.next()
		attachments, err := s.attachmentsOf(attachment.Spec.VolumeName)
		if err != nil {
			return err
		}
		var there *v1beta2.AzVolumeAttachment
		for _, candidate := range attachments {
			if candidate.Name != attachment.Name && strings.EqualFold(candidate.Spec.NodeName, node) {
				there = candidate
			}
		}
		switch {
		case there == nil && found:
			return nil
		case there == nil:
			return s.cloud.detach(ctx, attachment.Spec.VolumeID, node)
		}
		found = true
		if err := s.requestDetach(limited, there, v1beta2.RequesterAttachOperation); err != nil && !errors.Is(err, errGone) {
			return err
		}
		select {
		case <-deleted:
		case <-limited.Done():
			return limited.Err()
		}
	}
}

// detach takes the disk off the node and deletes the object; the finalizer goes
// when the deletion shows.
func (s *Simulator) detach(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
	attachment, err := s.beginAttachment(ctx, attachment, detachDisk, v1beta2.AttachmentDetaching)
	if err != nil {
		return err
	}
	if err := s.cloud.detach(ctx, attachment.Spec.VolumeID, attachment.Spec.NodeName); err != nil {
		return s.detachFailed(ctx, attachment, err)
	}
	return s.deleteAttachment(ctx, attachment)
}

// detachFailed reports the failure. A replica isn't left at that: it is
// detached again until it is gone.
func (s *Simulator) detachFailed(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, cause error) error {
	attachment, err := s.endAttachmentFailed(ctx, attachment, cause, v1beta2.AttachmentDetachmentFailed)
	if err != nil || attachment.Spec.RequestedRole != v1beta2.RoleReplica {
		return err
	}
	if err := sleep(ctx, max(s.cloud.scale(requeueDelay), requeueFloor)); err != nil {
		return err
	}
	_, err = writeStatus(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
		return moveAttachment(attachment, v1beta2.AttachmentForceDetachPending)
	})
	return err
}

func (s *Simulator) releaseAttachment(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
	_, err := writeMain(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
		removeFinalizer(attachment, v1beta2.AttachmentFinalizer)
		return nil
	})
	return err
}

// changeRole promotes a replica or demotes a primary attachment; the disk stays
// where it is.
func (s *Simulator) changeRole(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) error {
	_, err := writeStatus(ctx, s.attachmentClient, attachment, func(attachment *v1beta2.AzVolumeAttachment) error {
		if now := attachmentAction(attachment); now != changeRole {
			return fmt.Errorf("%w: it now calls for %s, not for %s", errRefused, now, changeRole)
		}
		status, role := &attachment.Status, attachment.Spec.RequestedRole
		status.Detail.PreviousRole, status.Detail.Role = status.Detail.Role, role
		if role == v1beta2.RoleReplica {
			delete(status.Annotation, v1beta2.StatusVolumeAttachment)
		}
		return nil
	})
	return err
}
