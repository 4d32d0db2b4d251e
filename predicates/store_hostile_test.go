package predicates

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A gate that panics refuses the set: the goroutine that follows the sources is
// the program's own, and nothing ends the process.
func TestAGateThatPanicsRefusesTheSet(t *testing.T) {
	broken := false
	store, err := NewStore(nil, Source{Name: "defaults"}, WithGate(func(*Set, []Source) []Problem {
		if broken {
			panic("index out of range")
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	broken = true
	before := store.Set()
	source := Source{Name: "config", Files: []File{{Name: "a.yaml", Data: []byte("")}}}
	if err := store.Update(source); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("error %v, want the panic in it", err)
	}
	if store.Set() != before {
		t.Error("a set is in force that no gate has looked at")
	}
	broken = false
	if err := store.Update(Source{Name: "config", Files: []File{{Name: "b.yaml", Data: []byte("")}}}); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

// Many sources that change at once, good and broken: the end is what the last
// content of all makes, and no reader sees anything else than whole sets.
func TestConcurrentUpdatesOfSeveralSources(t *testing.T) {
	predicate := func(name string, n int) Source {
		return Source{Name: name, Files: []File{{Name: "p.yaml", Data: fmt.Appendf(nil, "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: %s}\nspec:\n  match: {apiVersion: v1, kind: Pod}\n  done: |-\n    object.metadata.generation > %d\n", name, n)}}}
	}
	const sources, rounds = 5, 20
	names := make([]string, sources)
	for i := range names {
		names[i] = fmt.Sprintf("source-%d", i)
	}
	store, err := NewStore(nil, Source{Name: "defaults"}, WithSources(names...))
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, name := range names {
		writers.Go(func() {
			for n := range rounds {
				switch {
				case n%5 == 3:
					_ = store.Update(Source{Name: name, Files: []File{{Name: "p.yaml", Data: []byte("kind: [")}}})
				case n%5 == 4:
					_ = store.Remove(name)
				default:
					_ = store.Update(predicate(name, n))
				}
				_ = store.Set().Predicates()
			}
			_ = store.Update(predicate(name, rounds))
		})
	}
	writers.Wait()
	all := []Source{{Name: "defaults"}}
	for _, name := range names {
		all = append(all, predicate(name, rounds))
	}
	want, err := NewSet(nil, all...)
	if err != nil {
		t.Fatal(err)
	}
	if got := store.Set().Digest(); got != want.Digest() {
		t.Errorf("digest %s, want %s", got, want.Digest())
	}
	if err := store.Update(predicate(names[0], rounds)); err != nil {
		t.Errorf("all is well, and yet: %v", err)
	}
}
