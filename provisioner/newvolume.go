package provisioner

import (
	"maps"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// newVolume returns the AzVolume that the request asks for, or an *Error for a
// request that can't be met whatever exists.
func (p *Provisioner) newVolume(request CreateVolumeRequest) (*v1beta2.AzVolume, error) {
	if request.Name == "" {
		return nil, newError(codes.InvalidArgument, "the volume's name is missing")
	}
	if err := CheckCapabilities(request.Capabilities, request.Parameters); err != nil {
		return nil, err
	}
	if err := checkCapacity(request.CapacityRange); err != nil {
		return nil, err
	}
	replicas, err := maxMountReplicas(request.Parameters, request.Capabilities)
	if err != nil {
		return nil, err
	}
	// Fields that the API server requires, or that its other readers expect, are
	// never null.
	source, accessibility := request.ContentSource, request.Accessibility
	if source == nil {
		source = &v1beta2.ContentVolumeSource{}
	}
	if accessibility == nil {
		accessibility = &v1beta2.TopologyRequirement{}
	}
	name := DiskName(request.Name)
	volume := &v1beta2.AzVolume{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:  p.namespace,
			Name:       objectName(name),
			Finalizers: []string{v1beta2.VolumeFinalizer},
			Labels: map[string]string{
				v1beta2.LabelPVName:       labelValue(request.Parameters[parameterPVName]),
				v1beta2.LabelPVCName:      labelValue(request.Parameters[parameterPVCName]),
				v1beta2.LabelPVCNamespace: labelValue(request.Parameters[parameterPVCNamespace]),
			},
		},
		Spec: v1beta2.AzVolumeSpec{
			MaxMountReplicaCount:      replicas,
			VolumeCapability:          request.Capabilities,
			VolumeName:                name,
			CapacityRange:             request.CapacityRange,
			Parameters:                request.Parameters,
			ContentVolumeSource:       source,
			AccessibilityRequirements: accessibility,
			PersistentVolume:          request.Parameters[parameterPVName],
		},
	}
	p.stamp(volume)
	return volume.DeepCopy(), nil // nothing of the request is shared
}

// stamp notes on the object which call writes it, and when.
func (p *Provisioner) stamp(object metav1.Object) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1beta2.AnnotationAPIVersion] = v1beta2.Version
	annotations[v1beta2.AnnotationRequestID] = uuid.NewString()
	annotations[v1beta2.AnnotationRequestStartTime] = p.clock.Now().Format(time.RFC3339Nano)
	object.SetAnnotations(annotations)
}
