// Package controlplane builds, starts and stops a real Kubernetes API server (etcd and kube-apiserver in one process, on
// loopback only) for tests, benchmarks and the demo. The server's program is the module test/controlplane of this
// repository; it is built once and cached outside the tree.
//
//	binary, err := controlplane.Build(ctx, controlplane.BuildOptions{Progress: os.Stderr})
//	if err != nil { … } // errors.Is(err, controlplane.ErrNotInClone): no source to build it from
//	server, err := controlplane.Start(ctx, controlplane.Options{Binary: binary})
//	if err != nil { … }
//	defer server.Close()
//	err = server.InstallCRDs(ctx, crdYAML)
//	client, err := dynamic.NewForConfig(server.Config())
//
// No controllers run beside the API server: namespaces are never finalised, owners' objects are not collected, nothing
// binds volumes or marks nodes. Tests that need a server normally share one, see package clustertest.
package controlplane
