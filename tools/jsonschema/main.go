// Command jsonschema writes the JSON Schemas of donewhen's documents, made of the
// Go types that read them, into a directory.
//
//	go -C tools/jsonschema run . ../../predicates/jsonschema
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "jsonschema:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name the directory to write to, and nothing else")
	}
	schemas, err := all()
	if err != nil {
		return err
	}
	for name, schema := range schemas {
		data, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return err
		}
		path := filepath.Join(args[0], name+".json")
		data = append(data, '\n')
		// What is the same isn't touched.
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
			continue
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
