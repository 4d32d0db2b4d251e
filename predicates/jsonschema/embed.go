// Package jsonschema has the JSON Schemas of donewhen's documents, for editors and
// linters. They are made of the Go types that read the documents (make generate).
//
//	data, err := jsonschema.Read("predicate")
//
// A schema finds what has the wrong shape; what is wrong with an expression or a
// name, only the loader knows.
package jsonschema

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names are the schemas that there are: of files with all kinds of documents, and
// of each kind.
func Names() []string { return []string{"donewhen", "predicate", "binding", "suite"} }

// Read returns a schema. The error names those that there are.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no schema %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return data, nil
}
