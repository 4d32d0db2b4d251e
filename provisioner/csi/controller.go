package csi

import (
	"context"
	"errors"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// controller is the Controller service.
type controller struct {
	csipb.UnimplementedControllerServer
	provisioner Provisioner
}

func (s *controller) ControllerGetCapabilities(context.Context, *csipb.ControllerGetCapabilitiesRequest) (*csipb.ControllerGetCapabilitiesResponse, error) {
	response := &csipb.ControllerGetCapabilitiesResponse{}
	for _, rpc := range []csipb.ControllerServiceCapability_RPC_Type{
		csipb.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csipb.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csipb.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csipb.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csipb.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		response.Capabilities = append(response.Capabilities, &csipb.ControllerServiceCapability{
			Type: &csipb.ControllerServiceCapability_Rpc{Rpc: &csipb.ControllerServiceCapability_RPC{Type: rpc}},
		})
	}
	return response, nil
}

func (s *controller) CreateVolume(ctx context.Context, request *csipb.CreateVolumeRequest) (*csipb.CreateVolumeResponse, error) {
	if err := required("name", request.GetName()); err != nil {
		return nil, err
	}
	wanted, err := capabilities(request.GetVolumeCapabilities())
	if err != nil {
		return nil, err
	}
	source, err := contentSource(request.GetVolumeContentSource())
	if err != nil {
		return nil, err
	}
	volume, err := s.provisioner.CreateVolume(ctx, provisioner.CreateVolumeRequest{
		Name:          request.GetName(),
		Capabilities:  wanted,
		CapacityRange: capacityRange(request.GetCapacityRange()),
		Parameters:    request.GetParameters(),
		ContentSource: source,
		Accessibility: accessibility(request.GetAccessibilityRequirements()),
	})
	if err != nil {
		return nil, err
	}
	return &csipb.CreateVolumeResponse{Volume: csiVolume(volume)}, nil
}

func (s *controller) DeleteVolume(ctx context.Context, request *csipb.DeleteVolumeRequest) (*csipb.DeleteVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId()); err != nil {
		return nil, err
	}
	if err := s.provisioner.DeleteVolume(ctx, request.GetVolumeId()); err != nil {
		return nil, err
	}
	return &csipb.DeleteVolumeResponse{}, nil
}

func (s *controller) ControllerPublishVolume(ctx context.Context, request *csipb.ControllerPublishVolumeRequest) (*csipb.ControllerPublishVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId()); err != nil {
		return nil, err
	}
	wanted, err := capability(request.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	if err := provisioner.CheckCapabilities([]v1beta2.VolumeCapability{wanted}, request.GetVolumeContext()); err != nil {
		return nil, err
	}
	if err := required("node_id", request.GetNodeId()); err != nil {
		return nil, err
	}
	if request.GetReadonly() {
		return nil, status.Error(codes.InvalidArgument, "readonly attachments aren't supported (PUBLISH_READONLY isn't announced)")
	}
	publishContext, err := s.provisioner.Publish(ctx, provisioner.PublishRequest{
		VolumeID:      request.GetVolumeId(),
		NodeID:        request.GetNodeId(),
		VolumeContext: request.GetVolumeContext(),
		Capability:    wanted,
	})
	if err != nil {
		return nil, err
	}
	return &csipb.ControllerPublishVolumeResponse{PublishContext: publishContext}, nil
}

func (s *controller) ControllerUnpublishVolume(ctx context.Context, request *csipb.ControllerUnpublishVolumeRequest) (*csipb.ControllerUnpublishVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId(), "node_id", request.GetNodeId()); err != nil {
		return nil, err
	}
	if err := s.provisioner.Unpublish(ctx, request.GetVolumeId(), request.GetNodeId()); err != nil {
		return nil, err
	}
	return &csipb.ControllerUnpublishVolumeResponse{}, nil
}

func (s *controller) ControllerExpandVolume(ctx context.Context, request *csipb.ControllerExpandVolumeRequest) (*csipb.ControllerExpandVolumeResponse, error) {
	if err := required("volume_id", request.GetVolumeId()); err != nil {
		return nil, err
	}
	if request.GetCapacityRange().GetRequiredBytes() == 0 {
		return nil, status.Error(codes.InvalidArgument, "required_bytes is missing in the request")
	}
	expansion, err := s.provisioner.Expand(ctx, request.GetVolumeId(), *capacityRange(request.GetCapacityRange()))
	if err != nil {
		return nil, err
	}
	return &csipb.ControllerExpandVolumeResponse{
		CapacityBytes:         expansion.CapacityBytes,
		NodeExpansionRequired: expansion.NodeExpansionRequired,
	}, nil
}

func (s *controller) ValidateVolumeCapabilities(ctx context.Context, request *csipb.ValidateVolumeCapabilitiesRequest) (*csipb.ValidateVolumeCapabilitiesResponse, error) {
	if err := required("volume_id", request.GetVolumeId()); err != nil {
		return nil, err
	}
	if len(request.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume capabilities are missing in the request")
	}
	wanted, err := capabilities(request.GetVolumeCapabilities())
	if err != nil {
		return nil, err
	}
	if _, err := provisioner.MaxShares(request.GetVolumeContext()); err != nil {
		return nil, err
	}
	if _, err := s.provisioner.Lookup(ctx, request.GetVolumeId()); err != nil {
		return nil, err
	}
	if err := provisioner.CheckCapabilities(wanted, request.GetVolumeContext()); err != nil {
		unfit, _ := errors.AsType[*provisioner.Error](err)
		return &csipb.ValidateVolumeCapabilitiesResponse{Message: cut(unfit.Message)}, nil
	}
	return &csipb.ValidateVolumeCapabilitiesResponse{Confirmed: &csipb.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext:      request.GetVolumeContext(),
		VolumeCapabilities: request.GetVolumeCapabilities(),
		Parameters:         request.GetParameters(),
	}}, nil
}
