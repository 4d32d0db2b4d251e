package engine

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// index finds objects by their key, which an event does once. The key's hash leads
// to one of many small tables and to a place in it: mostly one cache line, and a
// table that grows holds nobody up for long. A table without objects has no slots.
// Whoever has it guards it.
type index struct {
	seed   maphash.Seed
	tables *[tableCount]table // nil: there were no objects yet
	count  int
}

const (
	tableBits  = 8 // of the hash, the highest
	tableCount = 1 << tableBits
	leastSlots = 4
)

// table holds objects at the lowest bits of their hash, or at the next free slot
// after that. The number of slots is a power of two, and half of them are free: mostly there
// is no object of a key, and a free slot says so.
type table struct {
	slots []slot
	count int32
}

type slot struct {
	hash   uint64
	object *object // nil: free
}

func newIndex() index { return index{seed: maphash.MakeSeed()} }

func (x *index) hash(key types.NamespacedName) uint64 {
	// Namespace and name are mixed, not joined, so a/b and b/a differ.
	return maphash.String(x.seed, key.Namespace)*0x9e3779b97f4a7c15 ^ maphash.String(x.seed, key.Name)
}

// get returns the object of that key and hash, nil if there is none.
func (x *index) get(hash uint64, key types.NamespacedName) *object {
	if x.tables == nil {
		return nil
	}
	slots := x.tables[hash>>(64-tableBits)].slots
	if len(slots) == 0 {
		return nil
	}
	last := uint64(len(slots) - 1)
	for at := hash & last; ; at = (at + 1) & last {
		s := &slots[at]
		switch {
		case s.object == nil:
			return nil
		case s.hash == hash && s.object.key == key:
			return s.object
		}
	}
}

// put adds an object whose key, of that hash, isn't there.
func (x *index) put(hash uint64, o *object) {
	if x.tables == nil {
		x.tables = new([tableCount]table)
	}
	t := &x.tables[hash>>(64-tableBits)]
	if 2*int(t.count+1) > len(t.slots) {
		t.grow()
	}
	t.put(slot{hash, o})
	t.count++
	x.count++
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(leastSlots, 2*len(old)))
	for _, s := range old {
		if s.object != nil {
			t.put(s)
		}
	}
}

// put puts it into the first free slot.
func (t *table) put(s slot) {
	last := uint64(len(t.slots) - 1)
	at := s.hash & last
	for t.slots[at].object != nil {
		at = (at + 1) & last
	}
	t.slots[at] = s
}

// drop takes the object out; false if it isn't there.
func (x *index) drop(o *object) bool {
	if x.tables == nil {
		return false
	}
	hash := x.hash(o.key)
	t := &x.tables[hash>>(64-tableBits)]
	if !t.drop(hash, o) {
		return false
	}
	if t.count--; t.count == 0 {
		t.slots = nil
	}
	x.count--
	return true
}

func (t *table) drop(hash uint64, o *object) bool {
	if len(t.slots) == 0 {
		return false
	}
	last := uint64(len(t.slots) - 1)
	at := hash & last
	for t.slots[at].object != o {
		if t.slots[at].object == nil {
			return false
		}
		at = (at + 1) & last
	}
	// Those that follow move up, unless that would be before their place.
	for next := (at + 1) & last; t.slots[next].object != nil; next = (next + 1) & last {
		if home := t.slots[next].hash & last; (next-home)&last >= (next-at)&last {
			t.slots[at] = t.slots[next]
			at = next
		}
	}
	t.slots[at] = slot{}
	return true
}

func (x *index) len() int { return x.count }

// all returns every object.
func (x *index) all() []*object {
	objects := make([]*object, 0, x.count)
	if x.tables == nil {
		return objects
	}
	for i := range x.tables {
		for _, s := range x.tables[i].slots {
			if s.object != nil {
				objects = append(objects, s.object)
			}
		}
	}
	return objects
}
