// Package schemas reads the schemas of kinds, from CRD manifests and OpenAPI v3
// documents, so that predicates can be checked against them when they are loaded.
//
//	known, err := schemas.Parse("azvolumes.yaml", manifest)
//	if err != nil {
//		return err
//	}
//	loader, err := predicates.NewLoader(operations, predicates.WithSchemas(known))
//
// A schema only refuses: what it doesn't say for certain is of any type, and no
// verdict depends on whether there was one.
package schemas
