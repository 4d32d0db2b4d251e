package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/predicates"
)

// ConfigMap is one named ConfigMap as a source: each key of data is a file of
// documents, each key of binaryData a binary one. It needs list and watch on that
// name only.
type ConfigMap struct {
	options
	client          kubernetes.Interface
	namespace, name string
	seen            atomic.Pointer[corev1.ObjectReference]
}

// NewConfigMap returns the source of a ConfigMap, which need not exist.
func NewConfigMap(client kubernetes.Interface, namespace, name string, opts ...Option) *ConfigMap {
	c := &ConfigMap{client: client, namespace: namespace, name: name}
	c.options = newOptions(c.Name(), opts)
	return c
}

// Name returns the name of the sources that Run delivers: "configmap NAMESPACE/NAME".
func (c *ConfigMap) Name() string { return "configmap " + c.namespace + "/" + c.name }

// Reference returns the ConfigMap as it was delivered last; nil if there was none.
// Safe for concurrent use.
func (c *ConfigMap) Reference() *corev1.ObjectReference { return c.seen.Load() }

// Run watches the ConfigMap until ctx ends, and then returns nil. It delivers the
// content once it is known, and again after each change of it, from one goroutine:
// a burst of changes, and those during a delivery, are delivered as one, and
// changes of metadata aren't. A ConfigMap that doesn't exist, or no longer, is a
// source without files. While the server can't be reached nothing is delivered.
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
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal(changed) },
		UpdateFunc: func(any, any) { signal(changed) },
		DeleteFunc: func(any) { signal(changed) },
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
	var last *corev1.ConfigMap
	for first := true; ; first = false {
		now, err := c.configMap(informer)
		if err != nil {
			return err
		}
		if first || !sameContent(now, last) {
			last = now
			c.see(now)
			deliver(predicates.Source{Name: c.Name(), Files: files(now)})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if !c.settle(ctx, changed) {
			return nil
		}
	}
}

// configMap returns the ConfigMap as the informer has it, an empty one if there is
// none.
func (c *ConfigMap) configMap(informer cache.SharedIndexInformer) (*corev1.ConfigMap, error) {
	key := cache.NewObjectName(c.namespace, c.name).String()
	object, exists, err := informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return &corev1.ConfigMap{}, err
	}
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("watch %s: the informer holds a %T", c.Name(), object)
	}
	return configMap, nil
}

// see notes which object is being delivered.
func (c *ConfigMap) see(configMap *corev1.ConfigMap) {
	if configMap.Name == "" {
		c.seen.Store(nil)
		return
	}
	c.seen.Store(&corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: configMap.Namespace, Name: configMap.Name,
		UID: configMap.UID, ResourceVersion: configMap.ResourceVersion,
	})
}

func sameContent(a, b *corev1.ConfigMap) bool {
	return maps.Equal(a.Data, b.Data) && maps.EqualFunc(a.BinaryData, b.BinaryData, slices.Equal)
}

// files returns the keys as files, sorted by name; a key can't be in both.
func files(configMap *corev1.ConfigMap) []predicates.File {
	var list []predicates.File
	for _, key := range slices.Sorted(maps.Keys(configMap.Data)) {
		list = append(list, predicates.File{Name: key, Data: []byte(configMap.Data[key])})
	}
	for _, key := range slices.Sorted(maps.Keys(configMap.BinaryData)) {
		list = append(list, predicates.File{Name: key, Data: configMap.BinaryData[key], Binary: true})
	}
	return list
}

// Key returns the ConfigMap's namespace and name.
func (c *ConfigMap) Key() (namespace, name string) { return c.namespace, c.name }
