package simulator

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// fakeVolumes is an API server's store of one volume, with its conflicts.
type fakeVolumes struct {
	live   *v1beta2.AzVolume // nil: none
	writes int
	fail   []error // of the next writes, in order
	lost   bool    // the next write is done, but its answer doesn't arrive
}

func (f *fakeVolumes) Get(context.Context, string, metav1.GetOptions) (*v1beta2.AzVolume, error) {
	if f.live == nil {
		return nil, apierrors.NewNotFound(v1beta2.Resource("azvolumes"), "v")
	}
	return f.live.DeepCopy(), nil
}

func (f *fakeVolumes) put(volume *v1beta2.AzVolume) (*v1beta2.AzVolume, error) {
	f.writes++
	if len(f.fail) > 0 {
		err := f.fail[0]
		f.fail = f.fail[1:]
		return nil, err
	}
	if f.live == nil {
		return nil, apierrors.NewNotFound(v1beta2.Resource("azvolumes"), "v")
	}
	if volume.ResourceVersion != f.live.ResourceVersion {
		return nil, apierrors.NewConflict(v1beta2.Resource("azvolumes"), "v", errors.New("old"))
	}
	f.live = volume.DeepCopy()
	f.live.ResourceVersion += "1"
	if f.lost {
		f.lost = false
		return nil, errors.New("EOF")
	}
	return f.live.DeepCopy(), nil
}

func (f *fakeVolumes) Update(_ context.Context, volume *v1beta2.AzVolume, _ metav1.UpdateOptions) (*v1beta2.AzVolume, error) {
	return f.put(volume)
}

func (f *fakeVolumes) UpdateStatus(_ context.Context, volume *v1beta2.AzVolume, _ metav1.UpdateOptions) (*v1beta2.AzVolume, error) {
	return f.put(volume)
}

func (f *fakeVolumes) Delete(context.Context, string, metav1.DeleteOptions) error { return nil }

func TestWrite(t *testing.T) {
	object := func(uid, version string, state v1beta2.VolumeState) *v1beta2.AzVolume {
		return &v1beta2.AzVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "v", UID: types.UID(uid), ResourceVersion: version},
			Status:     v1beta2.AzVolumeStatus{State: state},
		}
	}
	conflict := apierrors.NewConflict(v1beta2.Resource("azvolumes"), "v", errors.New("x"))
	for name, test := range map[string]struct {
		cached, live *v1beta2.AzVolume
		fail         []error
		lost         bool
		change       func(*v1beta2.AzVolume) error
		want         error
		state        v1beta2.VolumeState // of the live object afterwards
		writes       int
	}{
		"first try": {cached: object("u", "1", ""), live: object("u", "1", ""), state: "Creating", writes: 1},
		"stale, changed on the live object": {
			cached: object("u", "1", ""), live: object("u", "2", "Pending"), state: "Creating", writes: 2,
		},
		"stale, no longer called for": {
			cached: object("u", "1", ""), live: object("u", "2", "Created"), want: errRefused, state: "Created", writes: 1,
		},
		"another object of the name": {cached: object("u", "1", ""), live: object("w", "2", ""), want: errGone, writes: 1},
		"gone":                       {cached: object("u", "1", ""), want: errGone, writes: 1},
		"refused before any write":   {cached: object("u", "1", "Created"), live: object("u", "1", "Created"), want: errRefused, state: "Created"},
		"nothing to change":          {cached: object("u", "1", "Created"), live: object("u", "1", "Created"), change: func(*v1beta2.AzVolume) error { return nil }, state: "Created"},
		"conflicts, then none":       {cached: object("u", "1", ""), live: object("u", "1", ""), fail: []error{conflict, conflict, conflict}, state: "Creating", writes: 4},
		"server away, then back":     {cached: object("u", "1", ""), live: object("u", "1", ""), fail: []error{errors.New("EOF"), apierrors.NewServiceUnavailable("x")}, state: "Creating", writes: 3},
		"written, the answer lost":   {cached: object("u", "1", ""), live: object("u", "1", ""), lost: true, state: "Creating", writes: 1},
		"invalid: not tried again":   {cached: object("u", "1", ""), live: object("u", "1", ""), fail: []error{errInvalid}, want: errInvalid, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			client := &fakeVolumes{live: test.live, fail: test.fail, lost: test.lost}
			change := test.change
			if change == nil {
				change = func(volume *v1beta2.AzVolume) error { return moveVolume(volume, v1beta2.VolumeCreating) }
			}
			_, err := writeStatus(t.Context(), client, test.cached, change)
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if client.writes != test.writes {
				t.Errorf("%d writes, want %d", client.writes, test.writes)
			}
			if client.live != nil && client.live.Status.State != test.state {
				t.Errorf("state %q, want %q", client.live.Status.State, test.state)
			}
		})
	}
}

// errInvalid is an answer that the same request always gets.
var errInvalid error = apierrors.NewInvalid(v1beta2.SchemeGroupVersion.WithKind("AzVolume").GroupKind(), "v", nil)
