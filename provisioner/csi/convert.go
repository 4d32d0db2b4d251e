package csi

import (
	"maps"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// required refuses a request with the first of the fields (name, value, …) that
// is empty.
func required(fields ...string) error {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			return status.Errorf(codes.InvalidArgument, "%s is missing in the request", fields[i])
		}
	}
	return nil
}

// capability converts one capability; it must be either block or mount.
func capability(c *csipb.VolumeCapability) (v1beta2.VolumeCapability, error) {
	if c == nil {
		return v1beta2.VolumeCapability{}, status.Error(codes.InvalidArgument, "the volume capability is missing in the request")
	}
	converted := v1beta2.VolumeCapability{AccessMode: v1beta2.VolumeAccessMode(c.GetAccessMode().GetMode())}
	switch access := c.GetAccessType().(type) {
	case *csipb.VolumeCapability_Block:
		converted.AccessType = v1beta2.AccessTypeBlock
	case *csipb.VolumeCapability_Mount:
		converted.AccessType = v1beta2.AccessTypeMount
		converted.FSType = access.Mount.GetFsType()
		converted.MountFlags = access.Mount.GetMountFlags()
	default:
		return v1beta2.VolumeCapability{}, status.Error(codes.InvalidArgument, "the volume capability says neither block nor mount")
	}
	return converted, nil
}

func capabilities(list []*csipb.VolumeCapability) ([]v1beta2.VolumeCapability, error) {
	converted := make([]v1beta2.VolumeCapability, 0, len(list))
	for _, c := range list {
		one, err := capability(c)
		if err != nil {
			return nil, err
		}
		converted = append(converted, one)
	}
	return converted, nil
}

func capacityRange(r *csipb.CapacityRange) *v1beta2.CapacityRange {
	if r == nil {
		return nil
	}
	return &v1beta2.CapacityRange{RequiredBytes: r.GetRequiredBytes(), LimitBytes: r.GetLimitBytes()}
}

func contentSource(source *csipb.VolumeContentSource) (*v1beta2.ContentVolumeSource, error) {
	switch s := source.GetType().(type) {
	case nil:
		if source != nil {
			return nil, status.Error(codes.InvalidArgument, "the content source is neither a volume nor a snapshot")
		}
		return nil, nil
	case *csipb.VolumeContentSource_Volume:
		return namedSource(v1beta2.ContentSourceVolume, s.Volume.GetVolumeId())
	case *csipb.VolumeContentSource_Snapshot:
		return namedSource(v1beta2.ContentSourceSnapshot, s.Snapshot.GetSnapshotId())
	}
	return nil, status.Error(codes.InvalidArgument, "the content source is neither a volume nor a snapshot")
}

func namedSource(kind v1beta2.ContentSourceType, id string) (*v1beta2.ContentVolumeSource, error) {
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "the content source has no ID")
	}
	return &v1beta2.ContentVolumeSource{ContentSource: kind, ContentSourceID: id}, nil
}

func accessibility(requirement *csipb.TopologyRequirement) *v1beta2.TopologyRequirement {
	if requirement == nil {
		return nil
	}
	return &v1beta2.TopologyRequirement{
		Requisite: topologies(requirement.GetRequisite()),
		Preferred: topologies(requirement.GetPreferred()),
	}
}

func topologies(list []*csipb.Topology) []v1beta2.Topology {
	var converted []v1beta2.Topology
	for _, topology := range list {
		converted = append(converted, v1beta2.Topology{Segments: maps.Clone(topology.GetSegments())})
	}
	return converted
}

// csiVolume converts the answer.
func csiVolume(volume *provisioner.Volume) *csipb.Volume {
	converted := &csipb.Volume{
		VolumeId:      volume.ID,
		CapacityBytes: volume.CapacityBytes,
		VolumeContext: volume.Context,
	}
	for _, topology := range volume.Topology {
		converted.AccessibleTopology = append(converted.AccessibleTopology, &csipb.Topology{Segments: topology.Segments})
	}
	if source := volume.ContentSource; source != nil {
		converted.ContentSource = &csipb.VolumeContentSource{}
		if source.ContentSource == v1beta2.ContentSourceSnapshot {
			converted.ContentSource.Type = &csipb.VolumeContentSource_Snapshot{Snapshot: &csipb.VolumeContentSource_SnapshotSource{SnapshotId: source.ContentSourceID}}
		} else {
			converted.ContentSource.Type = &csipb.VolumeContentSource_Volume{Volume: &csipb.VolumeContentSource_VolumeSource{VolumeId: source.ContentSourceID}}
		}
	}
	return converted
}
