package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkCrowdEvent is the cpu time of an event up to its judgement among 1,000
// and among a great many pending waits, and beside it what the same events cost a
// dispatcher that does next to nothing: how much of the growth is main memory's,
// which every implementation pays. All of it in windows in turn, without garbage
// collection: what that costs for a byte doesn't depend on the size of the heap.
func BenchmarkCrowdEvent(b *testing.B) {
	const window, few = 20_000, 1000
	many := crowdSize(b)
	for _, order := range []string{"shuffled", "in turn"} {
		crowds := [2]*crowd{newCrowd(b, few, true, func() {}), newCrowd(b, many, true, func() {})}
		var bares [2]*bare
		for i, c := range crowds {
			bares[i] = newBare(c.names)
		}
		b.Run(fmt.Sprintf("judged/%s/many=%d", order, many), func(b *testing.B) {
			var engines, lookUps, wholes [2][]float64 // by window: ns per event
			version := 100
			for round := range b.N {
				runtime.GC()
				collects := debug.SetGCPercent(-1)
				for _, i := range []int{round % 2, 1 - round%2} {
					changes := newChanges(crowds[i], order == "shuffled", &version)
					engines[i] = append(engines[i], changes.cost(window, func(objects []*corev1.Pod) { crowds[i].judge(b, objects) }))
					lookUps[i] = append(lookUps[i], changes.cost(window, func(objects []*corev1.Pod) { bares[i].note(objects, false) }))
					wholes[i] = append(wholes[i], changes.cost(window, func(objects []*corev1.Pod) { bares[i].note(objects, true) }))
				}
				debug.SetGCPercent(collects)
			}
			for _, m := range []struct {
				name  string
				spent [2][]float64
			}{{"engine", engines}, {"bare", lookUps}, {"bare-whole", wholes}} {
				a, z := quiet(m.spent[0]), quiet(m.spent[1])
				b.ReportMetric(a, m.name+"-few-cpu-ns")
				b.ReportMetric(z, m.name+"-many-cpu-ns")
				b.ReportMetric(z-a, m.name+"-growth-ns")
			}
			b.ReportMetric(quiet(engines[1])/quiet(engines[0]), "ratio")
		})
		for _, c := range crowds {
			c.close()
		}
	}
}

// quiet returns the lower quartile of the windows' costs: on a machine that others
// use too, their part in it is the least that it can be.
func quiet(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/4]
}

// judge delivers the objects and has them judged.
func (c *crowd) judge(tb testing.TB, objects []*corev1.Pod) {
	for _, object := range objects {
		c.handler.OnUpdate(object, object)
	}
	must(tb, c.engine.Settle(tb.Context()))
}

// changes makes new versions of a crowd's objects: of some that are picked at
// random, or of one after the other in the order of their registration.
type changes struct {
	of       int // objects
	random   *rand.Rand
	shuffled bool
	version  *int
}

func newChanges(c *crowd, shuffled bool, version *int) *changes {
	return &changes{len(c.names), rand.New(rand.NewPCG(uint64(*version), 1)), shuffled, version}
}

// next makes one as if it had just been decoded: all of it is in the caches, and
// its texts are its own, so that making it leads to nothing of the waits.
func (c *changes) next() *corev1.Pod {
	*c.version++
	at := *c.version % c.of
	if c.shuffled {
		at = c.random.IntN(c.of)
	}
	return pod("pvc-"+strconv.Itoa(at), strings.Clone("u1"), strconv.Itoa(*c.version), "Other")
}

// cost returns the cpu time that f takes for each of n changes, in ns; 64 at a time.
func (c *changes) cost(n int, f func([]*corev1.Pod)) float64 {
	var spent time.Duration
	objects := make([]*corev1.Pod, 64)
	rounds := n / len(objects)
	for range rounds {
		for i := range objects {
			objects[i] = c.next()
		}
		start := cpuTime()
		f(objects)
		spent += cpuTime() - start
	}
	return float64(spent) / float64(rounds*len(objects))
}

// bare is the least that a dispatcher can do: it finds the object's wait by the
// key, reads of the object what the predicate reads, and notes what it has judged.
type bare struct {
	mu    sync.RWMutex
	waits map[types.NamespacedName]*bareWait
}

// bareWait is as big as a wait may be, the place in the map aside.
type bareWait struct {
	mu      sync.Mutex
	object  *corev1.Pod
	version string
	ended   bool
	rest    [37]uint64
}

func newBare(names []string) *bare {
	d := &bare{waits: map[types.NamespacedName]*bareWait{}}
	for _, name := range names {
		d.waits[types.NamespacedName{Namespace: "a", Name: name}] = &bareWait{}
	}
	return d
}

// note notes the objects, each in one cache line of its wait or in all of them.
func (d *bare) note(objects []*corev1.Pod, whole bool) {
	for _, object := range objects {
		d.mu.RLock()
		w := d.waits[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}]
		d.mu.RUnlock()
		w.mu.Lock()
		if object.Annotations["state"] == "Done" {
			w.ended = true
		}
		w.object, w.version = object, object.ResourceVersion
		for i := 0; whole && i < len(w.rest); i += 8 {
			w.rest[i]++
		}
		w.mu.Unlock()
	}
}
