package simulator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestRecoverVolume(t *testing.T) {
	changed := map[v1beta2.VolumeState]v1beta2.VolumeState{
		v1beta2.VolumeCreating: v1beta2.VolumePending,
		v1beta2.VolumeDeleting: v1beta2.VolumeCreated,
		v1beta2.VolumeUpdating: v1beta2.VolumeCreated,
	}
	for _, state := range []v1beta2.VolumeState{
		"", v1beta2.VolumePending, v1beta2.VolumeCreating, v1beta2.VolumeCreationFailed, v1beta2.VolumeCreated, v1beta2.VolumeUpdating,
		v1beta2.VolumeUpdateFailed, v1beta2.VolumeUpdated, v1beta2.VolumeDeleting, v1beta2.VolumeDeletionFailed, v1beta2.VolumeDeleted,
	} {
		want := state
		if to, ok := changed[state]; ok {
			want = to
		}
		status := v1beta2.AzVolumeStatus{State: state, Error: &v1beta2.AzError{}}
		recoverVolume(&status, "run")
		wanted := v1beta2.AzVolumeStatus{State: want, Error: &v1beta2.AzError{}, Annotation: map[string]string{v1beta2.StatusRecovery: "run"}}
		if diff := cmp.Diff(wanted, status); diff != "" {
			t.Errorf("%q (-want +got):\n%s", state, diff)
		}
	}
}

func TestRecoverAttachment(t *testing.T) {
	detail, failure := &v1beta2.AzVolumeAttachmentStatusDetail{}, &v1beta2.AzError{}
	for state, want := range map[v1beta2.AttachmentState]v1beta2.AzVolumeAttachmentStatus{
		"":                                 {Detail: detail, Error: failure},
		v1beta2.AttachmentAttaching:        {State: v1beta2.AttachmentPending},
		v1beta2.AttachmentDetaching:        {State: v1beta2.AttachmentAttached, Detail: detail, Error: failure},
		v1beta2.AttachmentAttached:         {State: v1beta2.AttachmentAttached, Detail: detail, Error: failure},
		v1beta2.AttachmentFailed:           {State: v1beta2.AttachmentFailed, Detail: detail, Error: failure},
		v1beta2.AttachmentDetachmentFailed: {State: v1beta2.AttachmentDetachmentFailed, Detail: detail, Error: failure},
	} {
		status := v1beta2.AzVolumeAttachmentStatus{
			State: state, Detail: detail, Error: failure, Annotation: map[string]string{v1beta2.StatusVolumeDetachRequest: "x"},
		}
		recoverAttachment(&status, "run")
		want.Annotation = map[string]string{v1beta2.StatusVolumeDetachRequest: "x", v1beta2.StatusRecovery: "run"}
		if diff := cmp.Diff(want, status); diff != "" {
			t.Errorf("%q (-want +got):\n%s", state, diff)
		}
	}
}
