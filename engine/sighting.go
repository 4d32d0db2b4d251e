package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// via says how a sighting was come by.
type via int8

const (
	viaEvent     via = iota // delivered to the handler
	viaStore                // looked up in the store
	viaTombstone            // looked up in the store because a tombstone was delivered
)

// sighting is what the informer showed of one object at one moment, before any
// waiter's barrier has been applied: an Observation follows per waiter.
type sighting struct {
	object   metav1.Object // nil: absent
	uid      types.UID     // of the object, or of the one that is gone where known
	version  string
	at       time.Time // when it reached the engine
	via      via
	seq      uint32 // its place among what was delivered of the object
	replaced bool   // absent because an object of another UID was delivered in its place
}

func (s *sighting) present() bool { return s.object != nil }

// fromStore reports whether the sighting is the store's own state, which is
// never older than what the handler was told before.
func (s *sighting) fromStore() bool { return s.via != viaEvent }

// mergesInto reports whether s, delivered after old and before old was judged,
// may take its place: only an update of the same object does. A deletion or a
// change of UID is never merged away.
func (s sighting) mergesInto(old sighting) bool {
	return s.via == viaEvent && old.via == viaEvent && s.uid == old.uid && s.present() == old.present()
}

// lookAt reads one object from the store: first the version S that the store has
// reached, then the key. An absence is one at S; read the other way round, a
// change between the two would make an object vanish that has just appeared.
func lookAt(store Store, key string) (sighting, error) {
	version := store.LastStoreSyncResourceVersion()
	item, found, err := store.GetByKey(key)
	if err != nil {
		return sighting{}, err
	}
	if object, ok := metaOf(item); found && ok {
		return sighting{object: object, uid: object.GetUID(), version: object.GetResourceVersion(), via: viaStore}, nil
	}
	return sighting{version: version, via: viaStore}, nil
}
