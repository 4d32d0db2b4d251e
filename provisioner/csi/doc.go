// Package csi serves a Provisioner over gRPC as a CSI driver: the Identity,
// Controller and Node services of CSI 1.12.
//
// Requests are validated here, before anything is read or written; errors leave
// with the provisioner's code and at most 1 KiB of text. Secrets in a request are
// neither stored nor forwarded.
//
//	server, err := csi.NewServer(csi.Config{
//		Provisioner: p,
//		Name:        v1beta2.DriverName,
//		Version:     "0.1.0",
//		NodeID:      "node-1",
//		Mounter:     csi.NewDirectoryMounter(),
//		Ready:       func() bool { return true },
//		Logger:      logger,
//	})
//	if err != nil { … }
//	listener, err := csi.Listen(ctx, "unix:///run/csi/csi.sock")
//	if err != nil { … }
//	err = server.Serve(ctx, listener) // until the context ends
package csi
