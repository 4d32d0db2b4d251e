// Package v1beta2 has the Go types of the Azure Disk V2 custom resources:
// AzVolume (one per disk), AzVolumeAttachment (one per disk and node) and
// AzDriverNode (one per node plugin).
//
// The JSON names, required fields and printer columns are those of the CRDs
// that the Azure side of the driver already uses, so both sides can read each
// other's objects. The CRDs know no enums: a state or role that has no constant
// here is legal on the wire and must be expected.
//
//	volume := &v1beta2.AzVolume{
//		ObjectMeta: metav1.ObjectMeta{
//			Namespace:  v1beta2.DefaultNamespace,
//			Name:       "data-0",
//			Finalizers: []string{v1beta2.VolumeFinalizer},
//		},
//		Spec: v1beta2.AzVolumeSpec{
//			VolumeName:       "data-0",
//			VolumeCapability: []v1beta2.VolumeCapability{{AccessType: v1beta2.AccessTypeMount, AccessMode: 1}},
//		},
//	}
//	created, err := clientset.AzureDiskV1beta2().AzVolumes(volume.Namespace).Create(ctx, volume, metav1.CreateOptions{})
//
// Values of these types are plain data: safe to read concurrently, not to
// write. Objects from an informer are shared; take a DeepCopy before a change.
//
// +k8s:deepcopy-gen=package
// +groupName=disk.csi.azure.com
// +groupGoName=AzureDisk
package v1beta2
