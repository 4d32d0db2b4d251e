package simulator

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestVolumeAction(t *testing.T) {
	detail := &v1beta2.AzVolumeStatusDetail{CapacityBytes: 10}
	for name, test := range map[string]struct {
		state    v1beta2.VolumeState
		detail   *v1beta2.AzVolumeStatusDetail
		required int64
		deleting bool
		want     action
	}{
		"new":                               {want: createVolume},
		"pending":                           {state: v1beta2.VolumePending, want: createVolume},
		"creating is skipped":               {state: v1beta2.VolumeCreating, want: skip},
		"creating wins over deletion":       {state: v1beta2.VolumeCreating, deleting: true, want: skip},
		"updating wins over deletion":       {state: v1beta2.VolumeUpdating, detail: detail, deleting: true, want: skip},
		"deleting is skipped":               {state: v1beta2.VolumeDeleting, deleting: true, want: skip},
		"created":                           {state: v1beta2.VolumeCreated, detail: detail, required: 10, want: skip},
		"no size asked for":                 {state: v1beta2.VolumeCreated, detail: detail, want: skip},
		"larger":                            {state: v1beta2.VolumeCreated, detail: detail, required: 11, want: expandVolume},
		"smaller":                           {state: v1beta2.VolumeUpdated, detail: detail, required: 9, want: skip},
		"deletion wins over expand":         {state: v1beta2.VolumeCreated, detail: detail, required: 11, deleting: true, want: deleteVolume},
		"deletion wins over create":         {deleting: true, want: deleteVolume},
		"failed creation is looked at":      {state: v1beta2.VolumeCreationFailed, want: createVolume},
		"failed creation that is deleted":   {state: v1beta2.VolumeCreationFailed, deleting: true, want: deleteVolume},
		"failed expansion, larger required": {state: v1beta2.VolumeUpdateFailed, detail: detail, required: 11, want: expandVolume},
	} {
		volume := &v1beta2.AzVolume{Status: v1beta2.AzVolumeStatus{State: test.state, Detail: test.detail}}
		if test.required > 0 {
			volume.Spec.CapacityRange = &v1beta2.CapacityRange{RequiredBytes: test.required}
		}
		if test.deleting {
			volume.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		if got := volumeAction(volume); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestAttachmentAction(t *testing.T) {
	primary := &v1beta2.AzVolumeAttachmentStatusDetail{Role: v1beta2.RolePrimary}
	replica := &v1beta2.AzVolumeAttachmentStatusDetail{Role: v1beta2.RoleReplica}
	for name, test := range map[string]struct {
		state    v1beta2.AttachmentState
		detail   *v1beta2.AzVolumeAttachmentStatusDetail
		detach   bool
		deleting bool
		want     action
	}{
		"new":                              {want: attachDisk},
		"attaching is skipped":             {state: v1beta2.AttachmentAttaching, want: skip},
		"attaching wins over all":          {state: v1beta2.AttachmentAttaching, detach: true, deleting: true, want: skip},
		"detaching is skipped":             {state: v1beta2.AttachmentDetaching, detail: primary, detach: true, want: skip},
		"detaching and deleted":            {state: v1beta2.AttachmentDetaching, detail: primary, detach: true, deleting: true, want: release},
		"deleted by hand":                  {state: v1beta2.AttachmentAttached, detail: primary, deleting: true, want: release},
		"detach requested":                 {state: v1beta2.AttachmentAttached, detail: primary, detach: true, want: detachDisk},
		"detach requested, never attached": {detach: true, want: detachDisk},
		"detach wins over role":            {state: v1beta2.AttachmentAttached, detail: replica, detach: true, want: detachDisk},
		"attached":                         {state: v1beta2.AttachmentAttached, detail: primary, want: skip},
		"to promote":                       {state: v1beta2.AttachmentAttached, detail: replica, want: changeRole},
		"failed before the LUN":            {state: v1beta2.AttachmentFailed, want: attachDisk},
		"failed after the LUN":             {state: v1beta2.AttachmentFailed, detail: primary, want: skip},
	} {
		attachment := &v1beta2.AzVolumeAttachment{
			Spec:   v1beta2.AzVolumeAttachmentSpec{RequestedRole: v1beta2.RolePrimary},
			Status: v1beta2.AzVolumeAttachmentStatus{State: test.state, Detail: test.detail},
		}
		if test.detach {
			attachment.Status.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: ""}
		}
		if test.deleting {
			attachment.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		if got := attachmentAction(attachment); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
