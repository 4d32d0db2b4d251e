// Package named watches one ConfigMap by its name, so that no more rights are needed
// than on that name.
//
//	informer, err := named.ConfigMap(client, "azure-disk-csi", "donewhen-predicates", named.Handlers{Changed: wake})
//	defer named.Start(ctx, informer)()
package named

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Handlers are told what an informer sees. None of them may block; nil ones aren't
// told.
type Handlers struct {
	// Changed: the object has come, changed or gone; it is in the informer's store.
	Changed func()
	// Failed: it can't be listed or watched. That is tried again.
	Failed func(ctx context.Context, err error)
	// Answered: the server has answered a list, or begun a watch.
	Answered func()
}

// ConfigMap returns an informer of the ConfigMap, which need not exist. It runs until
// its context ends.
func ConfigMap(client kubernetes.Interface, namespace, name string, handlers Handlers) (cache.SharedIndexInformer, error) {
	only := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
	answered := func(err error) {
		if err == nil && handlers.Answered != nil {
			handlers.Answered()
		}
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			only(&o)
			list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, o)
			answered(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			only(&o)
			events, err := client.CoreV1().ConfigMaps(namespace).Watch(ctx, o)
			answered(err)
			return events, err
		},
	}, client), &corev1.ConfigMap{}, 0, cache.Indexers{})
	failed := func(ctx context.Context, _ *cache.Reflector, err error) {
		if handlers.Failed != nil {
			handlers.Failed(ctx, err)
		}
	}
	if err := informer.SetWatchErrorHandlerWithContext(failed); err != nil {
		return nil, fmt.Errorf("watch ConfigMap %s/%s: %w", namespace, name, err)
	}
	changed := func() {
		if handlers.Changed != nil {
			handlers.Changed()
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	}); err != nil {
		return nil, fmt.Errorf("watch ConfigMap %s/%s: %w", namespace, name, err)
	}
	return informer, nil
}

// Start runs the informer until ctx ends or stop is called, which returns once the
// informer has stopped.
func Start(ctx context.Context, informer cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	return func() {
		cancel()
		<-stopped
	}
}

// Get returns the ConfigMap as the informer has it, nil if it has none.
func Get(informer cache.SharedIndexInformer, namespace, name string) (*corev1.ConfigMap, error) {
	object, exists, err := informer.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !exists {
		return nil, err
	}
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("watch ConfigMap %s/%s: the informer holds a %T", namespace, name, object)
	}
	return configMap, nil
}
