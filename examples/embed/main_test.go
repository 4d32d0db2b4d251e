package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output:
	// pod-ready (version 1): Pending
	// pod-running: Done
}

// Every example begins with the line by which an editor finds the schema, and the
// schema is there.
func TestExamplesNameTheirSchema(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("apiVersion: donewhen.dev/")) {
			return err
		}
		found++
		first, _, _ := strings.Cut(string(data), "\n")
		schema, ok := strings.CutPrefix(first, "# yaml-language-server: $schema=")
		if !ok {
			t.Errorf("%s doesn't begin with the line of the YAML language server", path)
			return nil
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(schema))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d examples, %v", found, err)
	}
}
