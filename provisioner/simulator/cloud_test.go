package simulator

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func testVolume(name string, required, limit int64, parameters map[string]string) *v1beta2.AzVolume {
	return &v1beta2.AzVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1beta2.AzVolumeSpec{
			VolumeName: name, Parameters: parameters,
			CapacityRange: &v1beta2.CapacityRange{RequiredBytes: required, LimitBytes: limit},
		},
	}
}

func testDiskID(name string) string {
	return diskID(&v1beta2.AzVolumeSpec{VolumeName: name})
}

func TestCreateDisk(t *testing.T) {
	zones := func(names ...string) (topologies []v1beta2.Topology) {
		for _, name := range names {
			topologies = append(topologies, v1beta2.Topology{Segments: map[string]string{zoneKey: name}})
		}
		return topologies
	}
	cloud := newCloud(t, CloudOptions{})
	if _, err := cloud.createDisk(t.Context(), testVolume("source", 5*gib, 0, nil)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		volume *v1beta2.AzVolume
		change func(*v1beta2.AzVolumeSpec)
		want   v1beta2.AzVolumeStatusDetail // VolumeID is filled in
		code   v1beta2.ErrorCode
	}{
		"size as asked for, not rounded": {
			volume: testVolume("Data", 10*gib+1, 0, map[string]string{"skuName": "Premium_LRS"}),
			want: v1beta2.AzVolumeStatusDetail{
				CapacityBytes: 10*gib + 1, AccessibleTopology: zones(""),
				Parameters: map[string]string{"skuName": "Premium_LRS", "requestedsizegib": "11"},
			},
		},
		"at least 1 GiB, first preferred zone": {
			volume: testVolume("a", 1, 0, nil),
			change: func(spec *v1beta2.AzVolumeSpec) {
				spec.AccessibilityRequirements = &v1beta2.TopologyRequirement{Requisite: zones("z1", "z2"), Preferred: zones("z2")}
			},
			want: v1beta2.AzVolumeStatusDetail{
				CapacityBytes: gib, AccessibleTopology: zones("z2"), Parameters: map[string]string{"requestedsizegib": "1"},
			},
		},
		"zone-redundant": {
			volume: testVolume("b", gib, 0, map[string]string{"SKUName": "Premium_ZRS"}),
			change: func(spec *v1beta2.AzVolumeSpec) {
				spec.AccessibilityRequirements = &v1beta2.TopologyRequirement{Requisite: zones("z1", "z2")}
			},
			want: v1beta2.AzVolumeStatusDetail{
				CapacityBytes: gib, AccessibleTopology: zones("z1", "z2", ""),
				Parameters: map[string]string{"SKUName": "Premium_ZRS", "requestedsizegib": "1"},
			},
		},
		"larger than its source": {
			volume: testVolume("c", 6*gib, 0, nil),
			change: func(spec *v1beta2.AzVolumeSpec) {
				spec.ContentVolumeSource = &v1beta2.ContentVolumeSource{ContentSourceID: testDiskID("SOURCE")}
			},
			want: v1beta2.AzVolumeStatusDetail{
				CapacityBytes: 6 * gib, AccessibleTopology: zones(""),
				ContentSource: &v1beta2.ContentVolumeSource{ContentSourceID: testDiskID("SOURCE")},
				Parameters:    map[string]string{"requestedsizegib": "6", "resizeRequired": "true"},
			},
		},
		"source missing": {
			volume: testVolume("d", gib, 0, nil),
			change: func(spec *v1beta2.AzVolumeSpec) {
				spec.ContentVolumeSource = &v1beta2.ContentVolumeSource{ContentSource: v1beta2.ContentSourceSnapshot, ContentSourceID: "s"}
			},
			code: v1beta2.ErrorNotFound,
		},
		"limit under the rounded size": {volume: testVolume("e", gib+1, gib+2, nil), code: v1beta2.ErrorInvalidArgument},
		"unknown parameter":            {volume: testVolume("f", gib, 0, map[string]string{"colour": "red"}), code: v1beta2.ErrorInvalidArgument},
		"unreadable shares":            {volume: testVolume("g", gib, 0, map[string]string{"maxShares": "two"}), code: v1beta2.ErrorInvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(&test.volume.Spec)
			}
			detail, err := cloud.createDisk(t.Context(), test.volume)
			if code := codeOf(err); code != test.code || (err != nil) != (test.code != "") {
				t.Fatalf("error %v, want code %q", err, test.code)
			}
			if err != nil {
				return
			}
			test.want.VolumeID = testDiskID(test.volume.Spec.VolumeName)
			if diff := cmp.Diff(&test.want, detail); diff != "" {
				t.Errorf("detail (-want +got):\n%s", diff)
			}
		})
	}
}

