package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/engine"
)

// Whatever an informer delivers that is no object of a name is ignored: it neither
// ends the process nor a wait, and the next event counts as ever.
func TestHostile_WhatIsNoObjectIsIgnored(t *testing.T) {
	for name, thing := range map[string]any{
		"nil":                       nil,
		"a typed nil":               (*corev1.Pod)(nil),
		"an unstructured nil":       (*unstructured.Unstructured)(nil),
		"an empty unstructured":     &unstructured.Unstructured{},
		"metadata that is a list":   &unstructured.Unstructured{Object: map[string]any{"metadata": []any{"x"}}},
		"a name that is a number":   &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": int64(7)}}},
		"a string":                  "a/x",
		"an object by value":        corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}},
		"a tombstone of nothing":    cache.DeletedFinalStateUnknown{},
		"a tombstone of a nil":      cache.DeletedFinalStateUnknown{Key: "a/x", Obj: (*corev1.Pod)(nil)},
		"a tombstone in another":    cache.DeletedFinalStateUnknown{Key: "a/x", Obj: cache.DeletedFinalStateUnknown{Key: "a/x"}},
		"a nil tombstone":           (*cache.DeletedFinalStateUnknown)(nil),
		"a tombstone without sense": cache.DeletedFinalStateUnknown{Key: "a/b/c/d", Obj: 7},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.informer.put(pod("x", "u1", "10", "Other"))
				g := s.wait(s.register("ready", "x"))
				s.informer.tell(func(h cache.ResourceEventHandler) {
					h.OnAdd(thing, false)
					h.OnUpdate(thing, thing)
					h.OnDelete(thing)
					h.OnUpdate(thing, pod("x", "u1", "11", "Other"))
				})
				g.pending()
				s.informer.put(pod("x", "u1", "12", "Done"))
				g.done("12")
				s.nothingKept()
			})
		})
	}
}

// Versions that are no sound numbers never hang a wait on the caller's own write,
// and never end it on what another UID shows.
func TestHostile_StrangeVersions(t *testing.T) {
	for _, version := range []string{"", "0", "-1", "007", "1e3", "eleven", "1.5", " 11", strings.Repeat("9", 400)} {
		t.Run(fmt.Sprintf("%.10q", version), func(t *testing.T) {
			play(t, func(s *scene) {
				s.informer.put(pod("x", "u0", "10", "Done"))
				w := s.register("ready", "x")
				must(t, w.After(pod("x", "u1", version, "")))
				g := s.wait(w)
				g.pending() // u0 is not ours
				s.informer.put(pod("x", "u1", version, "Done"))
				seconds(5)
				g.done(version)
				s.nothingKept()
			})
		})
	}
}

// A context that is over before anything begins ends the wait and leaves nothing;
// it never keeps a verdict that is there from being told.
func TestHostile_ContextsThatAreOver(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	play(t, func(s *scene) {
		s.informer.put(pod("x", "u1", "10", "Done"))
		result, err := s.engine.Do(over, engine.Request{Ref: refTo("x"), Predicate: "ready"}, func(context.Context) (metav1.Object, error) {
			return pod("x", "u1", "10", ""), nil
		})
		if err != nil || result.ResourceVersion != "10" {
			t.Errorf("Do: %v, %v", result, err)
		}
		if _, err := engine.All(s.register("ready", "x"), s.register("gone", "x")).Wait(over); err == nil {
			t.Error("All was done with a wait that is not")
		}
		s.nothingKept()
	})
	synctest.Test(t, func(t *testing.T) { // an engine that is stopped before it starts
		e, i := engine.New(newSet()), newInformer()
		must(t, e.Watch(pods, i))
		must(t, e.Start(over))
		synctest.Wait()
		if _, err := e.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"}); err == nil {
			t.Error("a stopped engine took a wait")
		}
		if err := e.WaitForSync(t.Context()); err == nil {
			t.Error("a stopped engine has synced")
		}
	})
}

// A storm of reloads, also to no set at all, loses no wait and leaves nothing.
func TestHostile_AStormOfReloads(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("ready", "x"))
		for n := range 500 {
			if n%3 == 0 {
				s.engine.Swap(nil)
			} else {
				s.engine.Swap(generationSet(n, nil))
			}
		}
		g.pending()
		if _, err := s.engine.Register(engine.Request{Ref: refTo("x"), Predicate: "nobody's"}); err == nil {
			t.Error("an unknown predicate was taken")
		}
		s.engine.Swap(generationSet(0, nil))
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
		s.nothingKept()
	})
}
