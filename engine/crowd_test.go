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
			for range b.N {
				runtime.GC()
				collects := debug.SetGCPercent(-1)
				for i, c := range crowds {
					objects := c.changes(window, &version, order == "shuffled")
					engines[i] = append(engines[i], perEvent(objects, func() { c.judge(b, objects) }))
					lookUps[i] = append(lookUps[i], perEvent(objects, func() { bares[i].note(objects, false) }))
					objects = c.changes(window, &version, order == "shuffled") // none of the last ones are in the caches
					wholes[i] = append(wholes[i], perEvent(objects, func() { bares[i].note(objects, true) }))
				}
				debug.SetGCPercent(collects)
			}
			for _, m := range []struct {
				name  string
				spent [2][]float64
			}{{"engine", engines}, {"bare", lookUps}, {"bare-whole", wholes}} {
				a, z := median(m.spent[0]), median(m.spent[1])
				b.ReportMetric(a, m.name+"-few-cpu-ns")
				b.ReportMetric(z, m.name+"-many-cpu-ns")
				b.ReportMetric(z-a, m.name+"-growth-ns")
			}
			b.ReportMetric(median(engines[1])/median(engines[0]), "ratio")
		})
		for _, c := range crowds {
			c.close()
		}
	}
}

// perEvent returns the cpu time that f takes for each of the objects, in ns.
func perEvent(objects []*corev1.Pod, f func()) float64 {
	start := cpuTime()
	f()
	return float64(cpuTime()-start) / float64(len(objects))
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// judge delivers the objects and has them judged; few are on the way at a time.
func (c *crowd) judge(tb testing.TB, objects []*corev1.Pod) {
	for i, object := range objects {
		c.handler.OnUpdate(object, object)
		if i%64 == 63 {
			must(tb, c.engine.Settle(tb.Context()))
		}
	}
	must(tb, c.engine.Settle(tb.Context()))
}

// changes returns that many new versions of the crowd's objects: of some that are
// picked at random, or of one after the other in the order of their registration.
// Their texts are their own, as if they had just been decoded.
func (c *crowd) changes(n int, version *int, shuffled bool) []*corev1.Pod {
	random := rand.New(rand.NewPCG(uint64(*version), 1))
	objects := make([]*corev1.Pod, n)
	for i := range objects {
		*version++
		at := *version % len(c.names)
		if shuffled {
			at = random.IntN(len(c.names))
		}
		objects[i] = pod(strings.Clone(c.names[at]), strings.Clone("u1"), strconv.Itoa(*version), "Other")
	}
	return objects
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
