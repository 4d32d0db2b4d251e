// Package simulator plays the Azure side of the Azure Disk CSI driver: the
// controllers that turn AzVolumes and AzVolumeAttachments into disks, over a
// simulated cloud with latencies and faults. Its writes come in the order in
// which the real controllers make them, so a driver can't tell the difference.
//
//	cloud := simulator.NewCloud(simulator.CloudOptions{Seed: 1, LatencyScale: 0.05})
//	azure := simulator.New(versioned.NewForConfigOrDie(config), cloud, simulator.Options{Namespace: "azure-disk-csi"})
//	go azure.Run(ctx)
//	<-azure.Ready()
//
// It is a client like any other: it has informers and connections of its own
// and meets a driver only in the API server. Left out are what needs core
// objects (the VolumeAttachment's name between LUN and Attached, objects made
// for PersistentVolumes) and the controller that makes and collects replicas.
package simulator
