// Command donewhen-driver is a CSI driver that works through AzVolume and
// AzVolumeAttachment custom resources. It serves CSI on a unix socket; when a
// call is done is decided by named predicates, which a ConfigMap may override
// while the driver runs.
//
//	donewhen-driver --endpoint unix:///run/csi/csi.sock --kubeconfig ~/.kube/config --node-id node-1
//
// SIGTERM and SIGINT end it: calls that wait are answered with Unavailable, and
// the socket goes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand(os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "donewhen-driver:", oneLine(err))
		os.Exit(1)
	}
}
