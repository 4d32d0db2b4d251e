package engine

import (
	"reflect"
	"time"

	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
)

// Informer is what the engine uses of a shared informer. Every client-go shared
// informer satisfies it, typed or dynamic, and so do the informers of a
// controller-runtime cache.
//
// Its store is found by one of the methods GetStore() cache.Store or
// GetIndexer() cache.Indexer, or the informer is a Store itself.
type Informer interface {
	AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resyncPeriod time.Duration) (cache.ResourceEventHandlerRegistration, error)
	RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error
	// HasSynced reports whether the store has held the whole first list.
	HasSynced() bool
}

// Store is what the engine reads of an informer's store: the version that the
// store has reached, empty if it can't say, and an object by "namespace/name"
// or "name".
type Store interface {
	LastStoreSyncResourceVersion() string
	GetByKey(key string) (item any, exists bool, err error)
}

// storeOf finds the store of an informer.
func storeOf(informer Informer) (Store, bool) {
	switch i := informer.(type) {
	case interface{ GetStore() cache.Store }:
		return i.GetStore(), true
	case interface{ GetIndexer() cache.Indexer }:
		return i.GetIndexer(), true
	case Store:
		return i, true
	}
	return nil, false
}

// hasWatchErrorHandler reports whether somebody has set the informer's watch
// error handler. client-go can't be asked; setting it again would silently
// replace theirs.
func hasWatchErrorHandler(informer Informer) bool {
	v := reflect.ValueOf(informer)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	field := v.Elem().FieldByName("watchErrorHandler")
	return field.IsValid() && field.Kind() == reflect.Func && !field.IsNil()
}

// warnOfFeatures warns of settings of client-go that the engine does worse with.
func (e *Engine) warnOfFeatures() {
	if !clientfeatures.FeatureGates().Enabled(clientfeatures.AtomicFIFO) {
		e.logger.Info("Warning: client-go's AtomicFIFO feature is off, so stores can't say which version they have reached: a wait counts as past its own write at the first delivery after it",
			"hint", "unset KUBE_FEATURE_AtomicFIFO")
	}
}
