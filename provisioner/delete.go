package provisioner

import (
	"context"
	"maps"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// DeleteVolume asks for the disk to be deleted and waits until the AzVolume is
// gone. A volume that doesn't exist, that this driver can't have made, or whose
// disk it found ready-made needs nothing: nil. FailedPrecondition while the
// volume is attached.
func (p *Provisioner) DeleteVolume(ctx context.Context, volumeID string) error {
	id, err := ParseVolumeID(volumeID)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Nothing to delete", "reason", err)
		return nil
	}
	release, err := p.hold("volume", id.objectName())
	if err != nil {
		return err
	}
	defer release()

	volume := p.cachedVolume(id.objectName())
	// What the cache holds will do for a write, which the server refuses if it is
	// old. It won't do for a mere wait: the end of an AzVolume that was long gone
	// says nothing about one that has taken its name.
	if volume == nil || !isVolume(volume, id) || unsettled(volume) || volume.DeletionTimestamp != nil && deleteUnderWay(volume) {
		if volume, err = p.findLiveVolume(ctx, id); err != nil {
			return err
		}
	}
	for err == nil && volume != nil {
		if volume, err = p.settled(ctx, volume); err != nil || volume == nil {
			return err
		}
		if preProvisioned(volume) {
			return nil // whoever made the disk deletes it
		}
		if err = p.checkUnused(volume, id); err != nil {
			return err
		}
		volume, err = p.deleteVolume(ctx, volume, id)
	}
	return err
}

func preProvisioned(volume *v1beta2.AzVolume) bool {
	_, ok := volume.Status.Annotation[v1beta2.StatusPreProvisioned]
	return ok
}

// settled waits until no cloud operation runs on the volume, however that ends:
// an AzVolume in Creating or Updating isn't looked at by those who delete. It
// returns nil if the volume is gone.
func (p *Provisioner) settled(ctx context.Context, volume *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
	if !unsettled(volume) {
		return volume, nil
	}
	result, err := p.waitForVolume(ctx, OperationVolumeSettled, volume.Name, nil,
		func(context.Context) (*v1beta2.AzVolume, error) { return volume, nil })
	if err != nil {
		return nil, err
	}
	if result.Absent {
		return nil, nil // proven under the barrier of the object we had
	}
	settled, ok := result.Peek().(*v1beta2.AzVolume)
	if !ok {
		return nil, newError(codes.Internal, "%s: the engine ended on %T", OperationVolumeSettled, result.Peek())
	}
	if unsettled(settled) {
		return nil, newError(codes.Unavailable, "predicate %s says Done of an AzVolume in state %q: correct the predicate and call again",
			result.Verdict.Predicate, settled.Status.State)
	}
	return settled, nil
}

func unsettled(volume *v1beta2.AzVolume) bool {
	if volume.DeletionTimestamp != nil {
		return false
	}
	return volume.Status.State == v1beta2.VolumeCreating || volume.Status.State == v1beta2.VolumeUpdating
}

// checkUnused refuses to delete a volume with a primary attachment that nobody
// has asked to detach. Replicas never block. What is being deleted already is
// beyond refusing.
func (p *Provisioner) checkUnused(volume *v1beta2.AzVolume, id VolumeID) error {
	if leaving(volume) {
		return nil
	}
	if primaries := p.primariesOf(id); len(primaries) != 0 {
		return newError(codes.FailedPrecondition, "AzVolume %s/%s is attached to node %s: unpublish it first", volume.Namespace, volume.Name, primaries[0].Spec.NodeName)
	}
	return nil
}

// deleteVolume marks the AzVolume for the deletion of its disk, deletes it and
// waits until it is gone. If the object turns out to have changed so that the
// decision to delete it must be made anew, it returns that object instead.
func (p *Provisioner) deleteVolume(ctx context.Context, volume *v1beta2.AzVolume, id VolumeID) (anew *v1beta2.AzVolume, err error) {
	var marked types.UID // of the object that carries our request
	result, err := p.waitForVolume(ctx, OperationDeleteVolume, volume.Name, nil, func(ctx context.Context) (*v1beta2.AzVolume, error) {
		return write(ctx, p.clock, "delete AzVolume "+p.namespace+"/"+volume.Name, volume,
			func(ctx context.Context, current *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
				switch {
				case current == nil,
					marked != "" && current.UID != marked, // ours is gone, this is another one
					!isVolume(current, id):
					return nil, engine.ErrGone
				case current != volume && (unsettled(current) || preProvisioned(current)):
					anew = current
					return nil, newError(codes.Aborted, "AzVolume %s/%s has changed in between, call again", current.Namespace, current.Name)
				}
				current, err := p.requestDelete(ctx, current)
				if err != nil {
					return nil, err
				}
				marked = current.UID
				if current.DeletionTimestamp != nil {
					return current, nil
				}
				// The wait's barrier is the version before the DELETE: the object can
				// only leave after it.
				return current, p.volumes.Delete(ctx, current.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(current.UID)}})
			},
			func(ctx context.Context) (*v1beta2.AzVolume, error) { return p.liveVolume(ctx, volume.Name) })
	})
	switch {
	case anew != nil:
		return anew, nil
	case err == nil && !result.Absent:
		return nil, newError(codes.Unavailable, "predicate %s says Done of an AzVolume that is still there: correct the predicate and call again", result.Verdict.Predicate)
	}
	return nil, err
}

// requestDelete writes the request for the disk to go into the status, and clears
// what an earlier try has left: the other side starts only from a healthy state.
// While it is deleting already there is nothing to write.
func (p *Provisioner) requestDelete(ctx context.Context, current *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
	if deleteUnderWay(current) {
		return current, nil
	}
	changed := current.DeepCopy()
	changed.Status.Annotation = maps.Clone(current.Status.Annotation)
	if changed.Status.Annotation == nil {
		changed.Status.Annotation = map[string]string{}
	}
	changed.Status.Annotation[v1beta2.StatusVolumeDeleteRequest] = v1beta2.CloudDeleteVolume
	changed.Status.Error = nil
	changed.Status.State = v1beta2.VolumeCreated
	return p.volumes.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

// deleteUnderWay reports whether the status asks for nothing but what is wanted.
func deleteUnderWay(volume *v1beta2.AzVolume) bool {
	status := volume.Status
	requested := status.Annotation[v1beta2.StatusVolumeDeleteRequest] == v1beta2.CloudDeleteVolume
	return status.State == v1beta2.VolumeDeleting || requested && status.State == v1beta2.VolumeCreated && status.Error == nil
}
