package engine

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// index finds objects by their key. It is a map by the key's hash: an entry is a
// third of one by the key itself, which the object has anyway. Keys of equal
// hashes form a chain. Whoever has it guards it.
type index struct {
	seed  maphash.Seed
	heads map[uint64]*object
	count int
}

func newIndex() index {
	return index{seed: maphash.MakeSeed(), heads: map[uint64]*object{}}
}

func (x *index) hash(key types.NamespacedName) uint64 {
	// Namespace and name are mixed, not joined, so a/b and b/a differ.
	return maphash.String(x.seed, key.Namespace)*0x9e3779b97f4a7c15 ^ maphash.String(x.seed, key.Name)
}

// get returns the object of that key and hash, nil if there is none.
func (x *index) get(hash uint64, key types.NamespacedName) *object {
	for o := x.heads[hash]; o != nil; o = o.clash {
		if o.key == key {
			return o
		}
	}
	return nil
}

// put adds an object whose key isn't there.
func (x *index) put(o *object) {
	o.clash = x.heads[o.hash]
	x.heads[o.hash] = o
	x.count++
}

// drop takes the object out; false if it isn't there.
func (x *index) drop(o *object) bool {
	head := x.heads[o.hash]
	for at := &head; *at != nil; at = &(*at).clash {
		if *at != o {
			continue
		}
		*at = o.clash
		o.clash = nil
		x.count--
		if head == nil {
			delete(x.heads, o.hash)
		} else {
			x.heads[o.hash] = head
		}
		return true
	}
	return false
}

func (x *index) len() int { return x.count }

// all returns every object.
func (x *index) all() []*object {
	objects := make([]*object, 0, x.count)
	for _, o := range x.heads {
		for ; o != nil; o = o.clash {
			objects = append(objects, o)
		}
	}
	return objects
}
