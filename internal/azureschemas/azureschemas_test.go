package azureschemas

import (
	"slices"
	"testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/provisioner"
)

// The defaults are about nothing that the kinds don't have, and nothing about them
// is to be warned of.
func TestDefaultsFitTheSchemas(t *testing.T) {
	known, err := Known()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, kind := range known.Kinds() {
		kinds = append(kinds, kind.Kind)
	}
	if want := []string{"AzDriverNode", "AzVolume", "AzVolumeAttachment"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	loader, err := predicates.NewLoader(provisioner.Operations(), predicates.WithSchemas(known), predicates.Strict())
	if err != nil {
		t.Fatal(err)
	}
	name, data := provisioner.Defaults()
	if _, err := loader.Load(predicates.Source{Files: []predicates.File{{Name: name, Data: data}}}); err != nil {
		t.Error(err)
	}
}
