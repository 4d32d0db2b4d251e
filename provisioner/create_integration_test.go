//go:build integration

package provisioner_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func tenGiB(name string) provisioner.CreateVolumeRequest {
	return provisioner.CreateVolumeRequest{
		Name:          name,
		Capabilities:  []v1beta2.VolumeCapability{{AccessType: v1beta2.AccessTypeMount, AccessMode: 1, FSType: "ext4"}},
		CapacityRange: &v1beta2.CapacityRange{RequiredBytes: 10 << 30},
		Parameters:    map[string]string{"skuName": "Premium_LRS", "csi.storage.k8s.io/pv/name": name, "csi.storage.k8s.io/pvc/name": "data"},
	}
}

func (h *harness) create(ctx context.Context, request provisioner.CreateVolumeRequest) <-chan answer[*provisioner.Volume] {
	return start(func() (*provisioner.Volume, error) { return h.CreateVolume(ctx, request) })
}

func TestC1_CreateWaitsForTheDisk(t *testing.T) {
	h := newHarness(t)
	answers := h.create(h.context(), tenGiB("vol"))
	made := h.disks.awaitVolume("vol", "exists", anyVolume)
	h.disks.volumeState("vol", v1beta2.VolumeCreating)
	h.disks.volumeCreated("vol", 10)
	volume := must(t, answers)

	if volume.ID != diskID("vol") || volume.CapacityBytes != 10<<30 || volume.Context["skuName"] != "Premium_LRS" || len(volume.Topology) != 1 || volume.ContentSource != nil {
		t.Errorf("volume %+v", volume)
	}
	h.wantRequests("POST azvolumes")
	want := v1beta2.AzVolumeSpec{
		VolumeName:                "vol",
		VolumeCapability:          []v1beta2.VolumeCapability{{AccessType: v1beta2.AccessTypeMount, AccessMode: 1, FSType: "ext4"}},
		CapacityRange:             &v1beta2.CapacityRange{RequiredBytes: 10 << 30},
		Parameters:                tenGiB("vol").Parameters,
		ContentVolumeSource:       &v1beta2.ContentVolumeSource{},
		AccessibilityRequirements: &v1beta2.TopologyRequirement{},
		PersistentVolume:          "vol",
	}
	wantEqual(t, "spec", made.Spec, want)
	wantEqual(t, "finalizers", made.Finalizers, []string{v1beta2.VolumeFinalizer})
	wantEqual(t, "labels", made.Labels, map[string]string{v1beta2.LabelPVName: "vol", v1beta2.LabelPVCName: "data", v1beta2.LabelPVCNamespace: ""})
	for _, annotation := range []string{v1beta2.AnnotationRequestID, v1beta2.AnnotationRequestStartTime, v1beta2.AnnotationAPIVersion} {
		if made.Annotations[annotation] == "" {
			t.Errorf("annotation %s is missing", annotation)
		}
	}
}

func TestC2_FailedCreationIsCleanedUp(t *testing.T) {
	h := newHarness(t)
	answers := h.create(h.context(), tenGiB("vol"))
	uid := h.disks.awaitVolume("vol", "exists", anyVolume).UID
	h.disks.volumeState("vol", v1beta2.VolumeCreating)
	h.disks.volumeFailed("vol", v1beta2.VolumeCreationFailed, v1beta2.ErrorResourceExhausted, "no such size in this zone")
	wantCode(t, (<-answers).err, codes.ResourceExhausted)
	h.disks.awaitVolume("vol", "is being deleted", func(v *v1beta2.AzVolume) bool { return v.UID == uid && v.DeletionTimestamp != nil })
	h.wantRequests("POST azvolumes", "DELETE azvolumes/vol")
	h.disks.dropVolume("vol")
	eventually(t, "vol is gone", func() bool { return h.disks.volume("vol") == nil })
}

