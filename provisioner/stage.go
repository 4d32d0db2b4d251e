package provisioner

import (
	"context"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// WaitForAttach waits until the volume is fully attached to the node and returns
// its LUN. lun is the one that Publish returned, empty if it returned none: an
// attachment at another LUN is another attach. The attachment is read from the
// server, so that an old one in the cache doesn't answer for it; a failed attach
// is started again. NotFound if the volume isn't published to the node.
func (p *Provisioner) WaitForAttach(ctx context.Context, volumeID, nodeID, lun string) (string, error) {
	id, err := ParseVolumeID(volumeID)
	if err != nil {
		return "", wrapError(codes.NotFound, err, "stage a volume")
	}
	release, err := p.hold("attachment", id.objectName(), nodeID)
	if err != nil {
		return "", err
	}
	defer release()

	name := p.attachmentNameFor(id, nodeID)
	params := engine.Params{ParamVolumeName: id.objectName(), ParamNodeName: nodeID, ParamLUN: lun}
	result, err := p.waitForAttachment(ctx, OperationStageVolume, name, params, func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) {
		live, err := p.liveAttachment(ctx, name)
		if err != nil {
			return nil, err
		}
		return write(ctx, p.clock, "start the attach of AzVolumeAttachment "+p.namespace+"/"+name+" again", live,
			func(ctx context.Context, current *v1beta2.AzVolumeAttachment) (*v1beta2.AzVolumeAttachment, error) {
				if current == nil || !isAttachment(current, id, nodeID) {
					return nil, newError(codes.NotFound, "volume %s isn't published to node %s", id, nodeID)
				}
				if current.Status.State != v1beta2.AttachmentFailed || detachRequested(current) {
					return current, nil // the predicate judges it
				}
				return p.attachments.UpdateStatus(ctx, restarted(current), metav1.UpdateOptions{})
			},
			func(ctx context.Context) (*v1beta2.AzVolumeAttachment, error) { return p.liveAttachment(ctx, name) })
	})
	if err != nil {
		return "", err
	}
	attached, ok := result.Peek().(*v1beta2.AzVolumeAttachment)
	if !ok || attached.Status.Detail == nil || attached.Status.Detail.PublishContext[v1beta2.PublishContextLUN] == "" {
		return "", newError(codes.Internal, "AzVolumeAttachment %s/%s is attached but has no LUN", p.namespace, name)
	}
	return attached.Status.Detail.PublishContext[v1beta2.PublishContextLUN], nil
}
