package provisioner

import (
	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Operations that the provisioner waits for. Requests and bindings name them.
const (
	OperationCreateVolume    = "CreateVolume"
	OperationDeleteVolume    = "DeleteVolume"
	OperationVolumeSettled   = "VolumeSettled" // before a delete: no cloud operation runs on the volume
	OperationExpandVolume    = "ControllerExpandVolume"
	OperationPublishVolume   = "ControllerPublishVolume"
	OperationStageVolume     = "NodeStageVolume"
	OperationUnpublishVolume = "ControllerUnpublishVolume"
	OperationAttachSettled   = "AttachSettled"   // before a detach: the attach has ended
	OperationReplicaDetached = "ReplicaDetached" // before an attach: a replica has made room
)

// Params that the provisioner gives with its operations.
const (
	ParamRequiredBytes = "requiredBytes" // int: the size that the caller needs
	ParamVolumeName    = "volumeName"    // string: the disk's name
	ParamNodeName      = "nodeName"      // string: the node's id
	ParamLUN           = "lun"           // string: the LUN that ControllerPublishVolume returned
)

// Operations returns the catalogue of the provisioner's operations, in the order
// of a volume's life: which kind each is about and which params its callers
// give. Bindings are checked against it at load. The caller owns the result.
// Safe for concurrent use.
func Operations() []engine.Operation {
	size := engine.OperationParam{Name: ParamRequiredBytes, Type: "int"}
	volume := engine.OperationParam{Name: ParamVolumeName, Type: "string"}
	node := engine.OperationParam{Name: ParamNodeName, Type: "string"}
	lun := engine.OperationParam{Name: ParamLUN, Type: "string"}
	return []engine.Operation{
		onVolume(OperationCreateVolume),
		onVolume(OperationDeleteVolume),
		onVolume(OperationVolumeSettled),
		onVolume(OperationExpandVolume, size),
		onAttachment(OperationPublishVolume, volume, node),
		onAttachment(OperationStageVolume, volume, node, lun),
		onAttachment(OperationUnpublishVolume),
		onAttachment(OperationAttachSettled),
		onAttachment(OperationReplicaDetached),
	}
}

func onVolume(name string, params ...engine.OperationParam) engine.Operation {
	return engine.Operation{
		Name: name, Resource: v1beta2.AzVolumes(), Kind: v1beta2.KindAzVolume, Params: params,
	}
}

func onAttachment(name string, params ...engine.OperationParam) engine.Operation {
	return engine.Operation{
		Name: name, Resource: v1beta2.AzVolumeAttachments(), Kind: v1beta2.KindAzVolumeAttachment, Params: params,
	}
}
