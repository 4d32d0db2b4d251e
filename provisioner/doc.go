// Package provisioner turns CSI calls into custom resources and waits for the
// Azure side to act on them.
//
// Each method reads from listers, decides on one object, writes it, and waits
// through the engine with the version of that write as the barrier; which state
// ends the wait is up to the predicate that is bound to the operation. Waiting
// causes no request. A call whose context ends leaves the operation running, and
// the repeated call takes it up again.
//
//	p, err := provisioner.New(provisioner.Config{
//		Client:      clientset,
//		Namespace:   v1beta2.DefaultNamespace,
//		Volumes:     group.AzVolumes().Lister(), // of the informers that the engine watches
//		Attachments: group.AzVolumeAttachments().Lister(),
//		Nodes:       group.AzDriverNodes().Lister(),
//		Engine:      eng,
//		Clock:       clock.RealClock{},
//		Logger:      logger,
//	})
//	if err != nil { … }
//	defer p.Close()
//	volume, err := p.CreateVolume(ctx, provisioner.CreateVolumeRequest{Name: "pvc-1", …})
//	switch provisioner.Code(err) { … }
//
// Package csi serves these methods over gRPC.
package provisioner
