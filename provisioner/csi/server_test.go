package csi

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeProvisioner answers with what the test sets.
type fakeProvisioner struct {
	err       error
	panics    bool
	volume    *provisioner.Volume
	created   provisioner.CreateVolumeRequest
	published provisioner.PublishRequest
	wait      func(context.Context) error // in WaitForAttach
	lun       string                      // asked for by WaitForAttach
}

func (f *fakeProvisioner) CreateVolume(_ context.Context, r provisioner.CreateVolumeRequest) (*provisioner.Volume, error) {
	if f.panics {
		panic("boom")
	}
	f.created = r
	return f.volume, f.err
}

func (f *fakeProvisioner) DeleteVolume(context.Context, string) error { return f.err }

func (f *fakeProvisioner) Lookup(context.Context, string) (*provisioner.Volume, error) {
	return f.volume, f.err
}

func (f *fakeProvisioner) Publish(_ context.Context, r provisioner.PublishRequest) (map[string]string, error) {
	f.published = r
	return map[string]string{v1beta2.PublishContextLUN: "3"}, f.err
}

func (f *fakeProvisioner) Unpublish(context.Context, string, string) error { return f.err }

func (f *fakeProvisioner) Expand(_ context.Context, _ string, c v1beta2.CapacityRange) (*provisioner.Expansion, error) {
	return &provisioner.Expansion{CapacityBytes: c.RequiredBytes, NodeExpansionRequired: true}, f.err
}

func (f *fakeProvisioner) WaitForAttach(ctx context.Context, _, _, lun string) (string, error) {
	f.lun = lun
	if f.wait != nil {
		if err := f.wait(ctx); err != nil {
			return "", err
		}
	}
	return "3", f.err
}

// logs is what the server has logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// served is a server on a socket, and its client.
type served struct {
	*grpc.ClientConn
	socket string
	logs   *logs
	calls  chan string
	stop   func() error
}

