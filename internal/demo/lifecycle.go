package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	gib         = int64(1) << 30
	createdSize = 10 * gib
	grownSize   = 20 * gib

	// callTimeout is how long a caller waits, as the attacher does.
	callTimeout = 10 * time.Minute
)

// caller makes CSI calls as the sidecars and the kubelet do.
type caller struct {
	connection *grpc.ClientConn
	controller csipb.ControllerClient
	node       csipb.NodeClient
	nodeID     string
	stagingDir string
	// ended is told what each call took.
	ended func(call string, took time.Duration, err error)
}

func dial(socket, nodeID, stagingDir string, ended func(string, time.Duration, error)) (*caller, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to the driver: %w", err)
	}
	return &caller{
		connection: connection,
		controller: csipb.NewControllerClient(connection),
		node:       csipb.NewNodeClient(connection),
		nodeID:     nodeID, stagingDir: stagingDir, ended: ended,
	}, nil
}

func (c *caller) close() error { return c.connection.Close() }

// volume is what the calls say of a volume.
type volume struct {
	name           string
	id             string
	context        map[string]string
	publishContext map[string]string
	size           int64
}

func capability() *csipb.VolumeCapability {
	return &csipb.VolumeCapability{
		AccessType: &csipb.VolumeCapability_Mount{Mount: &csipb.VolumeCapability_MountVolume{FsType: "ext4"}},
		AccessMode: &csipb.VolumeCapability_AccessMode{Mode: csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
	}
}

func (c *caller) create(ctx context.Context, name string) (*volume, error) {
	request := &csipb.CreateVolumeRequest{
		Name:               name,
		CapacityRange:      &csipb.CapacityRange{RequiredBytes: createdSize},
		VolumeCapabilities: []*csipb.VolumeCapability{capability()},
		Parameters:         map[string]string{"skuName": "Premium_LRS"},
	}
	response, err := timed(ctx, c, callCreate, request, c.controller.CreateVolume)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", callCreate, name, err)
	}
	made := response.GetVolume()
	return &volume{name: name, id: made.GetVolumeId(), context: made.GetVolumeContext(), size: made.GetCapacityBytes()}, nil
}

func (c *caller) publish(ctx context.Context, v *volume) error {
	response, err := timed(ctx, c, callPublish, &csipb.ControllerPublishVolumeRequest{
		VolumeId: v.id, NodeId: c.nodeID, VolumeCapability: capability(), VolumeContext: v.context,
	}, c.controller.ControllerPublishVolume)
	v.publishContext = response.GetPublishContext()
	return err
}

func (c *caller) stage(ctx context.Context, v *volume) error {
	_, err := timed(ctx, c, callStage, &csipb.NodeStageVolumeRequest{
		VolumeId: v.id, PublishContext: v.publishContext, StagingTargetPath: filepath.Join(c.stagingDir, v.name),
		VolumeCapability: capability(), VolumeContext: v.context,
	}, c.node.NodeStageVolume)
	return err
}

func (c *caller) expand(ctx context.Context, v *volume, size int64) error {
	response, err := timed(ctx, c, callExpand, &csipb.ControllerExpandVolumeRequest{
		VolumeId: v.id, CapacityRange: &csipb.CapacityRange{RequiredBytes: size}, VolumeCapability: capability(),
	}, c.controller.ControllerExpandVolume)
	if err == nil {
		if v.size = response.GetCapacityBytes(); v.size < size {
			err = fmt.Errorf("the volume has %d bytes after it was expanded to %d", v.size, size)
		}
	}
	return err
}

func (c *caller) unstage(ctx context.Context, v *volume) error {
	_, err := timed(ctx, c, callUnstage, &csipb.NodeUnstageVolumeRequest{
		VolumeId: v.id, StagingTargetPath: filepath.Join(c.stagingDir, v.name),
	}, c.node.NodeUnstageVolume)
	return err
}

func (c *caller) unpublish(ctx context.Context, v *volume) error {
	_, err := timed(ctx, c, callUnpublish, &csipb.ControllerUnpublishVolumeRequest{
		VolumeId: v.id, NodeId: c.nodeID,
	}, c.controller.ControllerUnpublishVolume)
	return err
}

func (c *caller) delete(ctx context.Context, v *volume) error {
	_, err := timed(ctx, c, callDelete, &csipb.DeleteVolumeRequest{VolumeId: v.id}, c.controller.DeleteVolume)
	return err
}

// timed makes a call and tells what it took.
func timed[Request, Response any](
	ctx context.Context, c *caller, name string, request Request,
	call func(context.Context, Request, ...grpc.CallOption) (Response, error),
) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	begin := time.Now()
	response, err := call(ctx, request)
	c.ended(name, time.Since(begin), err)
	return response, err
}

// live takes a volume through its whole life. expanded is called when its
// expansion has returned.
func (c *caller) live(ctx context.Context, name string, expanded func(context.Context, *volume) error) error {
	v, err := c.create(ctx, name)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		call string
		do   func() error
	}{
		{callPublish, func() error { return c.publish(ctx, v) }},
		{callStage, func() error { return c.stage(ctx, v) }},
		{callExpand, func() error { return c.expand(ctx, v, grownSize) }},
		{"look at it after " + callExpand, func() error { return expanded(ctx, v) }},
		{callUnstage, func() error { return c.unstage(ctx, v) }},
		{callUnpublish, func() error { return c.unpublish(ctx, v) }},
		{callDelete, func() error { return c.delete(ctx, v) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s %s: %w", step.call, name, err)
		}
	}
	return nil
}
