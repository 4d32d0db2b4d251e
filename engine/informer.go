package engine

import (
	"time"

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
