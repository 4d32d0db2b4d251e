package contracts_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/donewhen/donewhen/internal/azureschemas"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/predicates/wasm"
	"github.com/donewhen/donewhen/provisioner"
)

// theGate is one for all tests: reading the contracts takes longer than judging by
// them.
var theGate = sync.OnceValues(func() (*suite.Gate, error) {
	return suite.NewGateOf(provisioner.Operations(), provisioner.Contracts())
})

// gated returns the default set as the driver has it, with all of its gate.
func gated(t *testing.T) *predicates.Store {
	t.Helper()
	gate, err := theGate()
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	known, err := azureschemas.Known()
	if err != nil {
		t.Fatal(err)
	}
	loader, err := predicates.NewLoader(provisioner.Operations(), predicates.WithSchemas(known), predicates.WithWasm(runtime))
	if err != nil {
		t.Fatal(err)
	}
	name, data := provisioner.Defaults()
	store, err := loader.NewStore(predicates.Source{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}},
		predicates.WithGate(func(set *predicates.Set, sources []predicates.Source) []predicates.Problem {
			return gate.Check(t.Context(), set, sources)
		}))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// config is a source of a document, with the modules of a directory.
func config(t *testing.T, document []byte, modules string) predicates.Source {
	t.Helper()
	source := predicates.Source{Name: "config", Files: []predicates.File{{Name: "p.yaml", Data: document}}}
	paths, err := filepath.Glob(filepath.Join(modules, "*.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		source.Files = append(source.Files, predicates.File{Name: filepath.Base(path), Data: data, Binary: true})
	}
	return source
}

// What operators really write comes into force, and the oracle has nothing against
// it either.
func TestHarmlessSetsComeIntoForce(t *testing.T) {
	const dir = "testdata/harmless"
	store, spaces := gated(t), spaces()
	base := store.Set()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d sets, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Update(config(t, data, dir)); err != nil {
				t.Fatalf("it is refused: %v", err)
			}
			changed := false
			for _, operation := range provisioner.Operations() {
				binding, err := store.Set().Binding(operation.Name)
				if err != nil {
					t.Fatal(err)
				}
				before, err := base.Binding(operation.Name)
				if err != nil {
					t.Fatal(err)
				}
				if same(binding, before) {
					continue
				}
				changed = true
				if harm, n := spaces[operation.Name].harm(binding); harm != "" {
					t.Errorf("it isn't harmless at %d points, the first: %s", n, harm)
				}
			}
			if !changed {
				t.Error("it changes nothing")
			}
		})
	}
}
