package provisioner

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// found makes of an object and the error of its GET: the object, nil if the
// server said that it doesn't exist, or a mapped error.
func found[T any](ctx context.Context, object *T, err error, what string) (*T, error) {
	switch {
	case err == nil:
		return object, nil
	case objectNotFound(err):
		return nil, nil
	default:
		return nil, asError(ctx, err, what)
	}
}

// liveVolume asks the server for the AzVolume; nil if there is none.
func (p *Provisioner) liveVolume(ctx context.Context, name string) (*v1beta2.AzVolume, error) {
	object, err := p.volumes.Get(ctx, name, metav1.GetOptions{})
	return found(ctx, object, err, "get AzVolume "+p.namespace+"/"+name)
}

// liveAttachment asks the server for the AzVolumeAttachment; nil if there is none.
func (p *Provisioner) liveAttachment(ctx context.Context, name string) (*v1beta2.AzVolumeAttachment, error) {
	object, err := p.attachments.Get(ctx, name, metav1.GetOptions{})
	return found(ctx, object, err, "get AzVolumeAttachment "+p.namespace+"/"+name)
}

// cachedVolume returns the AzVolume from the cache, nil if it isn't there, which
// proves nothing.
func (p *Provisioner) cachedVolume(name string) *v1beta2.AzVolume {
	volume, err := p.volumeLister.Get(name)
	if err != nil { // a lister knows no other error than NotFound
		return nil
	}
	return volume
}

func (p *Provisioner) cachedAttachment(name string) *v1beta2.AzVolumeAttachment {
	attachment, err := p.attachmentLister.Get(name)
	if err != nil {
		return nil
	}
	return attachment
}

// findVolume returns the AzVolume with that ID, nil if there is none: an absence
// in the cache is confirmed by one GET. An AzVolume whose disk has the same name
// but another resource group or subscription is another volume.
func (p *Provisioner) findVolume(ctx context.Context, id VolumeID) (*v1beta2.AzVolume, error) {
	volume := p.cachedVolume(id.objectName())
	if volume != nil && isVolume(volume, id) {
		return volume, nil
	}
	return p.findLiveVolume(ctx, id)
}

// findLiveVolume is findVolume without the cache.
func (p *Provisioner) findLiveVolume(ctx context.Context, id VolumeID) (*v1beta2.AzVolume, error) {
	volume, err := p.liveVolume(ctx, id.objectName())
	if err != nil || volume == nil {
		return nil, err
	}
	if !isVolume(volume, id) {
		klog.FromContext(ctx).Info("The AzVolume of this name is another disk", "volumeID", id.String(), "azVolume", klog.KObj(volume), "its", volume.Status.Detail.VolumeID)
		return nil, nil
	}
	return volume, nil
}

// isVolume reports whether the AzVolume can be the volume with that ID; one
// without a disk has no ID yet.
func isVolume(volume *v1beta2.AzVolume, id VolumeID) bool {
	return volume.Status.Detail == nil || id.is(volume.Status.Detail.VolumeID)
}

// findNode reports whether the AzDriverNode exists.
func (p *Provisioner) findNode(ctx context.Context, nodeID string) (bool, error) {
	if !isObjectName(nodeID) {
		return false, nil
	}
	if _, err := p.nodeLister.Get(nodeID); err == nil {
		return true, nil
	}
	object, err := p.nodes.Get(ctx, nodeID, metav1.GetOptions{})
	object, err = found(ctx, object, err, "get AzDriverNode "+p.namespace+"/"+nodeID)
	return object != nil, err
}

// attachmentNameFor returns the name of the pair's AzVolumeAttachment: that of an
// object which others have made for it by the Azure side's own rule, or ours.
func (p *Provisioner) attachmentNameFor(id VolumeID, nodeID string) string {
	name, plain := attachmentName(id.DiskName, nodeID), plainAttachmentName(id.DiskName, nodeID)
	if name == plain || p.cachedAttachment(name) != nil {
		return name
	}
	if other := p.cachedAttachment(plain); other != nil && isAttachment(other, id, nodeID) {
		return plain
	}
	return name
}

// primariesOf returns the primary attachments of the volume that the cache holds
// and nobody has asked to detach.
func (p *Provisioner) primariesOf(id VolumeID) []*v1beta2.AzVolumeAttachment {
	selector := labels.SelectorFromSet(labels.Set{v1beta2.LabelVolumeName: labelValue(id.objectName())})
	attachments, err := p.attachmentLister.List(selector)
	if err != nil { // a lister has no error to return
		return nil
	}
	return slices.DeleteFunc(attachments, func(a *v1beta2.AzVolumeAttachment) bool {
		return a.Spec.RequestedRole != v1beta2.RolePrimary || detachRequested(a) || !id.is(a.Spec.VolumeID)
	})
}