// A second call has started the creation again: the clean-up of the first one's
// failure finds another version, and the AzVolume lives.
func TestC3_CleanUpSparesWhatWasStartedAgain(t *testing.T) {
	h := newHarness(t)
	held := h.requests.hold("DELETE azvolumes/vol")
	answers := h.create(h.context(), tenGiB("vol"))
	h.disks.awaitVolume("vol", "exists", anyVolume)
	h.disks.volumeFailed("vol", v1beta2.VolumeCreationFailed, v1beta2.ErrorInternal, "cloud error")
	wantCode(t, (<-answers).err, codes.Internal)
	eventually(t, "the clean-up begins", func() bool { return h.requests.seen("DELETE azvolumes/vol") })

	again := h.another().create(h.context(), tenGiB("vol"))
	h.disks.awaitVolume("vol", "is started again", func(v *v1beta2.AzVolume) bool { return v.Status.State == v1beta2.VolumePending })
	close(held)
	eventually(t, "the clean-up looks at what it met", func() bool { return h.requests.seen("GET azvolumes/vol") })
	h.disks.volumeState("vol", v1beta2.VolumeCreating)
	h.disks.volumeCreated("vol", 10)
	must(t, again)
	if h.disks.volume("vol").DeletionTimestamp != nil {
		t.Error("the clean-up of the first call deleted the volume of the second")
	}
}

func TestC5_DeadlineKeepsTheVolume(t *testing.T) {
	h := newHarness(t)
	h.timedOut()
	if volume := h.disks.volume("vol"); volume == nil || volume.DeletionTimestamp != nil {
		t.Error("the volume was cleaned up after a deadline")
	}
	h.wantRequests("POST azvolumes")
}

func TestC6_RetryJoinsWhatRuns(t *testing.T) {
	h := newHarness(t)
	h.timedOut()
	h.requests.made()
	answers := h.create(h.context(), tenGiB("vol"))
	h.disks.volumeCreated("vol", 10)
	if volume := must(t, answers); volume.ID != diskID("vol") {
		t.Errorf("volume %+v", volume)
	}
	h.wantRequests()
}

// timedOut has a call end by its deadline while the volume is in Creating.
func (h *harness) timedOut() {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.context(), 2*time.Second)
	defer cancel()
	answers := h.create(ctx, tenGiB("vol"))
	h.disks.awaitVolume("vol", "exists", anyVolume)
	h.disks.volumeState("vol", v1beta2.VolumeCreating)
	_, err := h.CreateVolume(h.context(), tenGiB("vol")) // while the first call runs
	wantCode(h.T, err, codes.Aborted)
	wantCode(h.T, (<-answers).err, codes.DeadlineExceeded)
}

func TestC7_OtherSizeWhileCreating(t *testing.T) {
	h := newHarness(t)
	for _, state := range []v1beta2.VolumeState{v1beta2.VolumePending, v1beta2.VolumeCreating} {
		name := "vol-" + map[bool]string{true: "creating", false: "pending"}[state == v1beta2.VolumeCreating]
		request := tenGiB(name)
		h.disks.putVolume(&v1beta2.AzVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1beta2.VolumeFinalizer}},
			Spec:       v1beta2.AzVolumeSpec{CapacityRange: request.CapacityRange, Parameters: request.Parameters},
			Status:     v1beta2.AzVolumeStatus{State: state},
		})
		request.CapacityRange = &v1beta2.CapacityRange{RequiredBytes: 99 << 30}
		_, err := h.CreateVolume(h.context(), request)
		wantCode(t, err, codes.AlreadyExists)
	}
}

func TestC8_SameRequestIsAnsweredAtOnce(t *testing.T) {
	h := newHarness(t)
	first := h.created()
	again, err := h.CreateVolume(h.context(), tenGiB("vol"))
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "volume", again, first)
	h.wantRequests()
}

func TestC9_OtherParameters(t *testing.T) {
	h := newHarness(t)
	h.created()
	request := tenGiB("vol")
	request.Parameters = map[string]string{"skuName": "Standard_LRS"}
	_, err := h.CreateVolume(h.context(), request)
	wantCode(t, err, codes.AlreadyExists)
	h.wantRequests()
}

