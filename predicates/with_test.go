package predicates

import (
	"errors"
	"testing"

	"github.com/donewhen/donewhen/engine"
)

// With gives what a reload gives, and leaves the set alone.
func TestSetWith(t *testing.T) {
	document := func(done string) Source {
		return Source{Name: "with " + done, Files: []File{{Name: "p.yaml", Data: []byte(`
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: v1, kind: Pod}
  done: |-
    ` + done + "\n")}}}
	}
	set, err := NewSet(nil, document("object.status.a == 1"))
	if err != nil {
		t.Fatal(err)
	}
	digestOf := func(s *Set) string {
		p, err := s.Predicate("p")
		if err != nil {
			t.Fatal(err)
		}
		return p.ID().Digest
	}
	before := digestOf(set)
	next, err := set.With(document("object.status.a == 2"))
	if err != nil {
		t.Fatal(err)
	}
	if digestOf(next) == before || digestOf(set) != before {
		t.Error("With must override the predicate in the new set, and in that only")
	}
	again, err := next.With(document("object.status.a == 3"))
	if err != nil || digestOf(again) == digestOf(next) {
		t.Errorf("a set made by With can't go on: error %v", err)
	}
	var load *LoadError
	if _, err := set.With(document("objec")); !errors.As(err, &load) {
		t.Errorf("error %v isn't a LoadError", err)
	}
	var _ engine.Set = next
}
