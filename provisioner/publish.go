package provisioner

import (
	"context"
	"maps"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// PublishRequest asks for a volume on a node. Secrets have no field.
type PublishRequest struct {
	VolumeID      string
	NodeID        string
	VolumeContext map[string]string
	// Capability is how the volume will be used.
	Capability v1beta2.VolumeCapability
}

// Publish attaches the volume to the node and returns the publish context, never
// nil, once the operation's predicate is content: with the default one that is
// when the LUN is known. NotFound if the volume or the node doesn't exist;
// FailedPrecondition if the volume is published to another node and may only be
// on one; Aborted while it is being made, detached or deleted.
func (p *Provisioner) Publish(ctx context.Context, request PublishRequest) (map[string]string, error) {
	id, err := ParseVolumeID(request.VolumeID)
	if err != nil {
		return nil, wrapError(codes.NotFound, err, "publish a volume to node %s", request.NodeID)
	}
	release, err := p.hold("attachment", id.objectName(), request.NodeID)
	if err != nil {
		return nil, err
	}
	defer release()

	if !multiNode(request.Capability.AccessMode) {
		release, holder := p.claims.claim(id.objectName(), request.NodeID)
		if release == nil {
			return nil, newError(codes.FailedPrecondition, "volume %s is being published to node %s, and may only be on one at a time", id, holder)
		}
		defer release()
	}
	if err := p.checkPublishable(ctx, id, request); err != nil {
		return nil, err
	}
	name := p.attachmentNameFor(id, request.NodeID)
	params := engine.Params{ParamVolumeName: id.objectName(), ParamNodeName: request.NodeID}
	result, err := p.waitForAttachment(ctx, OperationPublishVolume, name, params, func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) {
		return write(ctx, p.clock, "publish AzVolumeAttachment "+p.namespace+"/"+name, p.cachedAttachment(name),
			func(ctx context.Context, current *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, error) {
				if current == nil {
					wanted := p.newAttachment(request, id)
					wanted.Name = name
					return p.createAttachment(ctx, wanted)
				}
				return p.adoptAttachment(ctx, current, request, id)
			},
			func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) { return p.liveAttachment(ctx, name) })
	})
	if err != nil {
		return nil, err
	}
	attached, ok := result.Peek().(*v1beta2.AzVolumeAttachment)
	if !ok {
		return nil, newError(codes.Unavailable, "predicate %s says Done of an AzVolumeAttachment that isn't there: correct the predicate and call again", result.Verdict.Predicate)
	}
	publishContext := map[string]string{}
	if attached.Status.Detail != nil {
		maps.Copy(publishContext, attached.Status.Detail.PublishContext)
	}
	return publishContext, nil
}

// checkPublishable looks at everything around the attachment itself.
func (p *Provisioner) checkPublishable(ctx context.Context, id VolumeID, request PublishRequest) error {
	volume, err := p.findVolume(ctx, id)
	if err != nil {
		return err
	}
	if volume == nil {
		return newError(codes.NotFound, "volume %s doesn't exist", id)
	}
	known, err := p.findNode(ctx, request.NodeID)
	if err != nil {
		return err
	}
	if !known {
		return newError(codes.NotFound, "node %s has no AzDriverNode in namespace %s: is the node's driver running?", request.NodeID, p.namespace)
	}
	switch {
	case leaving(volume):
		return newError(codes.Aborted, "AzVolume %s/%s is being deleted", volume.Namespace, volume.Name)
	case volume.Status.Detail == nil && volume.Status.State == v1beta2.VolumeCreationFailed:
		return newError(codes.FailedPrecondition, "AzVolume %s/%s has no disk: its creation failed", volume.Namespace, volume.Name)
	case volume.Status.Detail == nil:
		return newError(codes.Aborted, "AzVolume %s/%s has no disk yet (state %q)", volume.Namespace, volume.Name, volume.Status.State)
	}
	if multiNode(request.Capability.AccessMode) {
		return nil
	}
	for _, other := range p.primariesOf(id) {
		if !isAttachment(other, id, request.NodeID) {
			return newError(codes.FailedPrecondition, "volume %s is published to node %s, and may only be on one at a time", id, other.Spec.NodeName)
		}
	}
	return nil
}