// created makes the volume by a call of its own.
func (h *harness) created() *provisioner.Volume {
	h.Helper()
	answers := h.create(h.context(), tenGiB("vol"))
	h.disks.awaitVolume("vol", "exists", anyVolume)
	h.disks.volumeCreated("vol", 10)
	volume := must(h.T, answers)
	h.requests.made()
	return volume
}

func TestC12_C13_ExistingVolumeIsCompared(t *testing.T) {
	h := newHarness(t)
	h.created()
	grown := h.disks.volumeStatus("vol", func(s *v1beta2.AzVolumeStatus) {
		s.State, s.Detail.CapacityBytes = v1beta2.VolumeUpdated, 20<<30
	})
	h.cached(h.volumes, "vol", grown.ResourceVersion)
	for _, row := range []struct {
		name   string
		change func(*provisioner.CreateVolumeRequest)
		want   codes.Code
	}{
		{"C12 block instead of mount", func(r *provisioner.CreateVolumeRequest) { r.Capabilities[0].AccessType = v1beta2.AccessTypeBlock }, codes.AlreadyExists},
		{"C12 another access mode", func(r *provisioner.CreateVolumeRequest) { r.Capabilities[0].AccessMode = 7 }, codes.AlreadyExists},
		{"C13 expanded", func(*provisioner.CreateVolumeRequest) {}, codes.OK},
		{"C13 expanded beyond the limit", func(r *provisioner.CreateVolumeRequest) { r.CapacityRange.LimitBytes = 15 << 30 }, codes.AlreadyExists},
	} {
		t.Run(row.name, func(t *testing.T) {
			request := tenGiB("vol")
			row.change(&request)
			_, err := h.CreateVolume(h.context(), request)
			wantCode(t, err, row.want)
		})
	}
	h.wantRequests()
}

func TestC15_LeavingVolumeIsNoVolume(t *testing.T) {
	h := newHarness(t)
	h.disks.readyVolume("vol", 10)
	deleted := h.disks.markDeleted("vol")
	h.cached(h.volumes, "vol", deleted.ResourceVersion)
	_, err := h.CreateVolume(h.context(), tenGiB("vol"))
	wantCode(t, err, codes.Aborted)
	h.wantRequests()
}

func TestC16_FailedCreationIsStartedAgain(t *testing.T) {
	h := newHarness(t)
	failed := h.disks.putVolume(&v1beta2.AzVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "vol"}, // the other side has taken its finalizer
		Spec:       v1beta2.AzVolumeSpec{CapacityRange: &v1beta2.CapacityRange{RequiredBytes: 10 << 30}},
		Status: v1beta2.AzVolumeStatus{
			State: v1beta2.VolumeCreationFailed, Error: &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"},
		},
	})
	h.cached(h.volumes, "vol", failed.ResourceVersion)
	request := tenGiB("vol")
	request.CapacityRange.RequiredBytes = 20 << 30
	answers := h.create(h.context(), request)
	reset := h.disks.awaitVolume("vol", "is started again", func(v *v1beta2.AzVolume) bool { return v.Status.State == v1beta2.VolumePending })
	if reset.Status.Error != nil || reset.Spec.CapacityRange.RequiredBytes != 20<<30 || len(reset.Finalizers) != 1 {
		t.Errorf("error %v, size %d, finalizers %v", reset.Status.Error, reset.Spec.CapacityRange.RequiredBytes, reset.Finalizers)
	}
	h.wantRequests("PUT azvolumes/vol", "PUT azvolumes/vol/status")
	h.disks.volumeCreated("vol", 20)
	must(t, answers)
}

