package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Mounter does the node's part of a volume's life. Each method must be safe to
// repeat; no two run at once for one volume.
type Mounter interface {
	// Stage makes the disk at that LUN available at the staging path.
	Stage(ctx context.Context, lun, stagingPath string, capability v1beta2.VolumeCapability) error
	// Unstage undoes Stage; nothing staged is no error.
	Unstage(ctx context.Context, stagingPath string) error
	// Publish shows the staged disk to a workload at the target path.
	Publish(ctx context.Context, stagingPath, targetPath string, capability v1beta2.VolumeCapability, readOnly bool) error
	// Unpublish undoes Publish; nothing published is no error.
	Unpublish(ctx context.Context, targetPath string) error
}

// directoryMounter makes directories in place of mounts.
type directoryMounter struct{}

// NewDirectoryMounter returns a Mounter that makes empty directories (files for
// block volumes) in place of mounts. It is for simulators, demos and conformance
// tests: there is no disk behind it. Safe for concurrent use.
func NewDirectoryMounter() Mounter { return directoryMounter{} }

func (directoryMounter) Stage(_ context.Context, _, stagingPath string, _ v1beta2.VolumeCapability) error {
	return makeDirectory(stagingPath)
}

func (directoryMounter) Unstage(_ context.Context, stagingPath string) error {
	return removeEmpty(stagingPath)
}

func (directoryMounter) Publish(_ context.Context, _, targetPath string, capability v1beta2.VolumeCapability, _ bool) error {
	if capability.AccessType == v1beta2.AccessTypeMount {
		return makeDirectory(targetPath)
	}
	file, err := os.OpenFile(targetPath, os.O_CREATE|os.O_RDONLY, 0o640)
	if err != nil {
		return fmt.Errorf("make a file in place of a block device: %w", err)
	}
	return file.Close()
}

func (directoryMounter) Unpublish(_ context.Context, targetPath string) error {
	return removeEmpty(targetPath)
}

func makeDirectory(path string) error {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return fmt.Errorf("make a directory in place of a mount: %w", err)
	}
	return nil
}

// removeEmpty never removes anything that a workload has left there.
func removeEmpty(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what stands in place of a mount: %w", err)
	}
	return nil
}
