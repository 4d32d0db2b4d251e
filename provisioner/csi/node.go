package csi

import (
	"context"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/internal/keyed"
)

// topologyZone is the one topology key; its value is empty for a node outside
// every zone, as it is for a disk.
const topologyZone = "topology." + v1beta2.DriverName + "/zone"

// node is the Node service.
type node struct {
	csipb.UnimplementedNodeServer
	provisioner Provisioner
	id, zone    string
	mounter     Mounter
	busy        keyed.Lock
}

func (s *node) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return &csipb.NodeGetInfoResponse{
		NodeId:             s.id,
		AccessibleTopology: &csipb.Topology{Segments: map[string]string{topologyZone: s.zone}},
	}, nil
}

func (s *node) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	response := &csipb.NodeGetCapabilitiesResponse{}
	for _, rpc := range []csipb.NodeServiceCapability_RPC_Type{
		csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csipb.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		response.Capabilities = append(response.Capabilities, &csipb.NodeServiceCapability{
			Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: rpc}},
		})
	}
	return response, nil
}

func (s *node) NodeStageVolume(ctx context.Context, request *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId(), "staging_target_path", request.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	wanted, err := s.capability(request.GetVolumeCapability(), request.GetVolumeContext())
	if err != nil {
		return nil, err
	}
	release, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer release()
	lun, err := s.provisioner.WaitForAttach(ctx, request.GetVolumeId(), s.id, request.GetPublishContext()[v1beta2.PublishContextLUN])
	if err != nil {
		return nil, err
	}
	if err := s.mounter.Stage(ctx, lun, request.GetStagingTargetPath(), wanted); err != nil {
		return nil, internal(err)
	}
	return &csipb.NodeStageVolumeResponse{}, nil
}

func (s *node) NodeUnstageVolume(ctx context.Context, request *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId(), "staging_target_path", request.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	release, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.mounter.Unstage(ctx, request.GetStagingTargetPath()); err != nil {
		return nil, internal(err)
	}
	return &csipb.NodeUnstageVolumeResponse{}, nil
}

func (s *node) NodePublishVolume(ctx context.Context, request *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId(), "target_path", request.GetTargetPath()); err != nil {
		return nil, err
	}
	wanted, err := s.capability(request.GetVolumeCapability(), request.GetVolumeContext())
	if err != nil {
		return nil, err
	}
	if request.GetStagingTargetPath() == "" {
		return nil, status.Error(codes.FailedPrecondition, "staging_target_path is missing in the request: stage the volume first")
	}
	release, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.mounter.Publish(ctx, request.GetStagingTargetPath(), request.GetTargetPath(), wanted, request.GetReadonly()); err != nil {
		return nil, internal(err)
	}
	return &csipb.NodePublishVolumeResponse{}, nil
}

func (s *node) NodeUnpublishVolume(ctx context.Context, request *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId(), "target_path", request.GetTargetPath()); err != nil {
		return nil, err
	}
	release, err := s.hold(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.mounter.Unpublish(ctx, request.GetTargetPath()); err != nil {
		return nil, internal(err)
	}
	return &csipb.NodeUnpublishVolumeResponse{}, nil
}

// capability converts and checks the capability of a request to the node.
func (s *node) capability(c *csipb.VolumeCapability, volumeContext map[string]string) (v1beta2.VolumeCapability, error) {
	converted, err := capability(c)
	if err != nil {
		return converted, err
	}
	return converted, provisioner.CheckCapabilities([]v1beta2.VolumeCapability{converted}, volumeContext)
}

// hold lets one call at a time work on the volume's paths.
func (s *node) hold(volumeID string) (func(), error) {
	release, ok := s.busy.TryHold(volumeID)
	if !ok {
		return nil, status.Errorf(codes.Aborted, "another call for volume %s is running on this node", volumeID)
	}
	return release, nil
}

func internal(err error) error { return status.Error(codes.Internal, err.Error()) }