// Fifty disks to one node at the same time get fifty LUNs; the node's limit and
// the disk's shares hold; what is detached can be had again.
func TestLUNs(t *testing.T) {
	cloud := newCloud(t, CloudOptions{DisksPerNode: 50, Nodes: []string{"n1", "n2"}})
	names := make([]string, 51)
	for i := range names {
		names[i] = "disk-" + strconv.Itoa(i)
		if _, err := cloud.createDisk(t.Context(), testVolume(names[i], gib, 0, nil)); err != nil {
			t.Fatal(err)
		}
	}
	luns := make([]int, 50)
	var group sync.WaitGroup
	for i := range luns {
		group.Go(func() {
			lun, err := cloud.reserveLUN(t.Context(), testDiskID(names[i]), "N1")
			if err != nil {
				t.Error(err)
			}
			luns[i] = lun
		})
	}
	group.Wait()
	seen := map[int]bool{}
	for _, lun := range luns {
		if seen[lun] || lun < 0 || lun > 49 {
			t.Errorf("LUN %d is given twice or out of range", lun)
		}
		seen[lun] = true
	}
	reserve := func(name, node string) (int, v1beta2.ErrorCode) {
		lun, err := cloud.reserveLUN(t.Context(), testDiskID(name), node)
		return lun, codeOf(err)
	}
	if again, code := reserve(names[3], "n1"); again != luns[3] || code != "" {
		t.Errorf("the same disk again: LUN %d, %s; want LUN %d", again, code, luns[3])
	}
	if _, code := reserve(names[50], "n1"); code != v1beta2.ErrorResourceExhausted {
		t.Errorf("node full: %q", code)
	}
	if _, code := reserve(names[3], "n2"); code != v1beta2.ErrorDanglingAttach {
		t.Errorf("disk elsewhere: %q", code)
	}
	if _, code := reserve(names[50], "n3"); code != v1beta2.ErrorNotFound {
		t.Errorf("no such node: %q", code)
	}
	if _, code := reserve("none", "n1"); code != v1beta2.ErrorNotFound {
		t.Errorf("no such disk: %q", code)
	}
	if err := cloud.detach(t.Context(), testDiskID(names[3]), "n1"); err != nil {
		t.Fatal(err)
	}
	if lun, code := reserve(names[50], "n1"); lun != luns[3] || code != "" {
		t.Errorf("after a detach: LUN %d, %q; want the free one, %d", lun, code, luns[3])
	}
	volume := testVolume(names[50], gib, 0, nil)
	volume.Status.Detail = &v1beta2.AzVolumeStatusDetail{VolumeID: testDiskID(names[50])}
	if err := cloud.deleteDisk(t.Context(), volume); codeOf(err) != v1beta2.ErrorFailedPrecondition {
		t.Errorf("delete of an attached disk: %v", err)
	}
}

// A cloud that starts empty knows what the objects tell.
func TestAdopt(t *testing.T) {
	volume := testVolume("data", gib, 0, nil)
	volume.Status.Detail = &v1beta2.AzVolumeStatusDetail{VolumeID: testDiskID("data"), CapacityBytes: gib}
	attachment := func(node string, state v1beta2.AttachmentState) *v1beta2.AzVolumeAttachment {
		return &v1beta2.AzVolumeAttachment{
			Spec: v1beta2.AzVolumeAttachmentSpec{VolumeID: testDiskID("data"), NodeName: node},
			Status: v1beta2.AzVolumeAttachmentStatus{State: state, Detail: &v1beta2.AzVolumeAttachmentStatusDetail{
				PublishContext: map[string]string{v1beta2.PublishContextLUN: "3"},
			}},
		}
	}
	detached := attachment("n3", v1beta2.AttachmentDetaching)
	detached.Status.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: "x"}
	detached.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	cloud := newCloud(t, CloudOptions{})
	for range 2 { // the second time changes nothing
		cloud.adopt([]*v1beta2.AzVolume{volume, testVolume("new", gib, 0, nil)}, []*v1beta2.AzVolumeAttachment{
			attachment("n1", v1beta2.AttachmentAttached), attachment("n2", v1beta2.AttachmentFailed), detached,
		})
		want := Inventory{Disks: []string{testDiskID("data")}, Attachments: []string{testDiskID("data") + " on n1 (LUN 3)"}}
		if diff := cmp.Diff(want, cloud.Inventory()); diff != "" {
			t.Errorf("inventory (-want +got):\n%s", diff)
		}
	}
}

// The controllers were stopped after a detach, before the object said so: the
// cloud that outlived them knows better than the object.
func TestAdoptTakesNothingBack(t *testing.T) {
	cloud := newCloud(t, CloudOptions{})
	volume := testVolume("data", gib, 0, nil)
	volume.Status.Detail = &v1beta2.AzVolumeStatusDetail{VolumeID: testDiskID("data"), CapacityBytes: gib}
	attachment := &v1beta2.AzVolumeAttachment{
		Spec: v1beta2.AzVolumeAttachmentSpec{VolumeID: testDiskID("data"), NodeName: "n1"},
		Status: v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentDetaching, Detail: &v1beta2.AzVolumeAttachmentStatusDetail{
			PublishContext: map[string]string{v1beta2.PublishContextLUN: "3"},
		}},
	}
	adopt := func() {
		cloud.adopt([]*v1beta2.AzVolume{volume}, []*v1beta2.AzVolumeAttachment{attachment})
	}
	adopt()
	if err := cloud.detach(t.Context(), testDiskID("data"), "n1"); err != nil {
		t.Fatal(err)
	}
	adopt()
	if left := cloud.Inventory().Attachments; len(left) != 0 {
		t.Errorf("attached again: %v", left)
	}
}
