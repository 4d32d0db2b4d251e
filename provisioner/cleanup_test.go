package provisioner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/fake"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// fakeAPI is an API server of one AzVolume. The tracker of the fake clientset
// knows no preconditions, so every verb is answered here.
type fakeAPI struct {
	volume  *v1beta2.AzVolume
	deletes []string // UID and version of each DELETE's preconditions
	err     error    // of every DELETE
}

func (f *fakeAPI) provisioner() *Provisioner {
	client := &fake.Clientset{}
	client.AddReactor("get", "azvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if f.volume == nil {
			return true, nil, apierrors.NewNotFound(v1beta2.Resource("azvolumes"), "v")
		}
		return true, f.volume.DeepCopy(), nil
	})
	client.AddReactor("delete", "azvolumes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		preconditions := action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
		f.deletes = append(f.deletes, string(*preconditions.UID)+"/"+*preconditions.ResourceVersion)
		switch {
		case f.err != nil:
			return true, nil, f.err
		case f.volume == nil:
			return true, nil, apierrors.NewNotFound(v1beta2.Resource("azvolumes"), "v")
		case *preconditions.UID != f.volume.UID, *preconditions.ResourceVersion != f.volume.ResourceVersion:
			return true, nil, conflict()
		}
		f.volume = nil
		return true, nil, nil
	})
	p := &Provisioner{
		volumes: client.AzureDiskV1beta2().AzVolumes("n"), namespace: "n",
		clock: clock.RealClock{}, logger: klog.Background(), observer: noObserver{},
	}
	p.background.init()
	return p
}

func azVolume(uid, version string, state v1beta2.VolumeState) *v1beta2.AzVolume {
	v := &v1beta2.AzVolume{}
	v.Name, v.Namespace, v.UID, v.ResourceVersion, v.Status.State = "v", "n", types.UID(uid), version, state
	return v
}

// C2–C4: the clean-up deletes the very object that failed, and gives up.
func TestC2_C3_C4_CleanUp(t *testing.T) {
	failed := azVolume("a", "1", v1beta2.VolumeCreationFailed)
	withDisk := azVolume("a", "2", v1beta2.VolumeCreationFailed)
	withDisk.Status.Detail = &v1beta2.AzVolumeStatusDetail{VolumeID: "id"}
	for _, row := range []struct {
		name    string
		now     *v1beta2.AzVolume
		err     error
		deletes []string
		left    bool
		within  time.Duration
	}{
		{"as it failed", failed, nil, []string{"a/1"}, false, 0},
		{"gone", nil, nil, []string{"a/1"}, false, 0},
		{"finalizer taken since", azVolume("a", "2", v1beta2.VolumeCreationFailed), nil, []string{"a/1", "a/2"}, false, time.Second},
		{"started again", azVolume("a", "2", v1beta2.VolumePending), nil, []string{"a/1"}, true, 0},
		{"has a disk after all", withDisk, nil, []string{"a/1"}, true, 0},
		{"made anew", azVolume("b", "2", v1beta2.VolumeCreationFailed), nil, []string{"a/1"}, true, 0},
		{"C4 for ever", failed, errors.New("refused"), []string{"a/1", "a/1", "a/1", "a/1"}, true, cleanUpWithin},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &fakeAPI{err: row.err}
				if row.now != nil {
					api.volume = row.now.DeepCopy()
				}
				p := api.provisioner()
				started := time.Now()
				p.cleanUp(t.Context(), failed)
				if took := time.Since(started); took > row.within {
					t.Errorf("took %s, want at most %s", took, row.within)
				}
				if (api.volume != nil) != row.left {
					t.Errorf("left: %v, want %v", api.volume != nil, row.left)
				}
				if len(api.deletes) < len(row.deletes) || len(api.deletes) > cleanUpTries {
					t.Errorf("deletes %v, want %v", api.deletes, row.deletes)
				}
				p.Close()
			})
		})
	}
}

func TestCleanUpEndsWithTheProvisioner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &fakeAPI{volume: azVolume("a", "1", v1beta2.VolumeCreationFailed), err: errors.New("refused")}
		p := api.provisioner()
		if !p.background.run(func(ctx context.Context) { p.cleanUp(ctx, api.volume) }) {
			t.Fatal("the clean-up wasn't started")
		}
		synctest.Wait()
		started := time.Now()
		p.Close()
		if took := time.Since(started); took != 0 {
			t.Errorf("Close waited %s", took)
		}
		if p.background.run(func(context.Context) {}) {
			t.Error("started after Close")
		}
	})
}

func TestBackgroundIsBounded(t *testing.T) {
	var b background
	b.init()
	started := 0
	for b.run(func(ctx context.Context) { <-ctx.Done() }) {
		started++
	}
	b.close()
	if started != maxBackground {
		t.Errorf("%d ran at once, want %d", started, maxBackground)
	}
}

func TestC26_NoCleanUpWithoutAFinalCode(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.Canceled: false, codes.DeadlineExceeded: false, codes.Unavailable: false, codes.Aborted: false,
		codes.ResourceExhausted: true, codes.Internal: true, codes.InvalidArgument: true, codes.Unknown: true,
	} {
		if final(code) != want {
			t.Errorf("final(%s) is %v", code, !want)
		}
	}
	if _, ok := creationFailed(nil, newError(codes.Internal, "no")); ok {
		t.Error("cleaned up without a verdict")
	}
}
