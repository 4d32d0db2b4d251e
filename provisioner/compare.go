package provisioner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// incompatible says in which way an existing AzVolume isn't what the request
// asks for, with AlreadyExists, or returns nil. wanted is the AzVolume that the
// request would make. Secrets and mount flags are no properties of a volume.
func incompatible(existing, wanted *v1beta2.AzVolume) error {
	has, want := existing.Spec, wanted.Spec
	differs := func(what string, has, want any) error {
		return newError(codes.AlreadyExists, "AzVolume %s/%s exists with other properties than requested: %s is %v, not %v",
			existing.Namespace, existing.Name, what, has, want)
	}
	if !sizeFits(existing, want.CapacityRange) {
		return differs("the size", fmt.Sprint(sizeOf(existing), " bytes"), sizeText(want.CapacityRange))
	}
	switch {
	case has.VolumeName != want.VolumeName:
		return differs("the disk", has.VolumeName, want.VolumeName)
	case !maps.Equal(has.Parameters, want.Parameters): // nil equals empty
		return differs("the set of parameters", has.Parameters, want.Parameters)
	case !capabilitiesFit(has.VolumeCapability, want.VolumeCapability):
		return differs("the capability", has.VolumeCapability, want.VolumeCapability)
	case has.MaxMountReplicaCount != want.MaxMountReplicaCount:
		return differs("maxMountReplicaCount", has.MaxMountReplicaCount, want.MaxMountReplicaCount)
	case !sameSource(has.ContentVolumeSource, want.ContentVolumeSource):
		return differs("the content source", sourceText(has.ContentVolumeSource), sourceText(want.ContentVolumeSource))
	case !topologyFits(existing, want.AccessibilityRequirements):
		return differs("the topology", "another one", "the one requested")
	}
	return nil
}

// sizeOf returns the size that the disk has, or will have once it is made.
func sizeOf(volume *v1beta2.AzVolume) int64 {
	if volume.Status.Detail != nil {
		return volume.Status.Detail.CapacityBytes
	}
	if volume.Spec.CapacityRange == nil {
		return GiB
	}
	return max(GiB, volume.Spec.CapacityRange.RequiredBytes)
}

func sizeFits(existing *v1beta2.AzVolume, want *v1beta2.CapacityRange) bool {
	if want == nil {
		return true
	}
	size := sizeOf(existing)
	return size >= want.RequiredBytes && (want.LimitBytes == 0 || size <= want.LimitBytes)
}

func sizeText(want *v1beta2.CapacityRange) string {
	if want.LimitBytes == 0 {
		return fmt.Sprintf("%d bytes or more", want.RequiredBytes)
	}
	return fmt.Sprintf("%d to %d bytes", want.RequiredBytes, want.LimitBytes)
}

// sameSource: no source and one with an empty ID mean the same, and resource
// URIs ignore case.
func sameSource(a, b *v1beta2.ContentVolumeSource) bool {
	idA, idB := sourceID(a), sourceID(b)
	return strings.EqualFold(idA, idB) && (idA == "" || a.ContentSource == b.ContentSource)
}

func sourceID(source *v1beta2.ContentVolumeSource) string {
	if source == nil {
		return ""
	}
	return source.ContentSourceID
}

func sourceText(source *v1beta2.ContentVolumeSource) string {
	if id := sourceID(source); id != "" {
		return id
	}
	return "none"
}

// topologyFits reports whether the volume is where the request wants it: it was
// asked for in the same way, or its disk can be reached from one of the requisite
// places. A volume without a disk that was asked for otherwise may still fit: it
// is looked at again once there is one.
func topologyFits(existing *v1beta2.AzVolume, want *v1beta2.TopologyRequirement) bool {
	if want == nil || len(want.Requisite) == 0 || existing.Status.Detail == nil {
		return true
	}
	if has := existing.Spec.AccessibilityRequirements; has != nil && sameTopologies(has.Requisite, want.Requisite) {
		return true
	}
	reachable := existing.Status.Detail.AccessibleTopology
	return len(reachable) == 0 || slices.ContainsFunc(reachable, func(from v1beta2.Topology) bool {
		return anywhere(from) || slices.ContainsFunc(want.Requisite, func(place v1beta2.Topology) bool {
			return maps.Equal(place.Segments, from.Segments)
		})
	})
}

func sameTopologies(a, b []v1beta2.Topology) bool {
	return slices.EqualFunc(a, b, func(a, b v1beta2.Topology) bool { return maps.Equal(a.Segments, b.Segments) })
}

// anywhere reports whether the topology ties to no place: all its segments are
// empty, as for a disk without a zone.
func anywhere(topology v1beta2.Topology) bool {
	for _, value := range topology.Segments {
		if value != "" {
			return false
		}
	}
	return true
}
