package predicates

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

// A timeout that can't be meant is a warning at its place.
func TestLintOfTimeouts(t *testing.T) {
	operations := []engine.Operation{{Name: "Open", Kind: "Door", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "doors"}}}
	for _, row := range []struct{ timeout, want string }{
		{"1ns", "p.yaml:12:12: warning: Binding open: spec.timeout: a wait of 1ns ends before anything can happen"},
		{"999ms", "a wait of 999ms ends"},
		{"1s", ""},
		{"24h", ""},
		{"25h", "no caller waits for 25h0m0s"},
	} {
		set, err := NewSet(operations, Source{Name: "s", Files: []File{{Name: "p.yaml", Data: []byte(`apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: opened}
spec: {match: {apiVersion: example.com/v1, kind: Door}, done: object.status.open}
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: open}
spec:
  operation: Open
  predicate: opened
  timeout: ` + row.timeout + "\n")}}})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, w := range set.Warnings() {
			if strings.Contains(w.Message, "spec.timeout") {
				said = w.Summary()
			}
		}
		if !strings.Contains(said, row.want) || row.want == "" && said != "" {
			t.Errorf("%s: %q, want %q", row.timeout, said, row.want)
		}
	}
}