func serve(t *testing.T, p Provisioner) *served {
	t.Helper()
	s := &served{socket: filepath.Join(t.TempDir(), "csi.sock"), logs: &logs{}, calls: make(chan string, 100)}
	server, err := NewServer(Config{
		Provisioner: p, Name: v1beta2.DriverName, Version: "1", NodeID: "node-1", Zone: "z", Mounter: NewDirectoryMounter(),
		Ready:    func() bool { return true },
		Logger:   textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(s.logs), textlogger.Verbosity(9))),
		Observer: func(method string, code codes.Code, _ time.Duration) { s.calls <- method + " " + code.String() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := Listen(ctx, "unix://"+s.socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.ClientConn, err = grpc.NewClient("unix://"+s.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.ClientConn.Close(), s.stop()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mount(mode csipb.VolumeCapability_AccessMode_Mode) *csipb.VolumeCapability {
	return &csipb.VolumeCapability{
		AccessType: &csipb.VolumeCapability_Mount{Mount: &csipb.VolumeCapability_MountVolume{FsType: "ext4", MountFlags: []string{"noatime"}}},
		AccessMode: &csipb.VolumeCapability_AccessMode{Mode: mode},
	}
}

var writer = csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER

func TestNewServerNamesWhatIsMissing(t *testing.T) {
	_, err := NewServer(Config{Name: "n"})
	if err == nil || !strings.Contains(err.Error(), "Provisioner") || strings.Contains(err.Error(), "Name,") {
		t.Errorf("error %v", err)
	}
}

func TestIdentityAndCapabilities(t *testing.T) {
	s := serve(t, &fakeProvisioner{})
	info, err := csipb.NewIdentityClient(s).GetPluginInfo(t.Context(), &csipb.GetPluginInfoRequest{})
	if err != nil || info.GetName() != "disk.csi.azure.com" {
		t.Errorf("%v, %v", info, err)
	}
	probe, err := csipb.NewIdentityClient(s).Probe(t.Context(), &csipb.ProbeRequest{})
	if err != nil || !probe.GetReady().GetValue() {
		t.Errorf("%v, %v", probe, err)
	}
	plugin, err := csipb.NewIdentityClient(s).GetPluginCapabilities(t.Context(), &csipb.GetPluginCapabilitiesRequest{})
	if err != nil || len(plugin.GetCapabilities()) != 3 {
		t.Errorf("%v, %v", plugin, err)
	}
	node, err := csipb.NewNodeClient(s).NodeGetInfo(t.Context(), &csipb.NodeGetInfoRequest{})
	if err != nil || node.GetNodeId() != "node-1" || node.GetAccessibleTopology().GetSegments()[topologyZone] != "z" {
		t.Errorf("%v, %v", node, err)
	}
	_, err = csipb.NewControllerClient(s).GetCapacity(t.Context(), &csipb.GetCapacityRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("GetCapacity: %v", err)
	}
}

func TestC32_RequestAndAnswer(t *testing.T) {
	fake := &fakeProvisioner{volume: &provisioner.Volume{
		ID: "id", CapacityBytes: 5, Context: map[string]string{"a": "b"},
		ContentSource: &v1beta2.ContentVolumeSource{ContentSource: v1beta2.ContentSourceSnapshot, ContentSourceID: "s"},
		Topology:      []v1beta2.Topology{{Segments: map[string]string{"z": "1"}}},
	}}
	s := serve(t, fake)
	answer, err := csipb.NewControllerClient(s).CreateVolume(t.Context(), &csipb.CreateVolumeRequest{
		Name: "v", VolumeCapabilities: []*csipb.VolumeCapability{mount(writer)},
		CapacityRange: &csipb.CapacityRange{RequiredBytes: 5}, Parameters: map[string]string{"p": "q"},
		Secrets: map[string]string{"password": "hunter2"},
		VolumeContentSource: &csipb.VolumeContentSource{Type: &csipb.VolumeContentSource_Volume{
			Volume: &csipb.VolumeContentSource_VolumeSource{VolumeId: "src"},
		}},
		AccessibilityRequirements: &csipb.TopologyRequirement{Requisite: []*csipb.Topology{{Segments: map[string]string{"z": "1"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	volume := answer.GetVolume()
	if volume.GetVolumeId() != "id" || volume.GetCapacityBytes() != 5 || volume.GetVolumeContext()["a"] != "b" ||
		volume.GetContentSource().GetSnapshot().GetSnapshotId() != "s" || volume.GetAccessibleTopology()[0].GetSegments()["z"] != "1" {
		t.Errorf("answer %v", answer)
	}
	got := fake.created
	want := v1beta2.VolumeCapability{AccessType: v1beta2.AccessTypeMount, AccessMode: 1, FSType: "ext4"}
	if got.Name != "v" || got.Capabilities[0].AccessMode != want.AccessMode || got.Capabilities[0].FSType != "ext4" || got.CapacityRange.RequiredBytes != 5 ||
		got.Parameters["p"] != "q" || got.ContentSource.ContentSourceID != "src" || got.Accessibility.Requisite[0].Segments["z"] != "1" {
		t.Errorf("request %+v", got)
	}
	if text := s.logs.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "password") {
		t.Errorf("the log must name the keys of secrets, and no more:\n%s", text)
	}
}

func TestErrorsKeepTheirCodeAndAreCut(t *testing.T) {
	fake := &fakeProvisioner{}
	s := serve(t, fake)
	long := strings.Repeat("ü", 2000)
	for _, row := range []struct {
		err  error
		want codes.Code
	}{
		{&provisioner.Error{Code: codes.ResourceExhausted, Message: long}, codes.ResourceExhausted},
		{&provisioner.Error{Code: codes.Unavailable, Message: "no"}, codes.Unavailable},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
		{errors.New("no"), codes.Internal},
	} {
		fake.err = row.err
		_, err := csipb.NewControllerClient(s).DeleteVolume(t.Context(), &csipb.DeleteVolumeRequest{VolumeId: "v"})
		got := status.Convert(err)
		if got.Code() != row.want || len(got.Message()) > maxMessage || !strings.HasPrefix(row.err.Error(), strings.TrimSuffix(got.Message(), "…")) {
			t.Errorf("%v, want %s", err, row.want)
		}
		if call := <-s.calls; call != "DeleteVolume "+row.want.String() {
			t.Errorf("observed %q", call)
		}
	}
	if !strings.Contains(s.logs.String(), long) {
		t.Error("the whole text isn't in the log")
	}
}

func TestPanicEndsTheCallOnly(t *testing.T) {
	fake := &fakeProvisioner{panics: true, volume: &provisioner.Volume{ID: "id"}}
	s := serve(t, fake)
	request := &csipb.CreateVolumeRequest{Name: "v", VolumeCapabilities: []*csipb.VolumeCapability{mount(writer)}}
	_, err := csipb.NewControllerClient(s).CreateVolume(t.Context(), request)
	if status.Code(err) != codes.Unavailable { // a final code would leak the disk that may be in the making
		t.Errorf("panic: %v", err)
	}
	fake.panics = false
	if _, err := csipb.NewControllerClient(s).CreateVolume(t.Context(), request); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

func TestServeStops(t *testing.T) {
	s := serve(t, &fakeProvisioner{})
	if _, err := csipb.NewIdentityClient(s).Probe(t.Context(), &csipb.ProbeRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	exists(t, s.socket, false)
}