// createAttachment is the CREATE.
func (p *Provisioner) createAttachment(ctx context.Context, wanted *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, error) {
	created, err := p.attachments.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) { // of the namespace or the CRD, not of the object
		return nil, requestError(ctx, err, "create AzVolumeAttachment "+p.namespace+"/"+wanted.Name)
	}
	return created, err
}

// adoptAttachment decides on an AzVolumeAttachment that exists: what is missing
// for its attach to go on is written, a replica is promoted, a failed attach is
// started again; one that is leaving or different is refused.
func (p *Provisioner) adoptAttachment(ctx context.Context, existing *v1beta2.AzVolumeAttachment, request PublishRequest, id VolumeID) (*v1beta2.AzVolumeAttachment, error) {
	if err := unpublishable(existing, request, id); err != nil {
		return nil, err
	}
	current := existing
	// The main part first: the status starts the other side.
	if changed, differs := p.asPrimary(existing, request); differs {
		updated, err := p.attachments.Update(ctx, changed, metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		current = updated
	}
	if current.Status.State != v1beta2.AttachmentFailed {
		return current, nil
	}
	return p.attachments.UpdateStatus(ctx, restarted(current), metav1.UpdateOptions{})
}

// unpublishable says why an existing attachment can't become the requested one.
func unpublishable(existing *v1beta2.AzVolumeAttachment, request PublishRequest, id VolumeID) error {
	where := existing.Namespace + "/" + existing.Name
	replica := existing.Spec.RequestedRole == v1beta2.RoleReplica
	switch {
	case !isAttachment(existing, id, request.NodeID):
		return newError(codes.AlreadyExists, "AzVolumeAttachment %s is for volume %s on node %s", where, existing.Spec.VolumeID, existing.Spec.NodeName)
	case detachRequested(existing):
		return newError(codes.Aborted, "AzVolumeAttachment %s is being detached (state %q, requested by %q), call again when it is gone",
			where, existing.Status.State, existing.Status.Annotation[v1beta2.StatusVolumeDetachRequest])
	case replica && existing.Status.State == v1beta2.AttachmentFailed: // an error beside another state is an old one
		return newError(codes.Aborted, "AzVolumeAttachment %s is a failed replica that is going to be deleted, call again when it is gone", where)
	case !replica && !maps.Equal(existing.Spec.VolumeContext, request.VolumeContext): // nil equals empty
		return newError(codes.AlreadyExists, "AzVolumeAttachment %s exists with another volume context", where)
	}
	return nil
}

// asPrimary returns the attachment with the main part that a published volume's
// must have, and whether that differs from what it is.
func (p *Provisioner) asPrimary(existing *v1beta2.AzVolumeAttachment, request PublishRequest) (*v1beta2.AzVolumeAttachment, bool) {
	promote := existing.Spec.RequestedRole != v1beta2.RolePrimary
	ask := !attachRequested(existing) && attachUnbegun(existing)
	if !promote && !ask {
		return existing, false
	}
	changed := existing.DeepCopy()
	p.stamp(changed)
	if ask {
		changed.Annotations[v1beta2.AnnotationVolumeAttachRequest] = v1beta2.RequesterProvisioner
	}
	if promote {
		changed.Spec.RequestedRole = v1beta2.RolePrimary
		changed.Spec.VolumeContext = maps.Clone(request.VolumeContext)
		if changed.Spec.VolumeContext == nil {
			changed.Spec.VolumeContext = map[string]string{}
		}
		setLabel(changed, v1beta2.LabelRequestedRole, string(v1beta2.RolePrimary))
		setLabel(changed, v1beta2.LabelRoleChange, v1beta2.RoleChangePromoted)
	}
	return changed, true
}

func setLabel(object metav1.Object, key, value string) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	object.SetLabels(labels)
}
