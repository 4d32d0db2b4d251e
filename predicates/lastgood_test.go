package predicates

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// memory is a LastGood in memory.
type memory struct {
	sources []Source
	saves   int
	err     error
}

func (m *memory) Load() ([]Source, error) { return m.sources, m.err }

func (m *memory) Save(sources []Source) error {
	m.saves++
	if m.err == nil {
		m.sources = slices.Clone(sources)
	}
	return m.err
}

// What was in force in the run before serves again if the config is wrong at the
// start, and only then.
func TestStoreRecallsTheLastGoodSet(t *testing.T) {
	override := func(state string) Source {
		return source("config", predicate("created", "  done: object.status.state == '"+state+"'"))
	}
	broken := source("config", predicate("created", "  done: object.status.state = 'Broken'"))
	kept := &memory{}
	var last Report
	start := func(opts ...StoreOption) *Store {
		t.Helper()
		store, err := NewStore(catalogue(), defaults(), append(opts, WithLastGood(kept), WithObserver(func(r Report) { last = r }))...)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	want := func(what string, store *Store, state string, recalled bool) {
		t.Helper()
		if got := done(t, store.Set(), "Created", "Updated", "Attached"); got != state || last.Recalled != recalled {
			t.Errorf("%s: done on %q, recalled %v, want %q, %v (last good: %v)", what, got, last.Recalled, state, recalled, last.LastGoodErr)
		}
	}

	store := start()
	if err := store.Update(broken); err == nil {
		t.Fatal("loaded")
	}
	want("nothing is kept", store, "Created", false)
	if err := store.Update(override("Updated")); err != nil {
		t.Fatal(err)
	}
	if err := store.Update(override("Updated"), source("empty")); err != nil || kept.saves != 2 {
		t.Errorf("error %v, %d saves: another source is another content", err, kept.saves)
	}
	if err := store.Update(broken); err == nil || kept.saves != 2 {
		t.Errorf("error %v, %d saves: what is broken isn't kept", err, kept.saves)
	}

	store = start()
	want("before the config is known", store, "Created", false)
	if err := store.Update(broken); err == nil {
		t.Fatal("loaded")
	}
	want("broken at the start", store, "Updated", true)
	if !last.Changed || last.Err == nil {
		t.Errorf("report %+v", last)
	}
	if err := store.Update(override("Attached")); err != nil {
		t.Fatal(err)
	}
	want("mended", store, "Attached", false)

	store = start(WithGate(func(set *Set, sources []Source) []Problem {
		if done(t, set, "Created", "Updated", "Attached") != "Created" {
			return []Problem{{Message: "no"}}
		}
		return nil
	}))
	_ = store.Update(broken)
	want("the gate of now refuses it", store, "Created", false)
	if load, ok := errors.AsType[*LoadError](last.LastGoodErr); !ok || !load.Refused {
		t.Errorf("last good: %v", last.LastGoodErr)
	}

	kept.sources = append(kept.sources, source("another program's", predicate("other", "  done: 'true'")))
	store = start()
	_ = store.Update(broken)
	want("sources that may still come", store, "Attached", true)
	store = start(WithSources("config", "empty"))
	_ = store.Update(broken)
	want("of other sources", store, "Created", false)
	if last.LastGoodErr == nil || !strings.Contains(last.LastGoodErr.Error(), "another program's is none of this one's") {
		t.Errorf("last good: %v", last.LastGoodErr)
	}

	kept.err = errors.New("damaged")
	store = start()
	_ = store.Update(broken)
	want("it is damaged", store, "Created", false)
	if err := store.Update(override("Updated")); err != nil || !errors.Is(last.LastGoodErr, kept.err) {
		t.Errorf("error %v, last good %v: what can't be kept is in force all the same", err, last.LastGoodErr)
	}
}
