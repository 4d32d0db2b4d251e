package provisioner

import (
	"fmt"
	"strings"
)

// VolumeID is a parsed volume ID: the resource URI of an Azure disk.
type VolumeID struct {
	Subscription  string
	ResourceGroup string
	DiskName      string
}

// ParseVolumeID parses a resource URI of the form
// /subscriptions/S/resourceGroups/R/providers/Microsoft.Compute/disks/NAME, whose
// fixed parts may be in any case. An ID of another form, or with a name that no
// AzVolume can have, is an error: this driver never gave it out. Safe for
// concurrent use.
func ParseVolumeID(id string) (VolumeID, error) {
	fields := strings.Split(id, "/")
	fixed := map[int]string{0: "", 1: "subscriptions", 3: "resourceGroups", 5: "providers", 6: "Microsoft.Compute", 7: "disks"}
	if len(fields) != 9 {
		return VolumeID{}, fmt.Errorf("volume ID %q isn't the resource URI of a disk", id)
	}
	for i, field := range fields {
		want, isFixed := fixed[i]
		if isFixed && !strings.EqualFold(field, want) || !isFixed && field == "" {
			return VolumeID{}, fmt.Errorf("volume ID %q isn't the resource URI of a disk", id)
		}
	}
	parsed := VolumeID{Subscription: fields[2], ResourceGroup: fields[4], DiskName: fields[8]}
	if !isObjectName(parsed.objectName()) {
		return VolumeID{}, fmt.Errorf("volume ID %q: no AzVolume can have the name %q", id, parsed.objectName())
	}
	return parsed, nil
}

// String returns the ID in its usual spelling.
func (v VolumeID) String() string {
	return "/subscriptions/" + v.Subscription + "/resourceGroups/" + v.ResourceGroup + "/providers/Microsoft.Compute/disks/" + v.DiskName
}

// objectName returns the name of the disk's AzVolume.
func (v VolumeID) objectName() string { return objectName(v.DiskName) }

// is reports whether id names the same disk: resource URIs ignore case.
func (v VolumeID) is(id string) bool { return strings.EqualFold(v.String(), id) }
