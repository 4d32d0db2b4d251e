package source

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/internal/named"
)

// ConfigMap is one named ConfigMap as a source: each key of data is a file of
// documents, each key of binaryData a binary one. It needs list and watch on that
// name only.
type ConfigMap struct {
	options
	client          kubernetes.Interface
	namespace, name string
	seen            atomic.Pointer[corev1.ObjectReference]
	replaced        chan struct{}
}

// NewConfigMap returns the source of a ConfigMap, which need not exist.
func NewConfigMap(client kubernetes.Interface, namespace, name string, opts ...Option) *ConfigMap {
	c := &ConfigMap{client: client, namespace: namespace, name: name, replaced: make(chan struct{}, 1)}
	c.options = newOptions(c.Name(), opts)
	return c
}

// Name returns the name of the sources that Run delivers: "configmap NAMESPACE/NAME".
func (c *ConfigMap) Name() string { return "configmap " + c.namespace + "/" + c.name }

// Reference returns the ConfigMap as it was delivered last; nil if there was none.
// Safe for concurrent use.
func (c *ConfigMap) Reference() *corev1.ObjectReference { return c.seen.Load() }

// Replaced tells that Reference is of another object than before, or of one where there
// was none, or of none; the capacity is 1. What the object holds has been delivered
// by then.
func (c *ConfigMap) Replaced() <-chan struct{} { return c.replaced }

// Run watches the ConfigMap until ctx ends, and then returns nil. It delivers the
// content once it is known, and again after each change of it, from one goroutine:
// a burst of changes, and those during a delivery, are delivered as one, and
// changes of metadata aren't. A ConfigMap that doesn't exist, or no longer, is a
// source without files. While the server can't be reached nothing is delivered.
func (c *ConfigMap) Run(ctx context.Context, deliver func(predicates.Source)) error {
	// What changed is looked up in the store, so one pending signal is enough.
	changed := make(chan struct{}, 1)
	informer, err := named.ConfigMap(c.client, c.namespace, c.name, named.Handlers{
		Changed: func() { signal(changed) }, Failed: c.onError, Answered: c.onAnswer,
	})
	if err != nil {
		return err
	}
	defer named.Start(ctx, informer)()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil
	}
	last := &corev1.ConfigMap{}
	for first := true; ; first = false {
		now, err := named.Get(informer, c.namespace, c.name)
		if err != nil {
			return err
		}
		if now == nil {
			now = &corev1.ConfigMap{}
		}
		replaced, same := now.UID != last.UID || now.Name != last.Name, sameContent(now, last)
		if first || replaced || !same {
			last = now
			c.see(now)
		}
		if first || !same {
			deliver(predicates.Source{Name: c.Name(), Files: files(now)})
		}
		if replaced {
			signal(c.replaced)
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
