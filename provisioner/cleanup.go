package provisioner

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

const (
	cleanUpTries  = 5
	cleanUpPause  = 2 * time.Second  // before the second try, then twice as long each time
	cleanUpWithin = 30 * time.Second // for all tries
)

// cleanUpAfter deletes the AzVolume of a failed creation in the background, if
// that is what ended the wait. Otherwise the disk may still be in the making, and
// the AzVolume is what the next call finds it by.
func (p *Provisioner) cleanUpAfter(ctx context.Context, result *engine.Result, err error) {
	volume, ok := creationFailed(result, err)
	if !ok {
		return
	}
	logger := klog.FromContext(ctx)
	started := p.background.run(func(background context.Context) {
		p.cleanUp(klog.NewContext(background, logger), volume)
	})
	if !started {
		logger.Info("A failed AzVolume is left for the next call", "azVolume", klog.KObj(volume))
	}
}

// creationFailed returns the AzVolume that may be cleaned up: the verdict came
// from the operation, not from a broken judge; the object judged says itself that
// its creation has failed; and the code is final for callers.
func creationFailed(result *engine.Result, err error) (*v1beta2.AzVolume, bool) {
	if result == nil || errors.Is(err, engine.ErrJudge) || !errors.Is(err, engine.ErrFailed) ||
		result.Verdict.Decision != engine.Failed || result.Verdict.Cause != engine.CauseOperation || !final(Code(err)) {
		return nil, false
	}
	if result.Absent {
		return nil, false
	}
	volume, ok := result.Peek().(*v1beta2.AzVolume)
	return volume, ok && volume.Status.State == v1beta2.VolumeCreationFailed && volume.DeletionTimestamp == nil &&
		volume.Status.Detail == nil // with a detail there is a disk, whatever the state says
}

// final reports whether callers take the code as the end of the operation, and
// not as something that may still be running.
func final(code codes.Code) bool {
	switch code {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Aborted:
		return false
	}
	return true
}

// cleanUp deletes exactly this AzVolume while its creation counts as failed. What
// another call has started again in the meantime lives on.
func (p *Provisioner) cleanUp(ctx context.Context, failed *v1beta2.AzVolume) {
	logger := klog.FromContext(ctx).WithValues("azVolume", klog.KObj(failed), "uid", failed.UID)
	ctx, cancel := context.WithTimeout(ctx, cleanUpWithin)
	defer cancel()
	version := failed.ResourceVersion
	for try := 1; ; try++ {
		backOff := cleanUpPause << (try - 1)
		err := p.volumes.Delete(ctx, failed.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: ptr.To(failed.UID), ResourceVersion: ptr.To(version)},
		})
		switch {
		case err == nil, objectNotFound(err):
			logger.V(2).Info("Deleted the AzVolume of a failed creation")
			return
		case apierrors.IsConflict(err):
			current, getErr := p.liveVolume(ctx, failed.Name)
			switch {
			case getErr != nil:
				err = getErr
			case current == nil || current.UID != failed.UID || current.DeletionTimestamp != nil ||
				current.Status.State != v1beta2.VolumeCreationFailed || current.Status.Detail != nil:
				return // gone, or no longer a failed creation
			default:
				version, backOff = current.ResourceVersion, firstPause<<(try-1)
			}
		}
		if try == cleanUpTries {
			logger.Error(err, "The AzVolume of a failed creation is left for the next call")
			return
		}
		if pauseErr := pause(ctx, p.clock, backOff); pauseErr != nil {
			logger.Info("The AzVolume of a failed creation is left for the next call", "reason", pauseErr)
			return
		}
	}
}
