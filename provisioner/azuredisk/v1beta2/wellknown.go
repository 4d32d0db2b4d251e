package v1beta2

// DriverName is the name under which the driver registers with CSI.
const DriverName = GroupName

// DefaultNamespace is the namespace of the objects unless configured otherwise.
const DefaultNamespace = "azure-disk-csi"

// Finalizers keep an object until the Azure side has done its part.
const (
	VolumeFinalizer     = GroupName + "/azvolume-finalizer"
	AttachmentFinalizer = GroupName + "/azvolumeattachment-finalizer"
)

// Labels of an AzVolume. They are empty strings when the sidecar did not pass
// the extra metadata.
const (
	LabelPVName       = GroupName + "/pv"
	LabelPVCName      = GroupName + "/pvc"
	LabelPVCNamespace = GroupName + "/pvc-namespace"
)

// Labels of an AzVolumeAttachment.
const (
	// LabelNodeName is the node ID.
	LabelNodeName = GroupName + "/node-name"
	// LabelVolumeName is the name of the disk in lower case.
	LabelVolumeName = GroupName + "/volume-name"
	// LabelRequestedRole is a copy of spec.role.
	LabelRequestedRole = GroupName + "/requested-role"
	// LabelRoleChange is RoleChangePromoted or RoleChangeDemoted; absent if the role never
	// changed.
	LabelRoleChange = GroupName + "/role-change"
)

// Values of LabelRoleChange.
const (
	RoleChangePromoted = "promoted"
	RoleChangeDemoted  = "demoted"
)

// LabelPartition is the label of an AzDriverNode that names its partition.
const LabelPartition = "azdrivernodes." + GroupName + "/partition"

// Names of partitions and leases.
const (
	PartitionController = "csi-azuredisk-controller"
	PartitionNode       = "csi-azuredisk-node"
)

// Annotations of AzVolumes and AzVolumeAttachments.
const (
	// AnnotationAPIVersion is Version; an object without it counts as one of
	// an older API and is converted during recovery.
	AnnotationAPIVersion = GroupName + "/apiversion"
	// AnnotationRequestID is a UUID of the workflow that wrote the object.
	AnnotationRequestID = GroupName + "/request-id"
	// AnnotationRequestStartTime is when that workflow began (RFC 3339 with
	// nanoseconds).
	AnnotationRequestStartTime = GroupName + "/request-starttime"
	// AnnotationRequesterName is the function that wrote the object.
	AnnotationRequesterName = GroupName + "/requester-name"
	// AnnotationVolumeAttachRequest names who asked for the attach. The attach
	// of an AzVolumeAttachment doesn't start while this key is missing.
	AnnotationVolumeAttachRequest = GroupName + "/volume-attach-request"
)

// Keys of status.annotation: requests and remarks that go through the status.
const (
	// StatusVolumeDeleteRequest on an AzVolume asks for the disk to go as
	// well; its value is CloudDeleteVolume.
	StatusVolumeDeleteRequest = GroupName + "/volume-delete-request"
	// StatusPreProvisioned on an AzVolume is "true" if the driver did not make
	// the disk: a CSI delete then leaves it alone.
	StatusPreProvisioned = GroupName + "/pre-provisioned"
	// StatusVolumeDetachRequest on an AzVolumeAttachment names who asked for
	// the disk to be detached and the object deleted.
	StatusVolumeDetachRequest = GroupName + "/volume-detach-request"
	// StatusCleanUp on an AzVolumeAttachment names who detached it for
	// clean-up, so that no replica is made in its place.
	StatusCleanUp = GroupName + "/clean-up"
	// StatusRecovery holds a UUID per recovery run; it is there only to cause
	// an update.
	StatusRecovery = GroupName + "/recovery"
	// StatusVolumeAttachment on an AzVolumeAttachment is the name of the
	// VolumeAttachment, once known; a demotion removes it.
	StatusVolumeAttachment = GroupName + "/volumeattachment"
	// StatusInlineVolume on an AzVolume marks an in-line volume.
	StatusInlineVolume = GroupName + "/inline-volume"
	// StatusReplicaAttachRetry on an AzVolumeAttachment is "true" if a failed
	// attach of a replica may be tried again.
	StatusReplicaAttachRetry = GroupName + "/replica-volume-attach-retry"
	// StatusReplicaAttachRetryCount on an AzVolumeAttachment is the number of
	// tries so far, as text.
	StatusReplicaAttachRetryCount = GroupName + "/replica-volume-attach-retry-count"
)

// CloudDeleteVolume is the value of StatusVolumeDeleteRequest.
const CloudDeleteVolume = "cloud-delete-volume"

// Names of requesters: values of AnnotationVolumeAttachRequest,
// StatusVolumeDetachRequest and StatusCleanUp. Two are misspelt on the wire and
// must stay so.
const (
	RequesterProvisioner       = "crdProvisioner"
	RequesterController        = "controller"
	RequesterRecovery          = "CRI recovery"
	RequesterNodeController    = "node-controller"
	RequesterVolumeController  = "azvolume-controller"
	RequesterPVController      = "pv-controller"
	RequesterReplicaController = "replica-controller"
	RequesterPodController     = "pod-controller"
	RequesterDetachOperation   = "detach-opeation"
	RequesterAttachOperation   = "attach-opeation"
)

// PublishContextLUN is the only key of the publish context: a number as text,
// or a device path.
const PublishContextLUN = "LUN"
