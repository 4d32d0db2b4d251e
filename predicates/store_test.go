package predicates

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/donewhen/donewhen/engine"
)

func defaults() Source {
	return source("defaults", predicate("created", "  done: object.status.state == 'Created'"), binding("CreateVolume", "created", ""))
}

// done reports which of the states end CreateVolume.
func done(t testing.TB, set *Set, states ...string) string {
	t.Helper()
	b, err := set.Binding("CreateVolume")
	if err != nil {
		t.Fatal(err)
	}
	judge := mustBind(t, b.Predicate, b.Params)
	var ended []string
	for _, s := range states {
		if judge.Judge(t.Context(), observe(s)).Verdict.Decision == engine.Done {
			ended = append(ended, s)
		}
	}
	return strings.Join(ended, " ")
}

func TestStoreKeepsTheLastGoodSet(t *testing.T) {
	var reports []string
	store, err := NewStore(catalogue(), defaults(), WithObserver(func(r Report) {
		reports = append(reports, fmt.Sprintf("%s changed=%v err=%v", r.Source, r.Changed, r.Err != nil))
	}))
	if err != nil {
		t.Fatal(err)
	}
	override := func(state string) Source {
		return source("config", predicate("created", "  done: object.status.state == '"+state+"'"))
	}
	broken := source("config", predicate("created", "  done: object.status.state = 'Broken'"))
	step := func(what string, err error, wantErr bool, want string) {
		t.Helper()
		var load *LoadError
		if (err != nil) != wantErr || wantErr && !errors.As(err, &load) {
			t.Errorf("%s: error %v", what, err)
		}
		if got := done(t, store.Set(), "Created", "Updated", "Attached"); got != want {
			t.Errorf("%s: done on %q, want %q", what, got, want)
		}
	}
	step("start", nil, false, "Created")
	step("an empty source", store.Update(Source{Name: "config"}), false, "Created")
	step("override", store.Update(override("Updated")), false, "Updated")
	step("the same again", store.Update(override("Updated")), false, "Updated")
	step("broken", store.Update(broken), true, "Updated")
	step("still broken", store.Update(broken), true, "Updated")
	step("another source", store.Update(source("more", predicate("other", "  expect: Gone"))), true, "Updated")
	if _, err := store.Set().Predicate("other"); err == nil {
		t.Error("a part of a set that can't be loaded is in force")
	}
	step("fixed", store.Update(override("Attached")), false, "Attached")
	if _, err := store.Set().Predicate("other"); err != nil {
		t.Errorf("what came while another source was broken is lost: %v", err)
	}
	step("removed", store.Remove("config"), false, "Created")
	step("removed twice", store.Remove("config"), false, "Created")
	if diff := cmp.Diff([]string{
		"config changed=false err=false",
		"config changed=true err=false",
		"config changed=false err=true",
		"more changed=false err=true",
		"config changed=true err=false",
		"config changed=true err=false",
	}, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	for _, err := range []error{store.Remove("defaults"), store.Remove("unknown"), store.Update(Source{})} {
		if err == nil {
			t.Error("no error")
		}
	}
}

// TestStoreWarnsOfAMisspeltOverride, and of nothing else that no operation uses.
func TestStoreWarnsOfAMisspeltOverride(t *testing.T) {
	var reports []Report
	store, err := NewStore(catalogue(), defaults(), WithObserver(func(r Report) { reports = append(reports, r) }))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"creatd":    `config, a.yaml:3:18: warning: predicate creatd is bound to no operation; did you mean "created"?`,
		"created":   "",
		"unrelated": "",
	} {
		if err := store.Update(source("config", predicate(name, "  done: object.status.state == 'Updated'"))); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range reports[len(reports)-1].Warnings {
			if !strings.Contains(w.Message, noSchema) {
				got = append(got, w.Summary())
			}
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}
}

func TestStoreDefaultsMustLoad(t *testing.T) {
	if _, err := NewStore(catalogue(), source("defaults", "kind: [")); err == nil {
		t.Error("no error")
	}
}

// TestStoreOrder: declared sources override in that order, whichever comes first,
// and one that comes back has its old place.
func TestStoreOrder(t *testing.T) {
	override := func(name string) Source {
		return source(name, predicate("created", "  done: object.status.state == '"+name+"'"))
	}
	store, err := NewStore(catalogue(), defaults(), WithSources("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []struct {
		do   func() error
		want string
	}{
		{func() error { return store.Update(override("b")) }, "b"},
		{func() error { return store.Update(override("a")) }, "b"},
		{func() error { return store.Remove("b") }, "a"},
		{func() error { return store.Update(override("b")) }, "b"},
		{func() error { return store.Update(override("c")) }, "c"},
	} {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if got := done(t, store.Set(), "a", "b", "c"); got != s.want {
			t.Errorf("step %d: %q decides, want %q", i, got, s.want)
		}
	}
}

// TestStoreKeepsWhatIsCompiled: an unchanged predicate stays the same one.
func TestStoreKeepsWhatIsCompiled(t *testing.T) {
	store, err := NewStore(catalogue(), defaults())
	if err != nil {
		t.Fatal(err)
	}
	before, _ := store.Set().Predicate("created")
	if err := store.Update(source("config", predicate("other", "  expect: Gone"))); err != nil {
		t.Fatal(err)
	}
	if after, _ := store.Set().Predicate("created"); after != before {
		t.Error("it was compiled again")
	}
}

// TestStoreHammer: readers see whole sets only, never one that was refused.
func TestStoreHammer(t *testing.T) {
	store, err := NewStore(catalogue(), defaults(), WithObserver(func(Report) {}))
	if err != nil {
		t.Fatal(err)
	}
	version := func(source_ string, i int) Source {
		if i%3 == 2 {
			return source(source_, predicate("created", "  done: object.status.state ="))
		}
		// Predicate and binding of one set agree on the state.
		state := fmt.Sprintf("S%d", i)
		return source(source_,
			predicate("created", "  params: {state: string}\n  done: object.status.state == params.state && '"+state+"' == params.state"),
			binding("CreateVolume", "created", "  params: {state: "+state+"}"))
	}
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			for i := range 30 {
				name := fmt.Sprintf("config%d", w)
				err := store.Update(version(name, i))
				if i%3 == 2 && err == nil {
					t.Errorf("update %d: a broken source was loaded", i)
				}
				if i%10 == 9 {
					_ = store.Remove(name) // fails while the other one is broken
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b, err := store.Set().Binding("CreateVolume")
				if err != nil {
					t.Error(err)
					return
				}
				state := "Created"
				if s, ok := b.Params["state"].(string); ok {
					state = s
				}
				judge, err := b.Predicate.Bind(b.Params)
				if err != nil {
					t.Error(err)
					return
				}
				if v := judge.Judge(t.Context(), observe(state)).Verdict; v.Decision != engine.Done {
					t.Errorf("binding and predicate are of two sets: %+v", v)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}
