package simulator

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Every pair of states: what isn't in the table is refused and changes nothing.
func TestVolumeTransitions(t *testing.T) {
	states := strings.Split(",Pending,Creating,CreationFailed,Created,Updating,UpdateFailed,Updated,Deleting,DeletionFailed,Deleted", ",")
	allowed := map[string]string{
		"":         "Pending Creating Deleting",
		"Pending":  "Creating Deleting",
		"Creating": "Created CreationFailed",
		"Created":  "Updating Deleting",
		"Updated":  "Updating Deleting",
		"Updating": "Updated UpdateFailed",
		"Deleting": "Deleted DeletionFailed",
	}
	for _, from := range states {
		for _, to := range states {
			volume := &v1beta2.AzVolume{Status: v1beta2.AzVolumeStatus{State: v1beta2.VolumeState(from)}}
			err := moveVolume(volume, v1beta2.VolumeState(to))
			checkMove(t, from, to, string(volume.Status.State), err, slices.Contains(strings.Fields(allowed[from]), to))
		}
	}
}

func TestAttachmentTransitions(t *testing.T) {
	states := strings.Split(",Unknown,Pending,Attaching,Attached,AttachmentFailed,Detaching,Detached,DetachmentFailed,ForceDetachPending", ",")
	allowed := map[string]string{
		"":                   "Pending Attaching Detaching",
		"Pending":            "Attaching Detaching",
		"Attaching":          "Attached AttachmentFailed",
		"Attached":           "Detaching",
		"AttachmentFailed":   "Detaching",
		"ForceDetachPending": "Detaching",
		"Detaching":          "Detached DetachmentFailed",
		"DetachmentFailed":   "ForceDetachPending",
	}
	for _, from := range states {
		for _, to := range states {
			attachment := &v1beta2.AzVolumeAttachment{Status: v1beta2.AzVolumeAttachmentStatus{State: v1beta2.AttachmentState(from)}}
			err := moveAttachment(attachment, v1beta2.AttachmentState(to))
			checkMove(t, from, to, string(attachment.Status.State), err, slices.Contains(strings.Fields(allowed[from]), to))
		}
	}
}

func checkMove(t *testing.T, from, to, got string, err error, allowed bool) {
	t.Helper()
	switch {
	case allowed && (err != nil || got != to):
		t.Errorf("%q → %q: state %q, error %v; want it allowed", from, to, got, err)
	case !allowed && (!errors.Is(err, errRefused) || got != from):
		t.Errorf("%q → %q: state %q, error %v; want it refused", from, to, got, err)
	}
}
