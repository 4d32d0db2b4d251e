package provisioner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/fake"
)

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := fake.NewSimpleClientset().AzureDiskV1beta2().AzDriverNodes("n")
		beats := func() time.Time {
			t.Helper()
			node, err := nodes.Get(t.Context(), "node-1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if node.Spec.NodeName != "node-1" || node.Status.ReadyForVolumeAllocation == nil || !*node.Status.ReadyForVolumeAllocation {
				t.Fatalf("node %+v", node)
			}
			return node.Status.LastHeartbeatTime.Time
		}
		heart := provisioner.NewHeartbeat(nodes, "n", "node-1", clock.RealClock{})
		if err := heart.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := beats()

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			heart.Run(ctx)
			close(done)
		}()
		time.Sleep(provisioner.HeartbeatInterval + time.Second) // on the bubble's own clock
		if second := beats(); second.Sub(first) != provisioner.HeartbeatInterval {
			t.Errorf("the next beat came after %s", second.Sub(first))
		}
		// Somebody deletes the object: the next beat makes it again.
		if err := nodes.Delete(ctx, "node-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(provisioner.HeartbeatInterval)
		beats()
		cancel()
		<-done
	})
}
