// Package crds has the CRD manifests of the Azure Disk V2 custom resources,
// generated from the types in v1beta2, ready to be installed or shown.
//
//	manifests, err := crds.All()
//	if err != nil {
//		return err
//	}
//	for _, manifest := range manifests {
//		// decode the YAML, create or update the CustomResourceDefinition
//	}
package crds

import (
	"embed"
	"fmt"
	"io/fs"
)

// FS holds the manifests, one *.yaml file in its root for each CRD. It is
// read-only and safe for concurrent use; never assign it.
//
//go:embed *.yaml
var FS embed.FS

// All returns the YAML of each CRD, one document each, in the order of their
// file names. The slices are the caller's own. It fails only if the binary is
// broken. Safe for concurrent use.
func All() ([][]byte, error) {
	names, err := fs.Glob(FS, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the embedded CRD manifests: %w", err)
	}
	manifests := make([][]byte, 0, len(names))
	for _, name := range names {
		manifest, err := FS.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the embedded CRD manifest %s: %w", name, err)
		}
		manifests = append(manifests, manifest)
	}
	return manifests, nil
}
