package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

const (
	gib = int64(1) << 30

	subscription  = "00000000-0000-0000-0000-000000000000"
	resourceGroup = "rg-simulated"

	// zoneKey is the topology key of a disk's zone; "" means outside of zones.
	zoneKey = "topology.disk.csi.azure.com/zone"
)

// knownParameters are the keys, in lower case, that a request for a disk may have.
func knownParameters() []string {
	return []string{
		"csi.storage.k8s.io/pv/name", "csi.storage.k8s.io/pvc/name", "csi.storage.k8s.io/pvc/namespace",
		"maxshares", "maxmountreplicacount", "skuname", "storageaccounttype", "cachingmode", "location",
		"resourcegroup", "subscriptionid", "diskname", "tags", "fstype", "kind", "perfprofile", "networkaccesspolicy",
		"diskaccessid", "enablebursting", "useragent", "enableasyncattach", "incremental", "zoned", "logicalsectorsize",
		"diskiopsreadwrite", "diskmbpsreadwrite", "diskencryptionsetid", "diskencryptiontype", "writeacceleratorenabled",
	}
}

// parameter returns the value of a key, whatever its case.
func parameter(parameters map[string]string, key string) string {
	for k, v := range parameters {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return ""
}

func checkParameters(parameters map[string]string) error {
	known := knownParameters()
	for key := range parameters {
		lower := strings.ToLower(key)
		if !slices.Contains(known, lower) && !strings.HasPrefix(lower, "device-setting/") {
			return failf(v1beta2.ErrorInvalidArgument, "invalid parameter %s in storage class", key)
		}
	}
	return nil
}

// maxShares is how many nodes a disk may be attached to at the same time.
func maxShares(parameters map[string]string) (int, error) {
	value := parameter(parameters, "maxshares")
	if value == "" {
		return 1, nil
	}
	shares, err := strconv.Atoi(value)
	if err != nil || shares < 1 {
		return 0, failf(v1beta2.ErrorInvalidArgument, "parse %s failed with error: want a number of 1 or more", value)
	}
	return shares, nil
}

// diskID is the resource URI of a volume's disk.
func diskID(spec *v1beta2.AzVolumeSpec) string {
	sub, group := parameter(spec.Parameters, "subscriptionid"), parameter(spec.Parameters, "resourcegroup")
	if sub == "" {
		sub = subscription
	}
	if group == "" {
		group = resourceGroup
	}
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/disks/%s", sub, group, spec.VolumeName)
}

// diskName is the last part of a disk's ID.
func diskName(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// roundUpGiB is the number of whole GiB that hold the bytes.
func roundUpGiB(bytes int64) int64 { return (bytes + gib - 1) / gib }

// requestedBytes is the size to create a disk with: as asked for, at least 1 GiB.
func requestedBytes(spec *v1beta2.AzVolumeSpec) (int64, error) {
	if spec.CapacityRange == nil {
		return gib, nil
	}
	bytes := max(spec.CapacityRange.RequiredBytes, gib)
	if err := checkLimit(spec.CapacityRange, bytes); err != nil {
		return 0, err
	}
	return bytes, nil
}

// checkLimit: disks come in whole GiB, and the limit holds for what is made.
func checkLimit(wanted *v1beta2.CapacityRange, bytes int64) error {
	if limit := wanted.LimitBytes; limit > 0 && limit < roundUpGiB(bytes)*gib {
		return failf(v1beta2.ErrorInvalidArgument, "after round-up, volume size of %d GiB exceeds the limit of %d bytes", roundUpGiB(bytes), limit)
	}
	return nil
}

// accessibleTopology says from where a disk is reachable: a zone-redundant one
// from every zone asked for and from outside of zones, another from the first
// preferred zone.
func accessibleTopology(spec *v1beta2.AzVolumeSpec) []v1beta2.Topology {
	var zones []string
	if wanted := spec.AccessibilityRequirements; wanted != nil {
		for _, topology := range slices.Concat(wanted.Preferred, wanted.Requisite) {
			if zone := topology.Segments[zoneKey]; zone != "" && !slices.Contains(zones, zone) {
				zones = append(zones, zone)
			}
		}
	}
	zones = append(zones, "")
	sku := parameter(spec.Parameters, "skuname")
	if sku == "" {
		sku = parameter(spec.Parameters, "storageaccounttype")
	}
	if !strings.HasSuffix(strings.ToUpper(sku), "_ZRS") {
		zones = zones[:1]
	}
	topologies := make([]v1beta2.Topology, 0, len(zones))
	for _, zone := range zones {
		topologies = append(topologies, v1beta2.Topology{Segments: map[string]string{zoneKey: zone}})
	}
	return topologies
}

// knownLUN is the LUN in an attachment's publish context.
func knownLUN(attachment *v1beta2.AzVolumeAttachment) (int, bool) {
	if attachment.Status.Detail == nil {
		return 0, false
	}
	lun, err := strconv.Atoi(attachment.Status.Detail.PublishContext[v1beta2.PublishContextLUN])
	return lun, err == nil
}
