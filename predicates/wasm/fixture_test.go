package wasm

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

func TestFixtures(t *testing.T) { fixture.Check(t, "testdata") }

// newRuntime returns a runtime that ends with the test.
func newRuntime(t testing.TB, opts ...Option) *Runtime {
	t.Helper()
	rt, err := New(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// guest loads a fixture in a use.
func guest(t testing.TB, rt *Runtime, name string, use Use) *Guest {
	t.Helper()
	ctx := context.Background()
	m, err := rt.Load(ctx, fixture.Read(t, "testdata/"+name+".wasm"), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	g, err := m.Guest(ctx, use)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// object is one with that status.
func object(status map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "status": status,
	}}
}

func evaluate(t testing.TB, g *Guest, status map[string]any) (Result, error) {
	t.Helper()
	return g.Evaluate(context.Background(), &Document{Object: object(status)}, true)
}
