//go:build integration

package provisioner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/simulator"
)

// simulate runs the Azure side over the harness's namespace until stop.
func (h *harness) simulate(cloud *simulator.Cloud) (stop func()) {
	h.Helper()
	client, err := versioned.NewForConfig(clustertest.Shared(h.T).Config())
	if err != nil {
		h.Fatal(err)
	}
	azure, err := simulator.New(client, cloud, simulator.Options{Namespace: h.namespace})
	if err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- azure.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			h.Error(err)
		}
	})
	h.Cleanup(stop)
	select {
	case <-azure.Ready():
	case err := <-ended:
		h.Errorf("the simulator ended at its start: %v", err)
		ended <- nil
	}
	return stop
}

// insist repeats a call as the sidecars do until its answer is final.
func insist[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	for {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		value, err := call(limited)
		cancel()
		switch provisioner.Code(err) {
		case codes.Aborted, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			if ctx.Err() == nil {
				continue
			}
		}
		return value, err
	}
}

// Two processes get every call of every volume's life at once, while the Azure
// side is restarted a few times.
func TestC22_D24_E18_P21_U23_TwoProcesses(t *testing.T) {
	h := newHarness(t)
	processes := []*harness{h, h.another()}
	cloud, err := simulator.NewCloud(simulator.CloudOptions{LatencyScale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	stop := h.simulate(cloud)
	ctx, cancel := context.WithTimeout(h.Context(), 3*patience) // a resync of the Azure side is 30 s away
	defer cancel()
	finished := make(chan struct{})
	var restarts sync.WaitGroup
	restarts.Go(func() {
		for range 4 { // not for ever: each cuts off what runs
			select {
			case <-time.After(700 * time.Millisecond):
				stop()
				stop = h.simulate(cloud)
			case <-finished:
				return
			}
		}
	})
	// both runs the call in both processes and checks the answers.
	both := func(call func(p *harness, i int) error) error {
		errs := make([]error, len(processes))
		var group sync.WaitGroup
		for i, p := range processes {
			group.Go(func() { errs[i] = call(p, i) })
		}
		group.Wait()
		return errors.Join(errs...)
	}
	life := func(name string) error {
		var made [2]*provisioner.Volume
		err := both(func(p *harness, i int) (err error) {
			made[i], err = insist(ctx, func(ctx context.Context) (*provisioner.Volume, error) {
				return p.CreateVolume(ctx, tenGiB(name))
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		if made[0].ID != made[1].ID {
			return fmt.Errorf("two volumes: %v", made)
		}
		var contexts [2]map[string]string
		request := publication(name, nodeID)
		request.VolumeID, request.VolumeContext = made[0].ID, made[0].Context
		err = both(func(p *harness, i int) (err error) {
			contexts[i], err = insist(ctx, func(ctx context.Context) (map[string]string, error) { return p.Publish(ctx, request) })
			return err
		})
		if err != nil || !maps.Equal(contexts[0], contexts[1]) || contexts[0]["LUN"] == "" {
			return fmt.Errorf("publish: %v, %w", contexts, err)
		}
		err = both(func(p *harness, _ int) error {
			lun, err := insist(ctx, func(ctx context.Context) (string, error) {
				return p.WaitForAttach(ctx, made[0].ID, nodeID, contexts[0]["LUN"])
			})
			if err == nil && lun != contexts[0]["LUN"] {
				err = fmt.Errorf("LUN %s", lun)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("stage: %w", err)
		}
		err = both(func(p *harness, i int) error {
			size := int64(20+10*i) << 30
			e, err := insist(ctx, func(ctx context.Context) (*provisioner.Expansion, error) {
				return p.Expand(ctx, made[0].ID, v1beta2.CapacityRange{RequiredBytes: size})
			})
			if err == nil && e.CapacityBytes < size {
				err = fmt.Errorf("%d bytes", e.CapacityBytes)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("expand: %w", err)
		}
		if v := h.disks.volume(name); v.Spec.CapacityRange.RequiredBytes != 30<<30 {
			return fmt.Errorf("spec %d", v.Spec.CapacityRange.RequiredBytes)
		}
		// U24: both unpublish while one publishes.
		err = both(func(p *harness, i int) error {
			if i == 0 {
				_, err := p.Publish(ctx, request)
				if code := provisioner.Code(err); code != codes.OK && code != codes.Aborted {
					return err
				}
			}
			_, err := insist(ctx, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, p.Unpublish(ctx, made[0].ID, nodeID)
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("unpublish: %w", err)
		}
		for _, line := range cloud.Inventory().Attachments {
			if strings.HasPrefix(line, made[0].ID+" ") {
				return fmt.Errorf("unpublished, but %s", line)
			}
		}
		err = both(func(p *harness, _ int) error {
			_, err := insist(ctx, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, p.DeleteVolume(ctx, made[0].ID)
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("delete: %w", err)
		}
		if slices.Contains(cloud.Inventory().Disks, made[0].ID) {
			return fmt.Errorf("deleted, but the disk is there")
		}
		return nil
	}
	var lives sync.WaitGroup
	for i := range 8 {
		lives.Go(func() {
			if err := life(fmt.Sprintf("vol-%d", i)); err != nil {
				t.Errorf("vol-%d: %v", i, err)
			}
		})
	}
	lives.Wait()
	close(finished)
	restarts.Wait()
	left, err := h.disks.client.AzVolumeAttachments(h.namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) != 0 {
		t.Errorf("%d attachments left, %v", len(left.Items), err)
	}
	if i := cloud.Inventory(); len(i.Disks)+len(i.Attachments) != 0 {
		t.Errorf("left in the cloud: %+v", i)
	}
}

// The same volume is wanted on two nodes at once: neither attachment is in the
// cache when the other call decides.
func TestP22_TwoNodesAtOnce(t *testing.T) {
	h := newHarness(t)
	h.ready()
	h.disks.addNode("node-2")
	held := h.requests.hold("POST azvolumeattachments")
	first := h.publish(h.context(), publication(volume, nodeID))
	eventually(t, "the first is on its way", func() bool { return h.requests.seen("POST azvolumeattachments") })
	second := h.publish(h.context(), publication(volume, "node-2"))
	select {
	case a := <-second:
		wantCode(t, a.err, codes.FailedPrecondition)
		if !strings.Contains(a.err.Error(), nodeID) {
			t.Errorf("the node isn't named: %v", a.err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the second call is on its way too")
	}
	close(held)
	h.disks.awaitAttachment(attachment, "exists", anyAttachment)
	h.disks.attachmentStatus(attachment, func(s *v1beta2.AzVolumeAttachmentStatus) { *s = attaching("3") })
	wantLUN(t, must(t, first), "3")
	_, err := h.Publish(h.context(), publication(volume, "node-2"))
	wantCode(t, err, codes.FailedPrecondition)
}
