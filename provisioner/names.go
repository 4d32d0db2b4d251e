package provisioner

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	maxDiskName = 63 // so that the name can also be a label value
	hashLength  = 16 // hex digits: 64 bits
)

// dynamicName matches the names that the CSI sidecar gives to volumes. They all
// have the same length, so a name that begins with one says where it ends.
var dynamicName = regexp.MustCompile(`^pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// DiskName returns the name of the disk for the name in a CreateVolume request:
// the name itself if it is at most 63 characters long and its lower-case form may
// name a Kubernetes object, else a readable form of it that ends in a hash of the
// whole name. Equal names give equal disk names, so that a repeated request finds
// its volume. Safe for concurrent use.
func DiskName(requested string) string {
	if len(requested) <= maxDiskName && isASCII(requested) && isObjectName(strings.ToLower(requested)) {
		return requested
	}
	return hashed(sanitize(requested), maxDiskName, "volume", requested)
}

// objectName returns the name of the AzVolume of a disk.
func objectName(diskName string) string { return strings.ToLower(diskName) }

// attachmentName returns the name of the AzVolumeAttachment of a disk on a node.
// No two pairs share one: the form that the Azure side itself makes is kept where
// the disk's name says by its length where it ends; every other pair's name holds
// a hash of both, and ends otherwise.
func attachmentName(diskName, nodeName string) string {
	disk, node := strings.ToLower(diskName), strings.ToLower(nodeName)
	if dynamicName.MatchString(disk) {
		if name := plainAttachmentName(disk, node); isObjectName(name) {
			return name
		}
	}
	const suffix = ".attachment" // never the end of a plain name
	limit := validation.DNS1123SubdomainMaxLength - len(suffix)
	return hashed(sanitize(disk+"-"+node), limit, "attachment", disk, node) + suffix
}

// plainAttachmentName returns the name by the Azure side's own rule, which gives
// disk "data" on node "x-1" and disk "data-x" on node "1" the same one. Objects
// made by others may have it.
func plainAttachmentName(diskName, nodeName string) string {
	return strings.ToLower(diskName) + "-" + strings.ToLower(nodeName) + "-attachment"
}

// labelValue returns the value as it stands if it can be a label's, else a
// readable form that ends in its hash.
func labelValue(value string) string {
	if len(validation.IsValidLabelValue(value)) == 0 {
		return value
	}
	return hashed(sanitize(value), validation.LabelValueMaxLength, "label", value)
}

// isASCII: a few other letters have a lower-case form that is one of a to z, such
// as the Kelvin sign's.
func isASCII(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

func isObjectName(name string) bool {
	return len(validation.IsDNS1123Subdomain(name)) == 0
}

// hashed returns prefix, cut so that the whole has at most limit characters, and
// the hash of kind and parts.
func hashed(prefix string, limit int, kind string, parts ...string) string {
	sum := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		// Names hold no NUL, so that no two lists of parts give the same bytes.
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	if room := limit - hashLength - 1; len(prefix) > room {
		prefix = prefix[:room]
	}
	prefix = strings.Trim(prefix, "-")
	if prefix == "" {
		prefix = "x"
	}
	return prefix + "-" + hex.EncodeToString(sum.Sum(nil))[:hashLength]
}

// sanitize lower-cases the name and puts one hyphen for every run of characters
// that an object's name can't have in any place.
func sanitize(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
			continue
		}
		if s := b.String(); !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
