package source

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates"
)

// ConfigMap is one named ConfigMap as a source: each key of data is a file. It
// needs list and watch on that name only. Binary data isn't read.
type ConfigMap struct {
	client          kubernetes.Interface
	namespace, name string
	onError         func(ctx context.Context, err error)
}

// Option changes how a ConfigMap source works.
type Option func(*ConfigMap)

// WithErrorHandler is told each time the ConfigMap can't be listed or watched, for
// example because that is forbidden. The source tries again by itself, with
// backoff; what it has delivered stays as it is. By default errors are logged.
func WithErrorHandler(handle func(ctx context.Context, err error)) Option {
	return func(c *ConfigMap) { c.onError = handle }
}

// NewConfigMap returns the source of a ConfigMap, which need not exist.
func NewConfigMap(client kubernetes.Interface, namespace, name string, opts ...Option) *ConfigMap {
	c := &ConfigMap{client: client, namespace: namespace, name: name}
	c.onError = func(ctx context.Context, err error) {
		klog.FromContext(ctx).Error(err, "The ConfigMap of predicates can't be watched, trying again", "configMap", klog.KRef(namespace, name))
	}
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// Name returns the name of the sources that Run delivers: "configmap NAMESPACE/NAME".
func (c *ConfigMap) Name() string { return "configmap " + c.namespace + "/" + c.name }

// Run watches the ConfigMap until ctx ends, and then returns nil. It delivers the
// content once it is known, and again after each change of it, from one goroutine:
// several changes during a delivery are delivered as one, and changes of metadata
// aren't. A ConfigMap that doesn't exist, or no longer, is a source without files.
// While the server can't be reached nothing is delivered.
func (c *ConfigMap) Run(ctx context.Context, deliver func(predicates.Source)) error {
	informer := coreinformers.NewFilteredConfigMapInformer(c.client, c.namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, c.name).String()
		})
	if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		c.onError(ctx, err)
	}); err != nil {
		return fmt.Errorf("watch %s: %w", c.Name(), err)
	}
	// What changed is looked up in the store, so one pending signal is enough.
	changed := make(chan struct{}, 1)
	signal := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal() },
		UpdateFunc: func(any, any) { signal() },
		DeleteFunc: func(any) { signal() },
	}); err != nil {
		return fmt.Errorf("watch %s: %w", c.Name(), err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	defer func() {
		cancel()
		<-stopped
	}()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	var last map[string]string
	for first := true; ; first = false {
		data, err := c.data(informer)
		if err != nil {
			return err
		}
		if first || !maps.Equal(data, last) {
			last = data
			deliver(predicates.Source{Name: c.Name(), Files: files(data)})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// data returns the ConfigMap's data as the informer has it, nil if there is none.
func (c *ConfigMap) data(informer cache.SharedIndexInformer) (map[string]string, error) {
	key := cache.NewObjectName(c.namespace, c.name).String()
	object, exists, err := informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return nil, err
	}
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("watch %s: the informer holds a %T", c.Name(), object)
	}
	return configMap.Data, nil
}

// files returns the keys as files, sorted by name.
func files(data map[string]string) []predicates.File {
	var list []predicates.File
	for _, key := range slices.Sorted(maps.Keys(data)) {
		list = append(list, predicates.File{Name: key, Data: []byte(data[key])})
	}
	return list
}
