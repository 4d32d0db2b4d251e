package provisioner

import (
	"context"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Expansion is the outcome of Expand.
type Expansion struct {
	CapacityBytes         int64
	NodeExpansionRequired bool
}

// Expand waits until the disk has at least capacity.RequiredBytes bytes, and asks
// for that first if nobody has. The size that is asked for is never lowered.
// NotFound if the volume doesn't exist, OutOfRange if the range can't be met,
// Aborted while the volume is being made or deleted.
func (p *Provisioner) Expand(ctx context.Context, volumeID string, capacity v1beta2.CapacityRange) (*Expansion, error) {
	id, err := ParseVolumeID(volumeID)
	if err != nil {
		return nil, wrapError(codes.NotFound, err, "expand a volume")
	}
	if capacity.RequiredBytes == 0 {
		return nil, newError(codes.InvalidArgument, "expand volume %s: required_bytes is missing", id)
	}
	if err := checkCapacity(&capacity); err != nil {
		return nil, err
	}
	release, err := p.hold("volume", id.objectName())
	if err != nil {
		return nil, err
	}
	defer release()

	name := id.objectName()
	volume, err := p.findVolume(ctx, id)
	if err != nil {
		return nil, err
	}
	if volume == nil {
		return nil, newError(codes.NotFound, "volume %s doesn't exist", id)
	}
	params := engine.Params{ParamRequiredBytes: capacity.RequiredBytes}
	result, err := p.waitForVolume(ctx, OperationExpandVolume, name, params, func(ctx context.Context) (*v1beta2.AzVolume, error) {
		return write(ctx, p.clock, "expand AzVolume "+p.namespace+"/"+name, volume,
			func(ctx context.Context, current *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
				if current == nil || !isVolume(current, id) {
					return nil, newError(codes.NotFound, "volume %s doesn't exist any more", id)
				}
				return p.requestSize(ctx, current, capacity)
			},
			func(ctx context.Context) (*v1beta2.AzVolume, error) { return p.liveVolume(ctx, name) })
	})
	if err != nil {
		return nil, err
	}
	expanded, err := volumeIn(result)
	if err != nil {
		return nil, err
	}
	return &Expansion{
		CapacityBytes:         expanded.Status.Detail.CapacityBytes,
		NodeExpansionRequired: expanded.Status.Detail.NodeExpansionRequired,
	}, nil
}

// requestSize decides on an AzVolume: one that is large enough is returned as it
// stands, otherwise the spec is raised and a failed expansion is started again.
func (p *Provisioner) requestSize(ctx context.Context, current *v1beta2.AzVolume, capacity v1beta2.CapacityRange) (*v1beta2.AzVolume, error) {
	switch {
	case leaving(current):
		return nil, newError(codes.Aborted, "AzVolume %s/%s is being deleted", current.Namespace, current.Name)
	case current.Status.Detail == nil:
		return nil, newError(codes.Aborted, "AzVolume %s/%s has no disk yet (state %q)", current.Namespace, current.Name, current.Status.State)
	case capacity.LimitBytes > 0 && current.Status.Detail.CapacityBytes > capacity.LimitBytes:
		return nil, newError(codes.OutOfRange, "AzVolume %s/%s has %d bytes, more than limit_bytes %d: disks don't shrink",
			current.Namespace, current.Name, current.Status.Detail.CapacityBytes, capacity.LimitBytes)
	case current.Status.Detail.CapacityBytes >= capacity.RequiredBytes:
		return current, nil
	}
	// The main part first: the status starts the other side.
	if has := current.Spec.CapacityRange; has == nil || has.RequiredBytes < capacity.RequiredBytes {
		changed := current.DeepCopy()
		changed.Spec.CapacityRange = &capacity
		p.stamp(changed)
		updated, err := p.volumes.Update(ctx, changed, metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		current = updated
	}
	if current.Status.State != v1beta2.VolumeUpdateFailed {
		return current, nil
	}
	changed := current.DeepCopy()
	changed.Status.Error = nil
	changed.Status.State = v1beta2.VolumeCreated
	return p.volumes.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}
