package provisioner

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// GiB is the unit in which disks are sized, in bytes.
const GiB = int64(1) << 30

// Parameters of a storage class that the provisioner itself reads; their keys
// are compared without regard to case.
const (
	parameterMaxShares            = "maxshares"
	parameterMaxMountReplicaCount = "maxmountreplicacount"
)

// Parameters with which the sidecar says whom the volume is for.
const (
	parameterPVName       = "csi.storage.k8s.io/pv/name"
	parameterPVCName      = "csi.storage.k8s.io/pvc/name"
	parameterPVCNamespace = "csi.storage.k8s.io/pvc/namespace"
)

const maxSharesLimit = 3

// CreateVolumeRequest asks for a volume. Secrets have no field: they are neither
// stored nor forwarded.
type CreateVolumeRequest struct {
	Name          string
	Capabilities  []v1beta2.VolumeCapability
	CapacityRange *v1beta2.CapacityRange
	Parameters    map[string]string
	ContentSource *v1beta2.ContentVolumeSource
	Accessibility *v1beta2.TopologyRequirement
}

// Volume is a volume that exists. It belongs to the caller.
type Volume struct {
	ID            string
	CapacityBytes int64
	Context       map[string]string
	ContentSource *v1beta2.ContentVolumeSource // nil: a new, empty disk
	Topology      []v1beta2.Topology
}

// MaxShares returns the number of nodes that may use the disk at once, 1 if the
// parameters don't say. The error is an *Error with InvalidArgument. Safe for
// concurrent use.
func MaxShares(parameters map[string]string) (int, error) {
	text, ok := parameter(parameters, parameterMaxShares)
	if !ok {
		return 1, nil
	}
	shares, err := strconv.Atoi(text)
	if err != nil || shares < 1 || shares > maxSharesLimit {
		return 0, newError(codes.InvalidArgument, "parameter maxShares is %q, want a number from 1 to %d", text, maxSharesLimit)
	}
	return shares, nil
}

// maxMountReplicas returns the number of nodes beside the primary one that the
// disk may be attached to in advance.
func maxMountReplicas(parameters map[string]string, capabilities []v1beta2.VolumeCapability) (int, error) {
	shares, err := MaxShares(parameters)
	if err != nil {
		return 0, err
	}
	replicas := shares - 1
	if text, ok := parameter(parameters, parameterMaxMountReplicaCount); ok {
		wanted, err := strconv.Atoi(text)
		if err != nil || wanted < 0 {
			return 0, newError(codes.InvalidArgument, "parameter maxMountReplicaCount is %q, want a number from 0", text)
		}
		replicas = min(wanted, replicas)
	}
	if slices.ContainsFunc(capabilities, func(c v1beta2.VolumeCapability) bool { return multiNode(c.AccessMode) }) {
		return 0, nil // every node that may have the disk has it in its own right
	}
	return replicas, nil
}

// parameter looks a key up without regard to case.
func parameter(parameters map[string]string, lower string) (string, bool) {
	if value, ok := parameters[lower]; ok {
		return value, true
	}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		if strings.EqualFold(key, lower) {
			return parameters[key], true
		}
	}
	return "", false
}

// checkCapacity refuses a range that no disk of whole GiB fits (C34).
func checkCapacity(wanted *v1beta2.CapacityRange) error {
	if wanted == nil {
		return nil
	}
	if wanted.RequiredBytes < 0 || wanted.LimitBytes < 0 {
		return newError(codes.InvalidArgument, "capacity range from %d to %d bytes: sizes can't be negative", wanted.RequiredBytes, wanted.LimitBytes)
	}
	rounded, ok := roundUp(wanted.RequiredBytes)
	if !ok {
		return newError(codes.OutOfRange, "required_bytes is %d, which no disk has", wanted.RequiredBytes)
	}
	if wanted.LimitBytes > 0 && wanted.LimitBytes < rounded {
		return newError(codes.OutOfRange, "limit_bytes is %d, but a disk for %d bytes has %d: sizes are whole GiB", wanted.LimitBytes, wanted.RequiredBytes, rounded)
	}
	return nil
}

// roundUp returns the size in whole GiB, at least one; false if it is too large
// to be said in bytes.
func roundUp(bytes int64) (int64, bool) {
	if bytes <= GiB {
		return GiB, true
	}
	if bytes > (1<<63-1)-GiB {
		return 0, false
	}
	return (bytes + GiB - 1) / GiB * GiB, true
}
