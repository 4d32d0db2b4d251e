package provisioner

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// CreateVolume makes the AzVolume and waits until its disk exists. A repeated
// call with the same name joins the operation that runs, or returns the volume;
// AlreadyExists if the volume has other properties than asked for. After a final
// failure of the creation itself the AzVolume is deleted in the background.
func (p *Provisioner) CreateVolume(ctx context.Context, request CreateVolumeRequest) (*Volume, error) {
	wanted, err := p.newVolume(request)
	if err != nil {
		return nil, err
	}
	release, err := p.hold("create", wanted.Name)
	if err != nil {
		return nil, err
	}
	defer release()

	created := false // by this call, as requested
	result, err := p.waitForVolume(ctx, OperationCreateVolume, wanted.Name, nil, func(ctx context.Context) (*v1beta2.AzVolume, error) {
		return write(ctx, p.clock, "create AzVolume "+p.namespace+"/"+wanted.Name, p.cachedVolume(wanted.Name),
			func(ctx context.Context, current *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
				if created = current == nil; created {
					return p.createVolume(ctx, wanted)
				}
				return p.adoptVolume(ctx, current, wanted)
			},
			func(ctx context.Context) (*v1beta2.AzVolume, error) { return p.liveVolume(ctx, wanted.Name) })
	})
	if err != nil {
		p.cleanUpAfter(ctx, result, err)
		return nil, err
	}
	made, err := volumeIn(result)
	if err != nil {
		return nil, err
	}
	if !created {
		if err := incompatible(made, wanted); err != nil {
			return nil, err
		}
	}
	return volumeOf(made), nil
}

// createVolume is the CREATE.
func (p *Provisioner) createVolume(ctx context.Context, wanted *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
	created, err := p.volumes.Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) { // of the namespace or the CRD, not of the object
		return nil, requestError(ctx, err, "create AzVolume "+p.namespace+"/"+wanted.Name)
	}
	return created, err
}

// adoptVolume decides on an AzVolume that exists: it is returned as it stands, a
// failed creation is started again, and one that is leaving or different is refused.
func (p *Provisioner) adoptVolume(ctx context.Context, existing, wanted *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
	if leaving(existing) {
		return nil, newError(codes.Aborted, "AzVolume %s/%s is being deleted (state %q), call again when it is gone", existing.Namespace, existing.Name, existing.Status.State)
	}
	failed := existing.Status.State == v1beta2.VolumeCreationFailed
	// A reset by others may have been cut off before the finalizer came back.
	halfReset := existing.Status.Detail == nil && existing.Status.State == v1beta2.VolumePending && !hasVolumeFinalizer(existing)
	if !failed && !halfReset {
		return existing, incompatible(existing, wanted)
	}
	// The main part first: once the status says Pending the other side starts to
	// work with the spec that it finds.
	current := existing
	if spec := restartSpec(existing, wanted); !hasVolumeFinalizer(existing) || !equalSpecs(existing.Spec, spec) {
		changed := existing.DeepCopy()
		changed.Spec = spec
		if !hasVolumeFinalizer(existing) {
			changed.Finalizers = append(changed.Finalizers, v1beta2.VolumeFinalizer)
		}
		p.stamp(changed)
		updated, err := p.volumes.Update(ctx, changed, metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		current = updated
	}
	if !failed {
		return current, nil
	}
	changed := current.DeepCopy()
	changed.Status.Error = nil
	changed.Status.State = v1beta2.VolumePending
	return p.volumes.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
}

// restartSpec is the spec for another try: the wanted one, as nothing was made of
// the old one.
func restartSpec(existing, wanted *v1beta2.AzVolume) v1beta2.AzVolumeSpec {
	spec := *wanted.Spec.DeepCopy()
	spec.PersistentVolume = existing.Spec.PersistentVolume
	if wanted.Spec.PersistentVolume != "" {
		spec.PersistentVolume = wanted.Spec.PersistentVolume
	}
	return spec
}

func hasVolumeFinalizer(volume *v1beta2.AzVolume) bool {
	return slices.Contains(volume.Finalizers, v1beta2.VolumeFinalizer)
}

// leaving reports whether the AzVolume is being deleted.
func leaving(volume *v1beta2.AzVolume) bool {
	switch volume.Status.State {
	case v1beta2.VolumeDeleting, v1beta2.VolumeDeletionFailed, v1beta2.VolumeDeleted:
		return true
	}
	return volume.DeletionTimestamp != nil
}

// volumeIn returns the AzVolume that a wait ended on. It is the cache's own.
func volumeIn(result *engine.Result) (*v1beta2.AzVolume, error) {
	volume, ok := result.Peek().(*v1beta2.AzVolume)
	if !ok || volume.Status.Detail == nil {
		// Not Internal: the volume may well be in the making.
		return nil, newError(codes.Unavailable, "predicate %s says Done of an AzVolume without status.detail: correct the predicate and call again", result.Verdict.Predicate)
	}
	return volume, nil
}

func volumeOf(made *v1beta2.AzVolume) *Volume {
	detail := made.Status.Detail.DeepCopy()
	volume := &Volume{
		ID:            detail.VolumeID,
		CapacityBytes: detail.CapacityBytes,
		Context:       detail.Parameters,
		Topology:      detail.AccessibleTopology,
	}
	if sourceID(detail.ContentSource) != "" {
		volume.ContentSource = detail.ContentSource
	}
	return volume
}

// equalSpecs: nil equals empty, as after a round trip through the server.
func equalSpecs(a, b v1beta2.AzVolumeSpec) bool { return equality.Semantic.DeepEqual(a, b) }
