package csi

import (
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/donewhen/donewhen/provisioner"
)

// B.2: what is refused before anything is read.
func TestValidation(t *testing.T) {
	s := serve(t, &fakeProvisioner{volume: &provisioner.Volume{ID: "id"}})
	controller, node := csipb.NewControllerClient(s), csipb.NewNodeClient(s)
	ctx := t.Context()
	neither := &csipb.VolumeCapability{AccessMode: &csipb.VolumeCapability_AccessMode{Mode: writer}}
	many := mount(csipb.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)
	shares := map[string]string{"maxShares": "x"}
	for name, call := range map[string]func() error{
		"create: no name": func() error { _, err := controller.CreateVolume(ctx, &csipb.CreateVolumeRequest{}); return err },
		"create: neither block nor mount": func() error {
			_, err := controller.CreateVolume(ctx, &csipb.CreateVolumeRequest{Name: "v", VolumeCapabilities: []*csipb.VolumeCapability{neither}})
			return err
		},
		"create: empty source": func() error {
			_, err := controller.CreateVolume(ctx, &csipb.CreateVolumeRequest{
				Name: "v", VolumeCapabilities: []*csipb.VolumeCapability{mount(writer)}, VolumeContentSource: &csipb.VolumeContentSource{},
			})
			return err
		},
		"delete: no ID": func() error { _, err := controller.DeleteVolume(ctx, &csipb.DeleteVolumeRequest{}); return err },
		"publish: no ID": func() error {
			_, err := controller.ControllerPublishVolume(ctx, &csipb.ControllerPublishVolumeRequest{NodeId: "n", VolumeCapability: mount(writer)})
			return err
		},
		"publish: no node": func() error {
			_, err := controller.ControllerPublishVolume(ctx, &csipb.ControllerPublishVolumeRequest{VolumeId: "v", VolumeCapability: mount(writer)})
			return err
		},
		"publish: no capability": func() error {
			_, err := controller.ControllerPublishVolume(ctx, &csipb.ControllerPublishVolumeRequest{VolumeId: "v", NodeId: "n"})
			return err
		},
		"publish: several nodes": func() error {
			_, err := controller.ControllerPublishVolume(ctx, &csipb.ControllerPublishVolumeRequest{VolumeId: "v", NodeId: "n", VolumeCapability: many})
			return err
		},
		"publish: maxShares": func() error {
			_, err := controller.ControllerPublishVolume(ctx, &csipb.ControllerPublishVolumeRequest{VolumeId: "v", NodeId: "n", VolumeCapability: mount(writer), VolumeContext: shares})
			return err
		},
		"unpublish: no ID": func() error {
			_, err := controller.ControllerUnpublishVolume(ctx, &csipb.ControllerUnpublishVolumeRequest{NodeId: "n"})
			return err
		},
		"unpublish: no node": func() error {
			_, err := controller.ControllerUnpublishVolume(ctx, &csipb.ControllerUnpublishVolumeRequest{VolumeId: "v"})
			return err
		},
		"expand: no ID": func() error {
			_, err := controller.ControllerExpandVolume(ctx, &csipb.ControllerExpandVolumeRequest{CapacityRange: &csipb.CapacityRange{RequiredBytes: 1}})
			return err
		},
		"E15 expand: a limit only": func() error {
			_, err := controller.ControllerExpandVolume(ctx, &csipb.ControllerExpandVolumeRequest{VolumeId: "v", CapacityRange: &csipb.CapacityRange{LimitBytes: 1}})
			return err
		},
		"validate: no ID": func() error {
			_, err := controller.ValidateVolumeCapabilities(ctx, &csipb.ValidateVolumeCapabilitiesRequest{VolumeCapabilities: []*csipb.VolumeCapability{mount(writer)}})
			return err
		},
		"validate: no capabilities": func() error {
			_, err := controller.ValidateVolumeCapabilities(ctx, &csipb.ValidateVolumeCapabilitiesRequest{VolumeId: "v"})
			return err
		},
		"stage: no ID": func() error {
			_, err := node.NodeStageVolume(ctx, &csipb.NodeStageVolumeRequest{StagingTargetPath: "/s", VolumeCapability: mount(writer)})
			return err
		},
		"stage: no path": func() error {
			_, err := node.NodeStageVolume(ctx, &csipb.NodeStageVolumeRequest{VolumeId: "v", VolumeCapability: mount(writer)})
			return err
		},
		"stage: no capability": func() error {
			_, err := node.NodeStageVolume(ctx, &csipb.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: "/s"})
			return err
		},
		"unstage: no path": func() error {
			_, err := node.NodeUnstageVolume(ctx, &csipb.NodeUnstageVolumeRequest{VolumeId: "v"})
			return err
		},
		"node publish: no target": func() error {
			_, err := node.NodePublishVolume(ctx, &csipb.NodePublishVolumeRequest{VolumeId: "v", StagingTargetPath: "/s", VolumeCapability: mount(writer)})
			return err
		},
		"node unpublish: no target": func() error {
			_, err := node.NodeUnpublishVolume(ctx, &csipb.NodeUnpublishVolumeRequest{VolumeId: "v"})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	answer, err := controller.ValidateVolumeCapabilities(ctx, &csipb.ValidateVolumeCapabilitiesRequest{VolumeId: "v", VolumeCapabilities: []*csipb.VolumeCapability{many}})
	if err != nil || answer.GetConfirmed() != nil || answer.GetMessage() == "" {
		t.Errorf("unfit capability: %v, %v", answer, err)
	}
	answer, err = controller.ValidateVolumeCapabilities(ctx, &csipb.ValidateVolumeCapabilitiesRequest{VolumeId: "v", VolumeCapabilities: []*csipb.VolumeCapability{mount(writer)}})
	if err != nil || answer.GetConfirmed() == nil {
		t.Errorf("fit capability: %v, %v", answer, err)
	}
}
