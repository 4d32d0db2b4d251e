package provisioner

import (
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Numbers of CSI's access modes.
const (
	modeMultiNodeReaderOnly   v1beta2.VolumeAccessMode = 3
	modeMultiNodeSingleWriter v1beta2.VolumeAccessMode = 4
	modeMultiNodeMultiWriter  v1beta2.VolumeAccessMode = 5
	modeSingleNodeMultiWriter v1beta2.VolumeAccessMode = 7 // the highest known one
)

func multiNode(mode v1beta2.VolumeAccessMode) bool {
	return mode == modeMultiNodeReaderOnly || mode == modeMultiNodeSingleWriter || mode == modeMultiNodeMultiWriter
}

// CheckCapabilities refuses capabilities that no disk with these parameters can
// have. The error is an *Error with InvalidArgument. Safe for concurrent use.
func CheckCapabilities(capabilities []v1beta2.VolumeCapability, parameters map[string]string) error {
	if len(capabilities) == 0 {
		return newError(codes.InvalidArgument, "volume capabilities are missing")
	}
	shares, err := MaxShares(parameters)
	if err != nil {
		return err
	}
	for _, c := range capabilities {
		switch {
		case c.AccessMode < 1 || c.AccessMode > modeSingleNodeMultiWriter:
			return newError(codes.InvalidArgument, "access mode %d is unknown", c.AccessMode)
		case c.AccessType == v1beta2.AccessTypeMount && multiNode(c.AccessMode):
			return newError(codes.InvalidArgument, "a mounted volume can't be used on several nodes (access mode %d): use a block volume", c.AccessMode)
		case multiNode(c.AccessMode) && shares < 2:
			return newError(codes.InvalidArgument, "access mode %d needs a disk that is shared: set the parameter maxShares to 2 or 3", c.AccessMode)
		}
	}
	return nil
}

// capabilitiesFit reports whether a volume made for has can be used as wants
// says: every wanted access type and mode was asked for when it was made. A
// volume that says nothing (made by others) fits.
func capabilitiesFit(has, wants []v1beta2.VolumeCapability) bool {
	if len(has) == 0 {
		return true
	}
	for _, want := range wants {
		fits := slices.ContainsFunc(has, func(h v1beta2.VolumeCapability) bool {
			return h.AccessType == want.AccessType && h.AccessMode == want.AccessMode &&
				(h.FSType == want.FSType || h.FSType == "" || want.FSType == "")
		})
		if !fits {
			return false
		}
	}
	return true
}
