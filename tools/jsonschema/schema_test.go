package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const written = "../../predicates/jsonschema"

// What is committed is what the types say now.
func TestSchemasAreUpToDate(t *testing.T) {
	schemas, err := all()
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range schemas {
		want, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(written, name+".json"))
		if err != nil || !bytes.Equal(bytes.TrimSpace(got), want) {
			t.Errorf("%s.json isn't up to date (%v): make generate", name, err)
		}
	}
}

// validate returns what the schema says of each document in a file.
func validate(t *testing.T, schema *jsonschema.Schema, data []byte) (wrong []error) {
	t.Helper()
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return wrong
		case err != nil:
			t.Fatal(err)
		}
		wrong = append(wrong, schema.Validate(document))
	}
}

// The schema accepts every document that the loader accepts, in all short forms,
// and finds what an editor should find.
func TestDocuments(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(written, "donewhen.json"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, pattern := range []string{
		"../../provisioner/defaults/*.yaml", "../../predicates/testdata/good/all_fields.yaml", "../../predicates/testdata/reference/*.yaml",
		"../../predicates/suite/testdata/*/*.yaml", "../../examples/*/*.yaml", "../../examples/*/*/*.yaml",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), "donewhen.dev/v1alpha1") {
				continue
			}
			for i, err := range validate(t, schema, data) {
				n++
				if err != nil {
					t.Errorf("%s, document %d: %v", file, i+1, err)
				}
			}
		}
	}
	t.Logf("%d documents", n)
	if n < 80 {
		t.Errorf("only %d documents were found", n)
	}
	const good = "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: p}\nspec:\n  match: {apiVersion: v1, kind: Pod}\n  done: object.a == 1\n"
	for _, edit := range [][2]string{
		{"  done:", "  Done:"},
		{"kind: Predicate", "kind: Predicat"},
		{"v1alpha1", "v1"},
		{"metadata: {name: p}", "metadata: {}"},
		{"spec:\n", "spec:\n  expect: Absent\n"},
		{"spec:\n", "spec:\n  failed: [{expresion: 'true'}]\n"},
		{"object.a == 1", "''"},
		{"object.a == 1", "1"},
	} {
		if err := validate(t, schema, []byte(strings.Replace(good, edit[0], edit[1], 1)))[0]; err == nil {
			t.Errorf("%q for %q is accepted", edit[1], edit[0])
		}
	}
	if err := validate(t, schema, []byte(good))[0]; err != nil {
		t.Error(err)
	}
}
