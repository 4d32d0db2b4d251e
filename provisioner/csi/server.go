package csi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Provisioner is what the servers need of *provisioner.Provisioner.
type Provisioner interface {
	CreateVolume(ctx context.Context, request provisioner.CreateVolumeRequest) (*provisioner.Volume, error)
	DeleteVolume(ctx context.Context, volumeID string) error
	Lookup(ctx context.Context, volumeID string) (*provisioner.Volume, error)
	Publish(ctx context.Context, request provisioner.PublishRequest) (map[string]string, error)
	Unpublish(ctx context.Context, volumeID, nodeID string) error
	Expand(ctx context.Context, volumeID string, capacity v1beta2.CapacityRange) (*provisioner.Expansion, error)
	WaitForAttach(ctx context.Context, volumeID, nodeID, lun string) (string, error)
}

// CallObserver is told of every call when it has ended. Implementations must be
// safe for concurrent use.
type CallObserver func(method string, code codes.Code, took time.Duration)

// Config has everything that a Server depends on. All fields are required but
// Zone and Observer.
type Config struct {
	Provisioner Provisioner
	// Name and Version are what GetPluginInfo answers.
	Name, Version string
	// NodeID is the node that the Node service is about; Zone, if any, is where
	// it stands.
	NodeID, Zone string
	// Mounter does the node's part once the disk is attached.
	Mounter Mounter
	// Ready says whether calls can be served: what Probe answers.
	Ready func() bool
	// Logger is given to every call with its method.
	Logger klog.Logger
	// Observer, if not nil, is told of every call.
	Observer CallObserver
}

// Server is the gRPC server of the three services.
type Server struct {
	grpc *grpc.Server
}

// stopWithin is how long calls have to answer once the server stops.
const stopWithin = 10 * time.Second

// NewServer returns a server that is ready for Serve. An error names the fields
// of the Config that are missing.
func NewServer(config Config) (*Server, error) {
	var missing []string
	for name, set := range map[string]bool{
		"Provisioner": config.Provisioner != nil, "Name": config.Name != "", "Version": config.Version != "",
		"NodeID": config.NodeID != "", "Mounter": config.Mounter != nil, "Ready": config.Ready != nil,
		"Logger": config.Logger.GetSink() != nil,
	} {
		if !set {
			missing = append(missing, name)
		}
	}
	if len(missing) != 0 {
		return nil, fmt.Errorf("make a CSI server: set %s in the Config", strings.Join(missing, ", "))
	}
	observer := config.Observer
	if observer == nil {
		observer = func(string, codes.Code, time.Duration) {}
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(intercept(config.Logger, observer)))
	csipb.RegisterIdentityServer(server, &identity{name: config.Name, version: config.Version, ready: config.Ready})
	csipb.RegisterControllerServer(server, &controller{provisioner: config.Provisioner})
	csipb.RegisterNodeServer(server, &node{
		provisioner: config.Provisioner, id: config.NodeID, zone: config.Zone, mounter: config.Mounter,
	})
	return &Server{grpc: server}, nil
}

// Serve answers calls until the context ends, then lets the running ones answer
// for up to ten seconds and closes the listener, which removes its socket. It is
// called once.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	stopped := make(chan struct{})
	served := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
		case <-served:
		}
		timer := time.AfterFunc(stopWithin, s.grpc.Stop)
		defer timer.Stop()
		s.grpc.GracefulStop()
	}()
	err := s.grpc.Serve(listener)
	close(served)
	<-stopped
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve CSI on %s: %w", listener.Addr(), err)
	}
	return nil
}
