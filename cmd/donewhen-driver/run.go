package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/enginemetrics"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/informers"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/csi"
)

const (
	version     = "0.1.0"
	syncTimeout = time.Minute
)

// run serves until the context ends. An error at the start leaves nothing behind.
func run(ctx context.Context, opts options) error {
	err := start(ctx, opts)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

func start(ctx context.Context, opts options) (err error) {
	logger := klog.FromContext(ctx)
	metrics := newMetrics()
	cluster, err := openCluster(opts, metrics.countAPI)
	if err != nil {
		return err
	}
	defer cluster.close()
	if err := checkCRDs(ctx, cluster.served); err != nil {
		return err
	}

	// Everything below ends with serving: a failure of one part ends the others.
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		err = errors.Join(err, group.Wait())
	}()

	config, err := newConfig(ctx, cluster.core, opts, metrics, logger)
	if err != nil {
		return err
	}
	observer := enginemetrics.New()
	metrics.registry.MustRegister(observer)
	eng := engine.New(config.set(), engine.WithLogger(logger), engine.WithObserver(observer))
	config.swap = func(set engine.Set) { eng.Swap(set) }
	group.Go(func() error { return config.run(ctx) })

	// Through the engine, so that it hears of refused connections too.
	client, err := cluster.disks(eng.WrapTransport)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(opts.namespace), informers.WithTransform(dropManagedFields))
	disks := factory.AzureDisk().V1beta2()
	provisionerConfig := provisioner.Config{
		Client:      client,
		Namespace:   opts.namespace,
		Volumes:     disks.AzVolumes().Lister(),
		Attachments: disks.AzVolumeAttachments().Lister(),
		Nodes:       disks.AzDriverNodes().Lister(),
		Engine:      eng,
		Clock:       clock.RealClock{},
		Logger:      logger,
		Observer:    metrics,
	}
	err = errors.Join(
		eng.Watch(v1beta2.AzVolumes(), disks.AzVolumes().Informer(), engine.InNamespace(opts.namespace)),
		eng.Watch(v1beta2.AzVolumeAttachments(), disks.AzVolumeAttachments().Informer(), engine.InNamespace(opts.namespace)),
	)
	if err != nil {
		return err
	}
	if err := eng.Start(ctx); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	defer stop()
	if err := synced(ctx, eng, config, disks.AzDriverNodes().Informer().HasSynced); err != nil {
		return err
	}

	p, err := provisioner.New(provisionerConfig)
	if err != nil {
		return err
	}
	defer p.Close()
	return serve(ctx, opts, p, provisionerConfig, metrics, newWaits(eng, config.inForce, clock.RealClock{}), group)
}

// synced waits until the caches are full and the ConfigMap has been looked at.
func synced(ctx context.Context, eng *engine.Engine, config *config, nodes cache.InformerSynced) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if err := eng.WaitForSync(ctx); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), nodes) {
		return fmt.Errorf("waiting for the informer of %s to sync: %w: may it list and watch?", v1beta2.AzDriverNodes().GroupResource(), ctx.Err())
	}
	return config.looked(ctx)
}

// serve answers CSI calls and HTTP requests until the context ends.
func serve(ctx context.Context, opts options, p *provisioner.Provisioner, parts provisioner.Config, metrics *metrics, waits http.Handler, group *errgroup.Group) error {
	logger := klog.FromContext(ctx)
	var ready atomic.Bool
	server, err := csi.NewServer(csi.Config{
		Provisioner: p,
		Name:        v1beta2.DriverName,
		Version:     version,
		NodeID:      opts.nodeID,
		Zone:        opts.nodeZone,
		Mounter:     csi.NewDirectoryMounter(),
		Ready:       ready.Load,
		Logger:      logger,
		Observer:    metrics.callEnded,
	})
	if err != nil {
		return err
	}
	listener, err := csi.Listen(ctx, opts.endpoint)
	if err != nil {
		return err
	}
	defer listener.Close() // Serve has closed it, unless it never began
	if opts.metricsAddress != "" {
		status, err := listenStatus(ctx, opts.metricsAddress, opts.metricsAddressFile, metrics.registry, waits, ready.Load)
		if err != nil {
			return err
		}
		group.Go(status.serve)
		defer func() { _ = status.close() }() // the process is ending
		logger.Info("Serving metrics", "address", status.listener.Addr().String())
	}
	heartbeat := provisioner.NewHeartbeat(parts.Client.AzureDiskV1beta2().AzDriverNodes(opts.namespace), opts.namespace, opts.nodeID, parts.Clock)
	if err := heartbeat.Beat(ctx); err != nil {
		return err
	}
	group.Go(func() error {
		heartbeat.Run(ctx)
		return nil
	})
	logger.Info("Serving CSI", "endpoint", opts.endpoint, "node", opts.nodeID, "namespace", opts.namespace)
	ready.Store(true)
	defer ready.Store(false)
	return server.Serve(ctx, listener)
}

// dropManagedFields is a transform for informers: nobody here reads
// managedFields, which are most of a small object's bytes.
func dropManagedFields(object any) (any, error) {
	if accessor, ok := object.(interface {
		SetManagedFields(managedFields []metav1.ManagedFieldsEntry)
	}); ok {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
