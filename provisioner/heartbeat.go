package provisioner

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	typed "github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/typed/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// HeartbeatInterval is how often a node says that it is alive.
const HeartbeatInterval = 30 * time.Second

// Heartbeat keeps the AzDriverNode of one node alive. Without it nothing can be
// published to the node. It is for one goroutine.
type Heartbeat struct {
	nodes     typed.AzDriverNodeInterface
	namespace string
	nodeID    string
	clock     clock.Clock
	last      *v1beta2.AzDriverNode // as last written; nil before that
}

// NewHeartbeat returns the heartbeat of the node. nodes must be of the namespace.
func NewHeartbeat(nodes typed.AzDriverNodeInterface, namespace, nodeID string, clock clock.Clock) *Heartbeat {
	return &Heartbeat{nodes: nodes, namespace: namespace, nodeID: nodeID, clock: clock}
}

// Beat writes the AzDriverNode once, and makes it first if it isn't there.
func (h *Heartbeat) Beat(ctx context.Context) error {
	written, err := write(ctx, h.clock, "keep AzDriverNode "+h.namespace+"/"+h.nodeID+" alive", h.last, h.attempt,
		func(ctx context.Context) (*v1beta2.AzDriverNode, error) {
			live, err := h.nodes.Get(ctx, h.nodeID, metav1.GetOptions{})
			return found(ctx, live, err, "get AzDriverNode "+h.namespace+"/"+h.nodeID)
		})
	if err == nil {
		h.last = written
	}
	return err
}

func (h *Heartbeat) attempt(ctx context.Context, current *v1beta2.AzDriverNode) (*v1beta2.AzDriverNode, error) {
	if current == nil {
		created, err := h.nodes.Create(ctx, &v1beta2.AzDriverNode{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: h.namespace,
				Name:      h.nodeID,
				Labels:    map[string]string{v1beta2.LabelPartition: v1beta2.PartitionNode},
			},
			Spec: v1beta2.AzDriverNodeSpec{NodeName: h.nodeID},
		}, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) { // of the namespace or the CRD
			return nil, requestError(ctx, err, "create AzDriverNode "+h.namespace+"/"+h.nodeID)
		}
		if err != nil {
			return nil, err
		}
		current = created
	}
	alive := current.DeepCopy()
	now := metav1.NewTime(h.clock.Now())
	alive.Status.LastHeartbeatTime = &now
	alive.Status.ReadyForVolumeAllocation = ptr.To(true)
	alive.Status.StatusMessage = "the driver is serving"
	return h.nodes.UpdateStatus(ctx, alive, metav1.UpdateOptions{})
}

// Run beats every HeartbeatInterval until the context ends. What fails is logged
// and tried again at the next beat.
func (h *Heartbeat) Run(ctx context.Context) {
	for {
		timer := h.clock.NewTimer(HeartbeatInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		if err := h.Beat(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "The node's heartbeat failed", "next", HeartbeatInterval)
		}
	}
}
