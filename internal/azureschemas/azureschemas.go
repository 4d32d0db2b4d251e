// Package azureschemas gives the loader the schemas of the Azure Disk custom
// resources, from the CRDs that the program carries.
//
//	known, err := azureschemas.Known()
//	if err != nil {
//		return err
//	}
//	loader, err := predicates.NewLoader(provisioner.Operations(), predicates.WithSchemas(known))
package azureschemas

import (
	"fmt"
	"maps"

	"github.com/donewhen/donewhen/predicates/schemas"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
)

// Known returns the schemas of AzVolume, AzVolumeAttachment and AzDriverNode; the
// caller's own. The error means that the program was built wrongly.
func Known() (schemas.Known, error) {
	manifests, err := crds.All()
	if err != nil {
		return nil, err
	}
	all := schemas.Known{}
	for _, manifest := range manifests {
		known, err := schemas.Parse("the embedded CRDs", manifest)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, known)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read schemas from the embedded CRDs: there are none")
	}
	return all, nil
}
