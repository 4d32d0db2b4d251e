package predicates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLints holds what each lint says. In the fixtures every predicate named
// hit-… has something to warn of, and no predicate named near-… has: those are
// what looks alike and is right.
func TestLints(t *testing.T) {
	paths, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			set, err := NewSet(nil, fileSource(t, "", "lint/"+name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			warned := map[string]bool{}
			for _, w := range set.Warnings() {
				if strings.Contains(w.Message, noSchema) {
					continue
				}
				got.WriteString(w.String() + "\n")
				warned[strings.TrimPrefix(w.Document, "Predicate ")] = true
				if !w.Warning || w.Line == 0 || w.Excerpt == "" {
					t.Errorf("a warning without its place: %+v", w)
				}
			}
			for _, p := range set.Predicates() {
				switch name := p.ID().Name; {
				case strings.HasPrefix(name, "hit-") && !warned[name]:
					t.Errorf("%s: no warning", name)
				case strings.HasPrefix(name, "near-") && warned[name]:
					t.Errorf("%s: a warning", name)
				}
			}
			golden := filepath.Join("testdata/lint", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// noSchema is in the warning that every predicate has whose kind has no schema.
const noSchema = "no schema of "

// What good sets are warned of: nothing, but for a rule of the reference that
// means absence and doesn't say so.
func TestLintsOfGoodSets(t *testing.T) {
	for _, c := range []struct{ path, warning string }{
		{"../provisioner/defaults/azure.yaml", ""},
		{"testdata/reference/azure.yaml", "volume-settled: spec.done[0].expression: true while object.status.state is absent"},
		{"testdata/reference/common.yaml", ""},
		{"testdata/reference/expand_shadow.yaml", ""},
		{"testdata/reference/pod_wrong.yaml", ""},
		{"testdata/good/bodies.yaml", ""},
	} {
		data, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		sources := []Source{{Name: "set", Files: []File{{Name: filepath.Base(c.path), Data: data}}}}
		if strings.Contains(c.path, "shadow") {
			sources = append([]Source{fileSource(t, "defaults", "reference/azure.yaml")}, sources...)
		}
		set, err := NewSet(catalogue(), sources...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range set.Warnings() {
			if w.Source == "set" && !strings.Contains(w.Message, noSchema) {
				got = append(got, w.Summary())
			}
		}
		if c.warning == "" && len(got) > 0 || c.warning != "" && (len(got) != 1 || !strings.Contains(got[0], c.warning)) {
			t.Errorf("%s: got %q, want %q", c.path, got, c.warning)
		}
	}
}

// A warning stands where the document stands now, also of a predicate that was
// compiled for an earlier set.
func TestWarningsMoveWithTheDocument(t *testing.T) {
	source := fileSource(t, "a", "lint/unused.yaml")
	store, err := NewStore(nil, source)
	if err != nil {
		t.Fatal(err)
	}
	first := store.Set().Warnings()
	source.Files[0].Data = append([]byte("# one\n# two\n"), source.Files[0].Data...)
	if err := store.Update(source); err != nil {
		t.Fatal(err)
	}
	second := store.Set().Warnings()
	if len(first) == 0 || len(second) != len(first) {
		t.Fatalf("%d warnings, then %d", len(first), len(second))
	}
	for i := range first {
		first[i].Line += 2
		if diff := cmp.Diff(first[i], second[i]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
