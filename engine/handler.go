package engine

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// handler is what an informer calls. It looks the object up and hands over; it
// never judges and never waits.
type handler struct{ source *source }

var _ cache.ResourceEventHandler = handler{}

// OnAdd hands over an object.
func (h handler) OnAdd(obj any, _ bool) {
	if !h.source.idle() {
		h.source.deliver(nil, obj)
	}
}

// OnUpdate hands over an object; another UID means that the old one is gone.
func (h handler) OnUpdate(old, obj any) {
	if !h.source.idle() {
		h.source.deliver(old, obj)
	}
}

// OnDelete hands over an absence, or has the store looked at for a tombstone.
func (h handler) OnDelete(obj any) {
	if h.source.idle() {
		return
	}
	switch t := obj.(type) {
	case cache.DeletedFinalStateUnknown:
		h.source.deliverTombstone(t)
	case *cache.DeletedFinalStateUnknown:
		if t != nil {
			h.source.deliverTombstone(*t)
		}
	default:
		h.source.deliverDelete(obj)
	}
}

// idle reports whether nobody waits on any object of the resource.
func (s *source) idle() bool { return s.waiting.Load() == 0 }

// find returns the object's waiters, if there are any.
func (s *source) find(obj any) (*object, metav1.Object) {
	m, key, ok := keyOf(obj)
	if !ok {
		if s.ignored.Add(1) == 1 {
			s.engine.logger.Info("Warning: ignored what an informer delivered: it is no API object", "resource", s.gvr.GroupResource().String(), "type", fmt.Sprintf("%T", obj))
		}
		if s.engine.observer != nil {
			s.engine.observer.Ignored(s.gvr)
		}
		return nil, nil
	}
	return s.lookup(key), m
}

func (s *source) deliver(old, obj any) {
	if o, m := s.find(obj); o != nil {
		s.learnKind(m)
		now := s.engine.clock.Now()
		seen := sighting{object: m, uid: m.GetUID(), version: m.GetResourceVersion(), at: now}
		if gone := uidOf(old); gone != "" && gone != seen.uid {
			o.deliver(sighting{uid: gone, version: seen.version, at: now, replaced: true}, seen)
		} else {
			o.deliver(seen)
		}
	}
	s.wakeUnseen()
}

func (s *source) deliverDelete(obj any) {
	if o, m := s.find(obj); o != nil {
		o.deliver(sighting{uid: m.GetUID(), version: m.GetResourceVersion(), at: s.engine.clock.Now()})
	}
	s.wakeUnseen()
}

// deliverTombstone uses the tombstone's key and, where there is one, its UID. Its
// version is an old one.
func (s *source) deliverTombstone(t cache.DeletedFinalStateUnknown) {
	namespace, name, err := cache.SplitMetaNamespaceKey(t.Key)
	m, ok := metaOf(t.Obj)
	if ok && (err != nil || name == "") {
		namespace, name = m.GetNamespace(), m.GetName()
	}
	if o := s.lookup(types.NamespacedName{Namespace: namespace, Name: name}); o != nil {
		seen := sighting{via: viaTombstone, at: s.engine.clock.Now()}
		if ok && m.GetNamespace() == namespace && m.GetName() == name {
			seen.uid = m.GetUID()
		}
		o.deliver(seen)
	}
	s.wakeUnseen()
}

// wakeUnseen has those looked at again who wait for the cache to catch up.
func (s *source) wakeUnseen() {
	if s.unseenCount.Load() > 0 {
		s.sweep()
	}
}

// uidOf returns the UID of the old object of an update, empty if there is none.
func uidOf(old any) types.UID {
	if m, ok := old.(metav1.Object); ok && !isNil(m) {
		return m.GetUID()
	}
	return ""
}
