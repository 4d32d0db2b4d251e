package provisioner

import (
	"context"
	"errors"
	"maps"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Unpublish asks for the volume to be detached from the node and waits until the
// AzVolumeAttachment is gone. An attachment that doesn't exist needs nothing:
// nil. If the volume may be attached to nodes in advance, the attachment stays
// as a replica, and Unpublish doesn't wait.
func (p *Provisioner) Unpublish(ctx context.Context, volumeID, nodeID string) error {
	id, err := ParseVolumeID(volumeID)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Nothing to unpublish", "reason", err)
		return nil
	}
	release, err := p.hold("attachment", id.objectName(), nodeID)
	if err != nil {
		return err
	}
	defer release()

	attachment, err := p.findAttachment(ctx, id, nodeID)
	if err != nil || attachment == nil {
		return err
	}
	// An AzVolume that isn't there must not keep its disk attached.
	if volume := p.cachedVolume(id.objectName()); volume != nil && volume.Spec.MaxMountReplicaCount > 0 && demotable(attachment) {
		done, err := p.demote(ctx, attachment, id)
		if err != nil || done {
			return err
		}
	}
	if attachment, err = p.attachSettled(ctx, attachment); err != nil || attachment == nil {
		return err
	}
	return p.detach(ctx, attachment, id)
}

// findAttachment returns the attachment of the pair, nil if there is none: an
// absence in the cache is confirmed by one GET.
func (p *Provisioner) findAttachment(ctx context.Context, id VolumeID, nodeID string) (*v1beta2.AzVolumeAttachment, error) {
	names := []string{p.attachmentNameFor(id, nodeID)}
	if attachment := p.cachedAttachment(names[0]); attachment != nil && isAttachment(attachment, id, nodeID) && calling(attachment) {
		return attachment, nil
	}
	if plain := plainAttachmentName(id.DiskName, nodeID); plain != names[0] && isObjectName(plain) {
		names = append(names, plain) // others may have made it, and the cache may lag
	}
	for _, name := range names {
		attachment, err := p.liveAttachment(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case attachment == nil:
		case isAttachment(attachment, id, nodeID):
			return attachment, nil
		default:
			klog.FromContext(ctx).Info("The AzVolumeAttachment of this name is for another volume or node", "azVolumeAttachment", klog.KObj(attachment))
		}
	}
	return nil, nil
}

// calling reports whether the attachment calls for a write, for which a cached
// one will do: the server refuses it if it is old. It won't do for a mere wait:
// the end of an attachment that was long gone says nothing about one that has
// taken its name.
func calling(attachment *v1beta2.AzVolumeAttachment) bool {
	_, differs := detachRequest(attachment)
	return differs && attachment.Status.State != v1beta2.AttachmentAttaching
}

// demotable reports whether the attachment may stay as a replica: its attach
// stands, or is under way.
func demotable(attachment *v1beta2.AzVolumeAttachment) bool {
	return !detachRequested(attachment) && attachment.Status.State != v1beta2.AttachmentFailed
}

// demote makes a replica of the attachment. It returns false if the attachment
// turned out to be one that must be detached.
func (p *Provisioner) demote(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, id VolumeID) (done bool, err error) {
	name := attachment.Name
	_, err = write(ctx, p.clock, "demote AzVolumeAttachment "+p.namespace+"/"+name, attachment,
		func(ctx context.Context, current *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, error) {
			done = current == nil || demotable(current)
			if current == nil || !done || current.Spec.RequestedRole == v1beta2.RoleReplica {
				return current, nil
			}
			changed := current.DeepCopy()
			changed.Spec.RequestedRole = v1beta2.RoleReplica
			setLabel(changed, v1beta2.LabelRequestedRole, string(v1beta2.RoleReplica))
			setLabel(changed, v1beta2.LabelRoleChange, v1beta2.RoleChangeDemoted)
			p.stamp(changed)
			return p.attachments.Update(ctx, changed, metav1.UpdateOptions{})
		},
		func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) { return p.liveAttachment(ctx, name) })
	return done, err
}

// attachSettled waits until a running attach has ended, however it ends. It
// doesn't wait for ever: an attach that nobody works on any more still must be
// detached, so the caller goes on when the operation's timeout, or half of the
// caller's own time, has passed. It returns nil if the attachment is gone.
func (p *Provisioner) attachSettled(ctx context.Context, attachment *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, error) {
	if attachment.Status.State != v1beta2.AttachmentAttaching || attachment.DeletionTimestamp != nil {
		return attachment, nil
	}
	settleCtx := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		settleCtx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	result, err := p.waitForAttachment(settleCtx, OperationAttachSettled, attachment.Name, nil,
		func(context.Context) (*v1beta2.AzVolumeAttachment, error) { return attachment, nil })
	if result == nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			klog.FromContext(ctx).Info("The attach doesn't end, the detach is requested all the same", "azVolumeAttachment", klog.KObj(attachment))
			return attachment, nil
		}
		return nil, err
	}
	if errors.Is(err, engine.ErrJudge) {
		return nil, err
	}
	if result.Absent {
		return nil, nil // proven under the barrier of the object we had
	}
	if settled, ok := result.Peek().(*v1beta2.AzVolumeAttachment); ok {
		return settled, nil
	}
	return attachment, nil
}

// detach requests the detach and waits until the attachment is gone.
func (p *Provisioner) detach(ctx context.Context, attachment *v1beta2.AzVolumeAttachment, id VolumeID) error {
	name, nodeID := attachment.Name, attachment.Spec.NodeName
	result, err := p.waitForAttachment(ctx, OperationUnpublishVolume, name, nil, func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) {
		return write(ctx, p.clock, "request the detach of AzVolumeAttachment "+p.namespace+"/"+name, attachment,
			func(ctx context.Context, current *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, error) {
				if current == nil || !isAttachment(current, id, nodeID) {
					return nil, engine.ErrGone
				}
				changed, differs := detachRequest(current)
				if !differs {
					return current, nil
				}
				return p.attachments.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
			},
			func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) { return p.liveAttachment(ctx, name) })
	})
	if err == nil && !result.Absent {
		return newError(codes.Unavailable, "predicate %s says Done of an AzVolumeAttachment that is still there: correct the predicate and call again", result.Verdict.Predicate)
	}
	return err
}

// detachRequest returns the attachment with a request to detach it, and whether
// that differs from what it is. Old errors go: what the attach left behind is no
// news of the detach, and after a failed detach the other side starts again only
// from Attached.
func detachRequest(current *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, bool) {
	status := current.Status
	_, requested := status.Annotation[v1beta2.StatusVolumeDetachRequest]
	failed := status.State == v1beta2.AttachmentDetachmentFailed
	if current.DeletionTimestamp != nil || status.State == v1beta2.AttachmentDetaching || requested && !failed {
		return current, false
	}
	changed := current.DeepCopy()
	changed.Status.Annotation = maps.Clone(status.Annotation)
	if changed.Status.Annotation == nil {
		changed.Status.Annotation = map[string]string{}
	}
	if !requested {
		changed.Status.Annotation[v1beta2.StatusVolumeDetachRequest] = v1beta2.RequesterProvisioner
	}
	changed.Status.Error = nil
	if failed {
		changed.Status.State = v1beta2.AttachmentAttached
	}
	return changed, true
}
