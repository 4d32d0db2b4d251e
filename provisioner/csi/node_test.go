package csi

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestNodeWithDirectories(t *testing.T) {
	fake := &fakeProvisioner{}
	s := serve(t, fake)
	node := csipb.NewNodeClient(s)
	dir := t.TempDir()
	staging, target := filepath.Join(dir, "staging"), filepath.Join(dir, "target")
	for range 2 { // every call may be repeated
		if _, err := node.NodeStageVolume(t.Context(), &csipb.NodeStageVolumeRequest{
			VolumeId: "v", StagingTargetPath: staging, VolumeCapability: mount(writer), PublishContext: map[string]string{"LUN": "3"},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if fake.lun != "3" {
		t.Errorf("waited for LUN %q", fake.lun)
	}
	publish := &csipb.NodePublishVolumeRequest{VolumeId: "v", TargetPath: target, VolumeCapability: mount(writer)}
	if _, err := node.NodePublishVolume(t.Context(), publish); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("published without staging: %v", err)
	}
	publish.StagingTargetPath = staging
	for range 2 {
		if _, err := node.NodePublishVolume(t.Context(), publish); err != nil {
			t.Fatal(err)
		}
	}
	exists(t, staging, true)
	exists(t, target, true)
	for range 2 {
		if _, err := node.NodeUnpublishVolume(t.Context(), &csipb.NodeUnpublishVolumeRequest{VolumeId: "v", TargetPath: target}); err != nil {
			t.Fatal(err)
		}
		if _, err := node.NodeUnstageVolume(t.Context(), &csipb.NodeUnstageVolumeRequest{VolumeId: "v", StagingTargetPath: staging}); err != nil {
			t.Fatal(err)
		}
	}
	exists(t, staging, false)
	exists(t, target, false)
	block := &csipb.VolumeCapability{
		AccessType: &csipb.VolumeCapability_Block{Block: &csipb.VolumeCapability_BlockVolume{}},
		AccessMode: &csipb.VolumeCapability_AccessMode{Mode: writer},
	}
	publish.VolumeCapability = block
	if _, err := node.NodePublishVolume(t.Context(), publish); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(target); err != nil || info.IsDir() {
		t.Errorf("a block volume's target: %v, %v", info, err)
	}
}

func exists(t *testing.T, path string, want bool) {
	t.Helper()
	if _, err := os.Stat(path); (err == nil) != want {
		t.Errorf("%s: %v", path, err)
	}
}

// N9: a second call for the volume while one waits.
func TestN9_OneNodeCallPerVolume(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, &fakeProvisioner{wait: func(context.Context) error {
		close(inside)
		<-goOn
		return nil
	}})
	node := csipb.NewNodeClient(s)
	dir := t.TempDir()
	request := &csipb.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: filepath.Join(dir, "s"), VolumeCapability: mount(writer)}
	first := make(chan error, 1)
	go func() {
		_, err := node.NodeStageVolume(t.Context(), request)
		first <- err
	}()
	<-inside
	if _, err := node.NodeStageVolume(t.Context(), request); status.Code(err) != codes.Aborted {
		t.Errorf("second call: %v", err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Errorf("first call: %v", err)
	}
}
