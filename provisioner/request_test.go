package provisioner

import (
	"math"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestC33_Shares(t *testing.T) {
	single := []v1beta2.VolumeCapability{{AccessMode: 1}}
	multi := []v1beta2.VolumeCapability{{AccessMode: 5}}
	for _, row := range []struct {
		parameters   map[string]string
		capabilities []v1beta2.VolumeCapability
		replicas     int
		code         codes.Code
	}{
		{nil, single, 0, codes.OK},
		{map[string]string{"maxShares": "3"}, single, 2, codes.OK},
		{map[string]string{"MAXSHARES": "2", "maxMountReplicaCount": "9"}, single, 1, codes.OK},
		{map[string]string{"maxshares": "3", "maxmountreplicacount": "1"}, single, 1, codes.OK},
		{map[string]string{"maxshares": "3"}, multi, 0, codes.OK},
		{map[string]string{"maxShares": "two"}, single, 0, codes.InvalidArgument},
		{map[string]string{"maxShares": "0"}, single, 0, codes.InvalidArgument},
		{map[string]string{"maxShares": "4"}, single, 0, codes.InvalidArgument},
		{map[string]string{"maxShares": "2", "maxMountReplicaCount": "x"}, single, 0, codes.InvalidArgument},
		{map[string]string{"maxShares": "2", "maxMountReplicaCount": "-1"}, single, 0, codes.InvalidArgument},
	} {
		replicas, err := maxMountReplicas(row.parameters, row.capabilities)
		if replicas != row.replicas || Code(err) != row.code {
			t.Errorf("%v: %d, %v", row.parameters, replicas, err)
		}
	}
}

func TestC34_CapacityRange(t *testing.T) {
	for _, row := range []struct {
		required, limit int64
		want            codes.Code
	}{
		{0, 0, codes.OK},
		{1, GiB, codes.OK},
		{10 * GiB, 10 * GiB, codes.OK},
		{10*GiB + 1, 11 * GiB, codes.OK},
		{10*GiB + 1, 11*GiB - 1, codes.OutOfRange},
		{0, GiB - 1, codes.OutOfRange},
		{20 * GiB, 10 * GiB, codes.OutOfRange},
		{math.MaxInt64, 0, codes.OutOfRange},
		{-1, 0, codes.InvalidArgument},
		{0, -1, codes.InvalidArgument},
	} {
		if got := Code(checkCapacity(&v1beta2.CapacityRange{RequiredBytes: row.required, LimitBytes: row.limit})); got != row.want {
			t.Errorf("%d to %d: %s, want %s", row.required, row.limit, got, row.want)
		}
	}
	if err := checkCapacity(nil); err != nil {
		t.Error(err)
	}
}

func TestCheckCapabilities(t *testing.T) {
	for _, row := range []struct {
		accessType v1beta2.VolumeAccessType
		mode       v1beta2.VolumeAccessMode
		shares     string
		fits       bool
	}{
		{v1beta2.AccessTypeMount, 1, "", true},
		{v1beta2.AccessTypeMount, 7, "", true},
		{v1beta2.AccessTypeMount, 0, "", false},
		{v1beta2.AccessTypeMount, 8, "", false},
		{v1beta2.AccessTypeMount, 5, "2", false},
		{v1beta2.AccessTypeBlock, 5, "2", true},
		{v1beta2.AccessTypeBlock, 3, "1", false},
		{v1beta2.AccessTypeBlock, 4, "", false},
		{v1beta2.AccessTypeBlock, 1, "x", false},
	} {
		parameters := map[string]string{}
		if row.shares != "" {
			parameters["maxShares"] = row.shares
		}
		err := CheckCapabilities([]v1beta2.VolumeCapability{{AccessType: row.accessType, AccessMode: row.mode}}, parameters)
		if (err == nil) != row.fits || err != nil && Code(err) != codes.InvalidArgument {
			t.Errorf("%+v: %v", row, err)
		}
	}
	if Code(CheckCapabilities(nil, nil)) != codes.InvalidArgument {
		t.Error("C31: no capabilities were accepted")
	}
}

// C31, C32: nothing that the server refuses as null, and no secrets.
func TestC31_NewVolume(t *testing.T) {
	volume, err := testProvisioner().newVolume(CreateVolumeRequest{Name: "v", Capabilities: []v1beta2.VolumeCapability{{AccessMode: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if volume.Spec.VolumeCapability == nil || volume.Spec.ContentVolumeSource == nil || volume.Spec.AccessibilityRequirements == nil || volume.Spec.Secrets != nil {
		t.Errorf("spec %+v", volume.Spec)
	}
}
