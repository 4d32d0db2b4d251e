package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/donewhen/donewhen/internal/azureschemas"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/schemas"
)

// schemaFlag adds the flag --schema, which takes schemas beside the program's own.
func schemaFlag(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVar(paths, "schema", nil, "`FILE|DIR` with CRDs or OpenAPI v3 documents to check expressions against (may be given more than once)")
}

// withSchemas returns the option of a loader that checks expressions against the
// schemas in the files, and else against those of the Azure Disk kinds and of the
// kinds built into Kubernetes.
func withSchemas(paths []string) (predicates.LoaderOption, error) {
	var places []predicates.Schemas
	for _, path := range paths {
		known, err := schemas.Read(path)
		if err != nil {
			return nil, fmt.Errorf("--schema: %w", err)
		}
		places = append(places, known)
	}
	own, err := azureschemas.Known()
	if err != nil {
		return nil, err
	}
	return predicates.WithSchemas(append(places, own, schemas.FromScheme(scheme.Scheme))...), nil
}
