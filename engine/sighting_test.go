package engine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// shiftingStore changes between the two reads of a look, whichever comes first.
type shiftingStore struct {
	version string
	object  *corev1.Pod
	change  func(*shiftingStore)
}

func (s *shiftingStore) read() {
	if f := s.change; f != nil {
		s.change = nil
		f(s)
	}
}

func (s *shiftingStore) LastStoreSyncResourceVersion() string {
	defer s.read()
	return s.version
}

func (s *shiftingStore) GetByKey(string) (any, bool, error) {
	defer s.read()
	if s.object == nil {
		return nil, false, nil
	}
	return s.object, true, nil
}

// lookSwapped is the planted fault: key first, then version.
func lookSwapped(store Store, key string) (sighting, error) {
	item, found, err := store.GetByKey(key)
	version := store.LastStoreSyncResourceVersion()
	if object, ok := metaOf(item); found && ok {
		return sighting{object: object, uid: object.GetUID(), version: object.GetResourceVersion(), via: viaStore}, err
	}
	return sighting{version: version, via: viaStore}, err
}

func TestB1_TheVersionIsReadBeforeTheKey(t *testing.T) {
	written := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "u1", ResourceVersion: "20"}}
	judgedGone := func(look func(Store, string) (sighting, error)) bool {
		store := &shiftingStore{version: "19", change: func(s *shiftingStore) { s.version, s.object = "20", written }}
		var b barrier
		b.after("20", "u1")
		s, err := look(store, "a/x")
		if err != nil {
			t.Fatal(err)
		}
		presence, admission := admit(&b, s)
		return admission == admitted && presence == Deleted
	}
	if judgedGone(lookAt) {
		t.Error("an object that appeared between the two reads was judged gone")
	}
	if !judgedGone(lookSwapped) {
		t.Error("the test doesn't catch the planted swap")
	}
}

func TestBarrier_Admit(t *testing.T) {
	present := func(uid types.UID, version string, via via) sighting {
		return sighting{object: &corev1.Pod{}, uid: uid, version: version, via: via}
	}
	absent := func(uid types.UID, version string, via via) sighting {
		return sighting{uid: uid, version: version, via: via}
	}
	after := func(version string, uid types.UID) barrier {
		var b barrier
		b.after(version, uid)
		return b
	}
	reached := func(b barrier) barrier { b.reached = true; return b }
	pinned := barrier{pin: "u1", known: true}
	looking := barrier{looking: true, counting: true}
	known := barrier{pin: "u1", known: true, looking: true, counting: true, floor: levelOf("20"), reached: true}
	for _, test := range []struct {
		name      string
		barrier   barrier
		seen      sighting
		presence  Presence
		admission admission
	}{
		{"no barrier, present", barrier{}, present("u0", "1", viaEvent), Present, admitted},
		{"no barrier, absent", barrier{}, absent("", "1", viaStore), NeverExisted, admitted},
		{"no barrier, deleted", barrier{}, absent("u0", "1", viaEvent), NeverExisted, admitted},
		{"Wait looks, absent, never known", looking, absent("", "1", viaStore), NeverExisted, admitted},
		{"reference's UID, not waiting, absent", pinned, absent("", "1", viaStore), NeverExisted, admitted},
		{"reference's UID, not waiting, other", pinned, present("u2", "1", viaStore), 0, dropped},
		{"after, at the floor", after("20", "u1"), present("u1", "20", viaEvent), Present, admitted},
		{"after, below", after("20", "u1"), present("u1", "19", viaStore), 0, dropped},
		{"after, digits count", after("100", "u1"), present("u1", "99", viaStore), 0, dropped},
		{"after, absent at", after("20", "u1"), absent("", "20", viaStore), Deleted, admitted},
		{"after, absent below", after("20", "u1"), absent("", "19", viaStore), 0, unseen},
		{"after, tombstone below", after("20", "u1"), absent("u1", "19", viaTombstone), 0, unseen},
		{"after, deleted", after("20", "u1"), absent("u1", "21", viaEvent), Deleted, admitted},
		{"after, deleted below", after("20", "u1"), absent("u0", "19", viaEvent), 0, lookup},
		{"after, another deleted above", after("20", "u1"), absent("u0", "21", viaEvent), 0, lookup},
		{"after, other below", after("20", "u1"), present("u0", "19", viaStore), 0, dropped},
		{"after, other at", after("20", "u1"), present("u0", "20", viaStore), 0, dropped},
		{"after, other above", after("20", "u1"), present("u2", "21", viaStore), Replaced, admitted},
		{"known, absent", known, absent("", "20", viaStore), Deleted, admitted},
		{"known, tombstone of another, absent", known, absent("u0", "20", viaTombstone), Deleted, admitted},
		{"known, replaced in one update", known, sighting{uid: "u1", version: "21", replaced: true}, Replaced, admitted},
		{"unordered floor, store", after("", "u1"), present("u1", "", viaStore), 0, unseen},
		{"unordered floor, event", after("", "u1"), present("u1", "", viaEvent), Present, admitted},
		{"unordered floor, other's event", after("", "u1"), present("u0", "", viaEvent), 0, dropped},
		{"unordered floor, other in the store", after("", "u1"), present("u0", "", viaStore), 0, unseen},
		{"unordered floor, our own version", after("abc", "u1"), present("u1", "abc", viaStore), Present, admitted},
		{"unordered floor reached, store", reached(after("", "u1")), present("u1", "", viaStore), Present, admitted},
		{"unordered store, absent", after("20", "u1"), absent("", "", viaStore), 0, unseen},
		{"unordered store, absent, reached", reached(after("20", "u1")), absent("", "", viaStore), Deleted, admitted},
		{"unordered store, our tombstone", after("20", "u1"), absent("u1", "", viaTombstone), Deleted, admitted},
		{"unordered store, another's tombstone", after("20", "u1"), absent("u0", "", viaTombstone), 0, unseen},
		{"zero is no version", after("0", "u1"), absent("", "0", viaStore), 0, unseen},
	} {
		presence, admission := admit(&test.barrier, test.seen)
		if presence != test.presence || admission != test.admission {
			t.Errorf("%s: %v, %v; want %v, %v", test.name, presence, admission, test.presence, test.admission)
		}
	}
}

func admit(b *barrier, s sighting) (Presence, admission) {
	version := rank(s.version)
	return b.admit(&s, b.order(&version))
}
