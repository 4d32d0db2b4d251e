package engine_test

import (
	"strings"
	"testing"

	"github.com/donewhen/donewhen/engine"
)

// Errors name resources as references do, with the version where it matters.
func TestErrorsNameResourcesLikeReferences(t *testing.T) {
	_, err := engine.New(newSet()).Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
	if err == nil || !strings.Contains(err.Error(), "pods/v1") || strings.Contains(err.Error(), "Resource=") {
		t.Errorf("%v", err)
	}
}
