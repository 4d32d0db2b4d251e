package main

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// A module that fails again and again is shown as parked, until a reload brings
// another one.
func TestParkedModulesAreShown(t *testing.T) {
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	loader, err := predicates.NewLoader(nil, predicates.WithWasm(runtime))
	if err != nil {
		t.Fatal(err)
	}
	const documents = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: crashes}
spec:
  match: {apiVersion: example.com/v1, kind: Disk}
  wasm: {module: {file: module.wasm}, settings: {strict: true}}
---
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: rules}
spec:
  match: {apiVersion: example.com/v1, kind: Disk}
  done: 'true'
`
	source := func(module string) predicates.Source {
		data, err := os.ReadFile("../../predicates/wasm/testdata/" + module + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		return predicates.Source{Name: "test", Files: []predicates.File{
			{Name: "p.yaml", Data: []byte(documents)}, {Name: "module.wasm", Data: data, Binary: true},
		}}
	}
	store, err := loader.NewStore(source("hostile/unreachable"))
	if err != nil {
		t.Fatal(err)
	}
	m := &wasmMetrics{runtime, store}
	shown := func(parked string) {
		t.Helper()
		want := "# HELP donewhen_wasm_parked 1 while a predicate's module isn't asked, because it failed too often in a row, 0 for the other modules in force, by predicate.\n" +
			"# TYPE donewhen_wasm_parked gauge\ndonewhen_wasm_parked{predicate=\"crashes\"} " + parked + "\n"
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), "donewhen_wasm_parked"); err != nil {
			t.Error(err)
		}
	}
	shown("0")
	p, err := store.Set().Predicate("crashes")
	if err != nil {
		t.Fatal(err)
	}
	judge, err := p.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	disk := metav1.Object(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}})
	for range 5 {
		judge.Judge(t.Context(), engine.Observation{Presence: engine.Present, Object: disk})
	}
	shown("1")
	if n := testutil.CollectAndCount(m); n != 2 {
		t.Errorf("%d metrics", n)
	}
	if err := store.Update(source("attached")); err != nil {
		t.Fatal(err)
	}
	shown("0")
}
