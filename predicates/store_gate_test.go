package predicates

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// While the gate looks at a set, the one in force can be read and changes are taken
// in; however many there are, they come with one more look.
func TestTheStoreGoesOnWhileTheGateLooks(t *testing.T) {
	var mu sync.Mutex
	var looks [][]string
	begun, looking := make(chan struct{}), make(chan struct{})
	source := func(name, text string) Source {
		return Source{Name: name, Files: []File{{Name: "p.yaml", Data: []byte("# " + text)}}}
	}
	var reports []Report
	store, err := NewStore(nil, Source{Name: "defaults"}, WithSources("a", "b"), WithGate(func(_ *Set, sources []Source) []Problem {
		mu.Lock()
		var seen []string
		for _, s := range sources[1:] {
			for _, f := range s.Files {
				seen = append(seen, s.Name+string(f.Data))
			}
		}
		looks = append(looks, seen)
		first := len(looks) == 2 // the defaults come before
		mu.Unlock()
		if first {
			close(begun)
			<-looking
		}
		if slices.Contains(seen, "b# wrong") {
			return []Problem{{Message: "b is wrong"}}
		}
		return nil
	}), WithObserver(func(r Report) { reports = append(reports, r) }))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	updates := func(s Source, wrong bool) {
		group.Go(func() {
			if err := store.Update(s); (err != nil) != wrong {
				t.Errorf("update of %s: %v", s.Name, err)
			}
		})
	}
	edition := func() int {
		store.mu.Lock()
		defer store.mu.Unlock()
		return store.edition
	}
	updates(source("a", "1"), false)
	<-begun
	updates(source("a", "2"), true) // with what b will be by then
	updates(source("b", "wrong"), true)
	for deadline := time.Now().Add(time.Minute); edition() < 3; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("changes aren't taken in while the gate looks")
		}
	}
	if store.Set() == nil || len(reports) != 0 {
		t.Error("the store can't be read while the gate looks")
	}
	close(looking)
	group.Wait()
	want := [][]string{nil, {"a# 1"}, {"a# 2", "b# wrong"}}
	if !slices.EqualFunc(looks, want, slices.Equal) {
		t.Errorf("the gate has seen %q, want %q", looks, want)
	}
	if len(reports) != 2 || reports[0].Source != "a" || reports[1].Source != "a, b" || reports[0].Err != nil || reports[1].Err == nil {
		t.Errorf("reports %v", reports)
	}
	if err := store.Remove("b"); err != nil {
		t.Error(err)
	}
}
