package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/donewhen/donewhen/predicates/jsonschema"
)

func newSchemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [predicate|binding|suite]",
		Short: "Print the JSON Schema of documents",
		Long: `Schema prints the JSON Schema of Predicate, Binding or Suite documents, or without
an argument of files with all of them, for editors and linters. An editor with
the YAML language server takes it from a line at the top of a file:

  # yaml-language-server: $schema=donewhen.json`,
		Example: `  donewhen schema > donewhen.json
  donewhen schema predicate | jq '."$defs".PredicateSpec.properties | keys'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("name one kind of document, or none for files with all of them: donewhen schema predicate")
			}
			return nil
		},
		ValidArgs: jsonschema.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			name := jsonschema.Names()[0]
			if len(args) > 0 {
				name = args[0]
			}
			data, err := jsonschema.Read(name)
			if err != nil {
				return err
			}
			_, err = s.out.Write(data)
			return err
		},
	}
}
