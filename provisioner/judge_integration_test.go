//go:build integration

package provisioner_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// The predicate breaks on an AzVolume in Creating. That says nothing about the
// volume: it lives, and the call succeeds once the predicate is mended.
func TestJ1_BrokenJudgeDecidesNothing(t *testing.T) {
	const broken = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: volume-created}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  done: |-
    object.status.state == 'Created' && object.spec.maxMountReplicaCount == 0
  failed: |-
    object.status.state == 'Creating' && 1 / object.spec.maxMountReplicaCount == 1
`
	t.Run("error", func(t *testing.T) {
		h := newHarness(t)
		h.configure(broken)
		brokenThenMended(t, h, func() {
			if err := h.store.Remove("configmap"); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("panic", func(t *testing.T) {
		h := newHarness(t)
		h.engine.Swap(panickingSet{h.store.Set()})
		brokenThenMended(t, h, func() { h.engine.Swap(h.store.Set()) })
	})
}

func brokenThenMended(t *testing.T, h *harness, mend func()) {
	t.Helper()
	answers := h.create(h.context(), tenGiB("vol"))
	uid := h.disks.awaitVolume("vol", "exists", anyVolume).UID
	h.disks.volumeState("vol", v1beta2.VolumeCreating)
	wantCode(t, (<-answers).err, codes.Unavailable)
	h.wantRequests("POST azvolumes")
	if volume := h.disks.volume("vol"); volume == nil || volume.UID != uid || volume.DeletionTimestamp != nil {
		t.Fatal("the AzVolume was touched")
	}
	mend()
	answers = h.create(h.context(), tenGiB("vol"))
	h.disks.volumeCreated("vol", 10)
	must(t, answers)
	h.wantRequests()
}

// panickingSet is a set whose predicates panic when they judge.
type panickingSet struct{ engine.Set }

func (s panickingSet) Binding(operation string) (*engine.Binding, error) {
	binding, err := s.Set.Binding(operation)
	if err != nil {
		return nil, err
	}
	panicking := *binding
	panicking.Predicate = panickingPredicate{binding.Predicate}
	return &panicking, nil
}

type panickingPredicate struct{ engine.Predicate }

func (p panickingPredicate) Bind(params engine.Params) (engine.Judge, error) {
	judge, err := p.Predicate.Bind(params)
	return panickingJudge{judge}, err
}

type panickingJudge struct{ judge engine.Judge }

func (j panickingJudge) Key() string { return "panicking " + j.judge.Key() }

func (panickingJudge) Judge(context.Context, engine.Observation) engine.Judgement { panic("boom") }

func (j panickingJudge) Describe(ctx context.Context, o engine.Observation) engine.Judgement {
	return j.judge.Describe(ctx, o)
}

// Predicates that say Done of what is still there, or still busy, answer no call.
func TestDoneTooEarlyIsNoAnswer(t *testing.T) {
	h := newHarness(t)
	for name, kind := range map[string]string{"volume-deleted": "AzVolume", "volume-settled": "AzVolume", "attachment-gone": "AzVolumeAttachment"} {
		h.configure(`
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: ` + name + `}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: ` + kind + `}
  onTerminating: Judge
  done: "true"
`)
		switch name {
		case "attachment-gone":
			h.with(attached("1"))
			wantCode(t, h.Unpublish(h.context(), diskID(volume), nodeID), codes.Unavailable)
		case "volume-settled":
			h.disks.readyVolume("busy", 10)
			busy := h.disks.volumeStatus("busy", func(s *v1beta2.AzVolumeStatus) { s.State = v1beta2.VolumeUpdating })
			h.cached(h.volumes, "busy", busy.ResourceVersion)
			wantCode(t, h.DeleteVolume(h.context(), diskID("busy")), codes.Unavailable)
			if v := h.disks.volume("busy"); v.ResourceVersion != busy.ResourceVersion {
				t.Errorf("written while the cloud works on it: %+v", v.Status)
			}
		case "volume-deleted":
			ready := h.disks.readyVolume("vol", 10)
			h.cached(h.volumes, "vol", ready.ResourceVersion)
			wantCode(t, h.DeleteVolume(h.context(), diskID("vol")), codes.Unavailable)
		}
	}
}
