package provisioner_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// BenchmarkLatencyCEL has 10,000 CreateVolume waits pending, judged by the default
// set's CEL predicate on unstructured objects, and volumes that become ready one
// after the other, 2,000 a second: from the informer's delivery until Wait returns.
// Beside it is the floor, in the same run and at the same pace: a goroutine is
// started that closes the channel of one of 10,000 that wait, and no engine.
func BenchmarkLatencyCEL(b *testing.B) {
	const pending, rate = 10_000, 2000
	name, data := provisioner.Defaults()
	set, err := predicates.NewSet(provisioner.Operations(), predicates.Source{Name: name, Files: []predicates.File{{Name: name, Data: data}}})
	if err != nil {
		b.Fatal(err)
	}
	var took, floor []time.Duration
	for range b.N {
		took = append(took, latencies(b, set, pending, rate)...)
		floor = append(floor, handOver(pending, rate)...)
	}
	reportLatencies(b, "", took)
	reportLatencies(b, "floor-", floor)
}

func reportLatencies(b *testing.B, of string, took []time.Duration) {
	slices.Sort(took)
	for _, p := range []float64{50, 90, 99, 99.9} {
		b.ReportMetric(float64(took[int(float64(len(took))*p/100)].Microseconds()), fmt.Sprintf("%sp%v-µs", of, p))
	}
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), of+"max-µs")
	within, _ := slices.BinarySearch(took, 200*time.Microsecond)
	b.ReportMetric(100*float64(within)/float64(len(took)), of+"%-within-200µs")
}

// handOver measures the floor.
func handOver(pending, rate int) []time.Duration {
	started, took := make([]time.Time, pending), make([]time.Duration, pending)
	done := make([]chan struct{}, pending)
	var all sync.WaitGroup
	for n := range done {
		done[n] = make(chan struct{})
		all.Go(func() {
			<-done[n]
			took[n] = time.Since(started[n])
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for n := range done {
		<-tick.C
		object := volumeIn(n, n, "Created", map[string]any{"volume_id": "/disks/" + strconv.Itoa(n), "capacity_bytes": int64(1 << 30)})
		started[n] = time.Now()
		go func() {
			if object.GetName() != "" {
				close(done[n])
			}
		}()
	}
	all.Wait()
	return took
}

func latencies(b *testing.B, set engine.Set, pending, rate int) []time.Duration {
	source := script.NewSource(false)
	e := engine.New(set, engine.WithLogger(klog.Logger{}))
	if err := e.Watch(v1beta2.AzVolumes(), source); err != nil {
		b.Fatal(err)
	}
	if err := e.Watch(v1beta2.AzVolumeAttachments(), script.NewSource(false)); err != nil {
		b.Fatal(err)
	}
	if err := e.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	delivered, took := make([]time.Time, pending), make([]time.Duration, pending)
	version := 1
	put := func(n int, state string, detail map[string]any) {
		version++
		object := volumeIn(n, version, state, detail)
		delivered[n] = time.Now()
		if err := source.Put(object); err != nil {
			b.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for n := range pending {
		put(n, "Creating", nil)
		w, err := e.Register(engine.Request{
			Ref:       engine.Reference{Resource: v1beta2.AzVolumes(), Namespace: "disks", Name: "pvc-" + strconv.Itoa(n)},
			Operation: provisioner.OperationCreateVolume,
		})
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() {
			defer w.Close()
			_, err := w.Wait(b.Context())
			took[n] = time.Since(delivered[n])
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := e.Settle(b.Context()); err != nil {
		b.Fatal(err)
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for n := range pending {
		<-tick.C
		put(n, "Created", map[string]any{"volume_id": "/disks/" + strconv.Itoa(n), "capacity_bytes": int64(1 << 30)})
	}
	all.Wait()
	return took
}

// volumeIn is an AzVolume in a state.
func volumeIn(n, version int, state string, detail map[string]any) *unstructured.Unstructured {
	status := map[string]any{"state": state}
	if detail != nil {
		status["detail"] = detail
	}
	name := "pvc-" + strconv.Itoa(n)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1beta2.AzVolumes().GroupVersion().String(), "kind": v1beta2.KindAzVolume,
		"metadata": map[string]any{"namespace": "disks", "name": name, "uid": "uid-" + name, "resourceVersion": strconv.Itoa(version)},
		"spec":     map[string]any{"volumeName": name},
		"status":   status,
	}}
}
