package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// finalizerPause is how long after a failed creation the finalizer goes: the
// real controllers lose a conflict with themselves and try again after it.
const finalizerPause = time.Second

func (s *Simulator) reconcileVolume(ctx context.Context, name string) error {
	volume, err := s.volumes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up volume %s: %w", name, err)
	}
	action := volumeAction(volume)
	if action != skip {
		klog.FromContext(ctx).V(2).Info("operation", "action", action, "state", volume.Status.State)
	}
	switch action {
	case createVolume:
		return s.create(ctx, volume)
	case expandVolume:
		return s.expand(ctx, volume)
	case deleteVolume:
		return s.delete(ctx, volume)
	}
	return nil
}

// begin is the checked status-write that starts an operation. The object may
// have changed since it was looked at, so the decision is made again on the
// object that is written.
func (s *Simulator) begin(ctx context.Context, volume *v1beta2.AzVolume, want action, state v1beta2.VolumeState) (*v1beta2.AzVolume, error) {
	return writeStatus(ctx, s.volumeClient, volume, func(volume *v1beta2.AzVolume) error {
		if now := volumeAction(volume); now != want {
			return fmt.Errorf("%w: it now calls for %s, not for %s", errRefused, now, want)
		}
		return moveVolume(volume, state)
	})
}

// end is the forced status-write that ends an operation.
func (s *Simulator) end(ctx context.Context, volume *v1beta2.AzVolume, change func(*v1beta2.AzVolumeStatus)) (*v1beta2.AzVolume, error) {
	return writeStatus(ctx, s.volumeClient, volume, func(volume *v1beta2.AzVolume) error {
		change(&volume.Status)
		return nil
	})
}

// endFailed ends an operation with the failure that stopped it. What isn't one
// (the simulator ends, the operation is stuck) leaves the object as it is and
// is returned.
func (s *Simulator) endFailed(ctx context.Context, volume *v1beta2.AzVolume, cause error, state v1beta2.VolumeState) (*v1beta2.AzVolume, error) {
	failure, err := failureOf(ctx, cause)
	if err != nil {
		return volume, err
	}
	klog.FromContext(ctx).V(2).Info("operation failed", "state", state, "code", failure.Code, "message", failure.Message)
	return s.end(ctx, volume, func(status *v1beta2.AzVolumeStatus) {
		status.Error, status.State = failure.DeepCopy(), state
	})
}

// failureOf is what a status says about an error. The real controllers know a
// code for the cloud's failures only.
func failureOf(ctx context.Context, cause error) (*v1beta2.AzError, error) {
	var failure *cloudError
	switch {
	case errors.As(cause, &failure):
		return &failure.AzError, nil
	case ctx.Err() != nil, errors.Is(cause, errStuck), errors.Is(cause, errGone):
		return nil, cause
	}
	return &v1beta2.AzError{Code: v1beta2.ErrorUnknown, Message: cause.Error()}, nil
}

func (s *Simulator) create(ctx context.Context, volume *v1beta2.AzVolume) error {
	volume, err := s.begin(ctx, volume, createVolume, v1beta2.VolumeCreating)
	if err != nil {
		return err
	}
	detail, err := s.cloud.createDisk(ctx, volume)
	if err != nil {
		return s.createFailed(ctx, volume, err)
	}
	_, err = s.end(ctx, volume, func(status *v1beta2.AzVolumeStatus) {
		status.Detail, status.State = detail.DeepCopy(), v1beta2.VolumeCreated // an old error stays
	})
	return err
}

func (s *Simulator) createFailed(ctx context.Context, volume *v1beta2.AzVolume, cause error) error {
	volume, err := s.endFailed(ctx, volume, cause, v1beta2.VolumeCreationFailed)
	if err != nil {
		return err
	}
	if err := sleep(ctx, s.cloud.scale(finalizerPause)); err != nil {
		return err
	}
	_, err = writeMain(ctx, s.volumeClient, volume, func(volume *v1beta2.AzVolume) error {
		if volume.Status.State == v1beta2.VolumeCreationFailed { // else the driver asked for another try
			removeFinalizer(volume, v1beta2.VolumeFinalizer)
		}
		return nil
	})
	return err
}

func (s *Simulator) expand(ctx context.Context, volume *v1beta2.AzVolume) error {
	volume, err := s.begin(ctx, volume, expandVolume, v1beta2.VolumeUpdating)
	if err != nil {
		return err
	}
	capacity, err := s.cloud.expandDisk(ctx, volume)
	if err != nil {
		_, err = s.endFailed(ctx, volume, err, v1beta2.VolumeUpdateFailed)
		return err
	}
	_, err = s.end(ctx, volume, func(status *v1beta2.AzVolumeStatus) {
		if status.Detail != nil {
			status.Detail.CapacityBytes, status.Detail.NodeExpansionRequired = capacity, true
		}
		status.State = v1beta2.VolumeUpdated
	})
	return err
}

func removeFinalizer(object metav1.Object, finalizer string) {
	kept := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(f string) bool { return f == finalizer })
	object.SetFinalizers(kept)
}
