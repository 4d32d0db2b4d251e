package provisioner

import (
	"testing"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func testProvisioner() *Provisioner {
	p := &Provisioner{namespace: "n", clock: clock.RealClock{}, logger: klog.Background(), observer: noObserver{}}
	p.background.init()
	return p
}

func zone(name string) v1beta2.Topology {
	return v1beta2.Topology{Segments: map[string]string{"zone": name}}
}

// C7–C14: which existing volumes are the requested one.
func TestC7_C14_Compare(t *testing.T) {
	request := func() CreateVolumeRequest {
		return CreateVolumeRequest{
			Name:          "v",
			Capabilities:  []v1beta2.VolumeCapability{{AccessType: v1beta2.AccessTypeMount, AccessMode: 1, FSType: "ext4"}},
			CapacityRange: &v1beta2.CapacityRange{RequiredBytes: 10 * GiB, LimitBytes: 20 * GiB},
			Parameters:    map[string]string{"skuName": "x"},
			Accessibility: &v1beta2.TopologyRequirement{Requisite: []v1beta2.Topology{zone("1"), zone("2")}},
		}
	}
	type change func(*CreateVolumeRequest, *v1beta2.AzVolume)
	disk := func(size int64, places ...v1beta2.Topology) change {
		return func(_ *CreateVolumeRequest, v *v1beta2.AzVolume) {
			v.Status.Detail = &v1beta2.AzVolumeStatusDetail{CapacityBytes: size, AccessibleTopology: places}
		}
	}
	for _, row := range []struct {
		name    string
		changes []change
		same    bool
	}{
		{"the same", nil, true},
		{"the same, with a disk", []change{disk(10 * GiB)}, true},
		{"C13 expanded", []change{disk(20 * GiB)}, true},
		{"C13 expanded beyond the limit", []change{disk(21 * GiB)}, false},
		{"too small", []change{disk(9 * GiB)}, false},
		{"C7 larger, no disk yet", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) {
			r.CapacityRange = &v1beta2.CapacityRange{RequiredBytes: 99 * GiB}
		}}, false},
		{"no size asked for", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.CapacityRange = nil }}, true},
		{"C9 parameters", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.Parameters = map[string]string{"skuName": "y"} }}, false},
		{"parameters nil and empty", []change{func(r *CreateVolumeRequest, v *v1beta2.AzVolume) {
			r.Parameters, v.Spec.Parameters = nil, map[string]string{}
		}}, true},
		{"C10 secrets of V2", []change{func(_ *CreateVolumeRequest, v *v1beta2.AzVolume) { v.Spec.Secrets = map[string]string{"a": "b"} }}, true},
		{"C12 block", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) {
			r.Capabilities[0].AccessType = v1beta2.AccessTypeBlock
		}}, false},
		{"C12 mode", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.Capabilities[0].AccessMode = 7 }}, false},
		{"file system", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.Capabilities[0].FSType = "xfs" }}, false},
		{"file system left open", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.Capabilities[0].FSType = "" }}, true},
		{"mount flags", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.Capabilities[0].MountFlags = []string{"noatime"} }}, true},
		{"C39 no capabilities", []change{func(_ *CreateVolumeRequest, v *v1beta2.AzVolume) { v.Spec.VolumeCapability = nil }}, true},
		{"replicas", []change{func(_ *CreateVolumeRequest, v *v1beta2.AzVolume) { v.Spec.MaxMountReplicaCount = 1 }}, false},
		{"no source object", []change{func(_ *CreateVolumeRequest, v *v1beta2.AzVolume) { v.Spec.ContentVolumeSource = nil }}, true},
		{"another source", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) {
			r.ContentSource = &v1beta2.ContentVolumeSource{ContentSource: v1beta2.ContentSourceSnapshot, ContentSourceID: "s"}
		}}, false},
		{"case of the disk", []change{func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) { r.Name = "V" }}, false},
		{"same places", []change{disk(10*GiB, zone("1"))}, true},
		{"other places, reachable", []change{disk(10*GiB, zone("2")), func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) {
			r.Accessibility = &v1beta2.TopologyRequirement{Requisite: []v1beta2.Topology{zone("2"), zone("3")}}
		}}, true},
		{"other places, out of reach", []change{disk(10*GiB, zone("1")), func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) {
			r.Accessibility = &v1beta2.TopologyRequirement{Requisite: []v1beta2.Topology{zone("3")}}
		}}, false},
		{"other places, disk in none", []change{disk(10*GiB, zone("")), func(r *CreateVolumeRequest, _ *v1beta2.AzVolume) {
			r.Accessibility = &v1beta2.TopologyRequirement{Requisite: []v1beta2.Topology{zone("3")}}
		}}, true},
	} {
		p := testProvisioner()
		existing, err := p.newVolume(request())
		if err != nil {
			t.Fatal(err)
		}
		changed := request()
		for _, c := range row.changes {
			c(&changed, existing)
		}
		wanted, err := p.newVolume(changed)
		if err != nil {
			t.Fatal(err)
		}
		err = incompatible(existing, wanted)
		if (err == nil) != row.same || err != nil && Code(err) != codes.AlreadyExists {
			t.Errorf("%s: %v, want the same: %v", row.name, err, row.same)
		}
	}
}
