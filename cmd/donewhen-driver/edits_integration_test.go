//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The ConfigMap is edited, every fifth time wrongly, while calls come and go: none is
// lost or ends wrongly, and nothing is left of the old sets. Each edit finds three calls
// that wait, which go over to it, and end before the next one: so many edits, so many loads.
func TestEditsUnderLoad(t *testing.T) { editUnderLoad(t, 60, true) }

// loads is a log that counts how often the driver has loaded what was edited.
type loads struct {
	io.Writer
	one chan struct{}
}

func (l loads) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("A new set of predicates is in force")) || bytes.Contains(p, []byte("The predicates can't be loaded")) {
		select {
		case l.one <- struct{}{}:
		default:
		}
	}
	return l.Writer.Write(p)
}

// editUnderLoad makes so many edits: each in step with calls, or all as fast as it goes,
// with calls at any moment.
func editUnderLoad(t *testing.T, edits int, each bool) {
	t.Helper()
	s := newSite(t)
	s.configure(createdBy("volume-created", "StandardSSD_LRS", "0"))
	log := loads{t.Output(), make(chan struct{}, 1)}
	stop := s.startLogging(log)
	const callers = 3
	controller := csipb.NewControllerClient(s.dial())
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	var group sync.WaitGroup
	for i := range callers {
		if each {
			break // the calls are made below
		}
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("vol-%d-%d", i, n)
				answer := s.createVolumeBy(controller, name)
				s.volumeStatus(name, created("StandardSSD_LRS"))
				if err := <-answer; err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	select { // what it began with
	case <-log.one:
	case <-time.After(patience):
		t.Fatal("the first content was never loaded")
	}
	var before int64
	goroutines := 0
	for n := 1; n <= edits; n++ {
		text := createdBy("volume-created", "StandardSSD_LRS", fmt.Sprint(n))
		if n%5 == 0 {
			text = strings.Replace(text, "object.status.state ==", "object.status.state = ", 1)
		}
		var waiting []<-chan error
		for i := range callers {
			if each {
				waiting = append(waiting, s.createVolumeBy(controller, fmt.Sprintf("vol-%d-%d", i, n)))
			}
		}
		if each {
			s.waitFor(`donewhen_waiters{operation="CreateVolume"}`, fmt.Sprint(callers))
		}
		patch, err := json.Marshal(map[string]any{"data": map[string]string{"p.yaml": text}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.core.CoreV1().ConfigMaps(s.namespace).Patch(ctx, defaultConfigMap, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if each {
			select {
			case <-log.one:
			case <-time.After(patience):
				t.Fatalf("edit %d was never loaded", n)
			}
		}
		for i, answer := range waiting {
			s.volumeStatus(fmt.Sprintf("vol-%d-%d", i, n), created("StandardSSD_LRS"))
			if err := <-answer; err != nil {
				t.Fatalf("edit %d: %v", n, err)
			}
			calls.Add(1)
		}
		if n == edits/4 {
			before, goroutines = heap(), runtime.NumGoroutine()
		}
	}
	cancel()
	group.Wait()
	// A disk that only the last edit's predicate is content with.
	s.edit(createdBy("volume-created", "UltraSSD_LRS", "last"))
	answer := s.createVolumeBy(controller, "last")
	s.volumeStatus("last", created("UltraSSD_LRS"))
	select {
	case err := <-answer:
		if err != nil {
			t.Fatalf("the call after the last edit: %v", err)
		}
	case <-time.After(patience):
		t.Fatalf("the last edit isn't in force after %s", patience)
	}
	grown := heap() - before
	t.Logf("%d calls during %d edits, of which %s sets came into force and %s were refused; the heap has grown by %d KiB, goroutines from %d to %d",
		calls.Load(), edits, s.metric("donewhen_config_reloads_total"), s.metric("donewhen_config_reload_failures_total"), grown>>10, goroutines, runtime.NumGoroutine())
	if calls.Load() < callers {
		t.Errorf("only %d calls", calls.Load())
	}
	// The volumes stay, and the driver's cache has a copy of each: about 4.5 KB.
	slack := int64(8 << 20)
	if each { // a set that stayed would be seen
		slack = 2 << 20
	}
	if allowed := calls.Load()*8<<10 + slack; grown > allowed {
		t.Errorf("the heap has grown by %d KiB, want %d at most", grown>>10, allowed>>10)
	}
	if now := runtime.NumGoroutine(); now > goroutines+50 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