func TestC21_C22_AnotherProcessWasFirst(t *testing.T) {
	h := newHarness(t)
	h.requests.cut("azvolumes") // the cache lags
	other := h.another()
	first := other.create(h.context(), tenGiB("vol"))
	h.disks.awaitVolume("vol", "exists", anyVolume)
	second := h.create(h.context(), tenGiB("vol"))
	eventually(t, "the second call looks at what it met", func() bool { return h.requests.seen("GET azvolumes/vol") })
	h.disks.volumeCreated("vol", 10)
	h.requests.release("azvolumes", false)
	wantEqual(t, "volume", must(t, second), must(t, first))
	h.wantRequests("POST azvolumes", "GET azvolumes/vol")
}

// Which failures there are, what callers are told, and whether the AzVolume goes.
func TestC19_C23_C24_C25_C26_Outcomes(t *testing.T) {
	h := newHarness(t)
	failed := func(code v1beta2.ErrorCode, message string) func(string) {
		return func(name string) { h.disks.volumeFailed(name, v1beta2.VolumeCreationFailed, code, message) }
	}
	for _, row := range []struct {
		name    string
		end     func(name string)
		want    codes.Code
		deleted bool
	}{
		{"c19-vanished", func(name string) { h.disks.markDeleted(name); h.disks.dropVolume(name) }, codes.Aborted, false},
		{"c19-terminating", func(name string) { h.disks.markDeleted(name) }, codes.Aborted, true},
		{"c23-error-beside-success", func(name string) {
			h.disks.volumeStatus(name, func(s *v1beta2.AzVolumeStatus) {
				s.State, s.Error = v1beta2.VolumeCreated, &v1beta2.AzError{Code: v1beta2.ErrorInternal, Message: "old"}
				s.Detail = &v1beta2.AzVolumeStatusDetail{VolumeID: diskID(name), CapacityBytes: 10 << 30}
			})
		}, codes.OK, false},
		{"c24-error-beside-pending", func(name string) {
			h.disks.volumeFailed(name, v1beta2.VolumePending, v1beta2.ErrorInternal, "old")
			h.disks.volumeCreated(name, 10)
		}, codes.OK, false},
		{"c25-ok-is-no-error", failed(v1beta2.ErrorOK, "it failed all the same"), codes.Unknown, true},
		{"c25-empty", failed("", ""), codes.Unknown, true},
		{"c26-cloud-deadline", failed(v1beta2.ErrorUnknown, "context deadline exceeded"), codes.DeadlineExceeded, false},
		{"unavailable", failed(v1beta2.ErrorUnavailable, "throttled"), codes.Unavailable, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			answers := h.create(h.context(), tenGiB(row.name))
			h.disks.awaitVolume(row.name, "exists", anyVolume)
			h.disks.volumeState(row.name, v1beta2.VolumeCreating)
			row.end(row.name)
			wantCode(t, (<-answers).err, row.want)
			if row.deleted {
				h.disks.awaitVolume(row.name, "is being deleted", func(v *v1beta2.AzVolume) bool { return v.DeletionTimestamp != nil })
			}
		})
	}
	h.Close() // clean-ups have ended or never will
	for _, name := range []string{"c26-cloud-deadline", "unavailable"} {
		if volume := h.disks.volume(name); volume == nil || volume.DeletionTimestamp != nil {
			t.Errorf("%s was cleaned up", name)
		}
	}
}

func TestC35_X4_X5_X6_ServerRefuses(t *testing.T) {
	for code, row := range map[int]struct {
		reason string
		want   codes.Code
	}{
		http.StatusServiceUnavailable: {"ServiceUnavailable", codes.Unavailable},
		http.StatusTooManyRequests:    {"TooManyRequests", codes.Unavailable},
		http.StatusForbidden:          {"Forbidden", codes.Internal},
	} {
		t.Run(row.reason, func(t *testing.T) {
			h := newHarness(t)
			h.requests.fail(func(request string) *http.Response {
				if request != "POST azvolumes" {
					return nil
				}
				return respond(nil, code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, row.reason, code))
			})
			_, err := h.CreateVolume(h.context(), tenGiB("vol"))
			wantCode(t, err, row.want)
			h.wantRequests("POST azvolumes")
		})
	}
}
