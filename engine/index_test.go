package engine

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// An index beside a map by the key itself, under puts and drops at random, with
// enough of them that tables grow, fill up and empty.
func TestIndex_HoldsWhatAMapHolds(t *testing.T) {
	const keys, steps = 5000, 100_000
	random := rand.New(rand.NewPCG(1, 2))
	x, want := newIndex(), map[types.NamespacedName]*object{}
	check := func(key types.NamespacedName) {
		t.Helper()
		if got := x.get(x.hash(key), key); got != want[key] {
			t.Fatalf("%s: %p, want %p", key, got, want[key])
		}
	}
	for step := range steps {
		// Waves: mostly puts, then mostly drops, down to nothing.
		key := types.NamespacedName{Namespace: strconv.Itoa(random.IntN(2)), Name: strconv.Itoa(random.IntN(keys))}
		o := want[key]
		switch filling := step/20_000%2 == 0; {
		case o == nil && filling == (random.IntN(10) > 0):
			o = &object{key: key}
			x.put(x.hash(key), o)
			want[key] = o
		case o != nil && filling == (random.IntN(10) == 0):
			if !x.drop(o) || x.drop(o) {
				t.Fatalf("%s: not dropped once", key)
			}
			delete(want, key)
		}
		check(key)
		check(types.NamespacedName{Namespace: key.Name, Name: key.Namespace})
		if x.len() != len(want) {
			t.Fatalf("%d objects, want %d", x.len(), len(want))
		}
	}
	all := x.all()
	if len(all) != len(want) {
		t.Fatalf("%d in all, want %d", len(all), len(want))
	}
	for _, o := range all {
		if want[o.key] != o || !x.drop(o) {
			t.Errorf("%s isn't there", o.key)
		}
	}
	if x.len() != 0 || len(x.all()) != 0 {
		t.Errorf("an empty index keeps %d objects", x.len())
	}
	for i := range x.tables {
		if x.tables[i].slots != nil {
			t.Error("an empty table keeps slots")
		}
	}
}

// Keys of one hash, and of hashes that want one slot, are found whatever goes.
func TestIndex_ObjectsThatWantOneSlot(t *testing.T) {
	const n = 6
	for dropped := range n {
		var x table
		all := make([]*object, n)
		hashes := []uint64{7, 7, 6, 7, 0, 6} // of eight slots: the last ones, and around to the first
		for i := range all {
			all[i] = &object{key: types.NamespacedName{Name: strconv.Itoa(i)}}
			if i%leastSlots == 0 { // eight in the end, six of them taken
				x.grow()
			}
			x.put(slot{hashes[i], all[i]})
		}
		left := index{tables: new([tableCount]table)}
		if !x.drop(hashes[dropped], all[dropped]) || x.drop(hashes[dropped], all[dropped]) {
			t.Fatalf("%d: not dropped once", dropped)
		}
		left.tables[0] = x
		for i, o := range all {
			if found := left.get(hashes[i], o.key) == o; found != (i != dropped) {
				t.Errorf("%d found %t after %d went", i, found, dropped)
			}
		}
	}
}
