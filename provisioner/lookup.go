package provisioner

import (
	"context"

	"google.golang.org/grpc/codes"
)

// Lookup returns the volume with that ID, NotFound if there is none, or none yet.
func (p *Provisioner) Lookup(ctx context.Context, volumeID string) (*Volume, error) {
	id, err := ParseVolumeID(volumeID)
	if err != nil {
		return nil, wrapError(codes.NotFound, err, "look up a volume")
	}
	volume, err := p.findVolume(ctx, id)
	if err != nil {
		return nil, err
	}
	if volume == nil || volume.Status.Detail == nil {
		return nil, newError(codes.NotFound, "volume %s doesn't exist", id)
	}
	return volumeOf(volume), nil
}
