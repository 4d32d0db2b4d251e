package controllerruntime

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/donewhen/donewhen/engine"
)

// Watch gives the engine the manager's informers of the objects' kinds, before
// either is started. A kind whose cache is kept by namespace (Namespaces of its
// options) has several informers behind one: Watch says so, and such a kind needs a
// cache per namespace, each given to Engine.Watch with InNamespace.
func Watch(ctx context.Context, eng *engine.Engine, mgr manager.Manager, objects ...client.Object) error {
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, mgr.GetScheme())
		if err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
		mapping, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("watching %s: %w", kind, err)
		}
		informer, err := mgr.GetCache().GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watching %s: %w", kind, err)
		}
		if err := eng.Watch(mapping.Resource, informer); err != nil {
			return err
		}
	}
	return nil
}
