package suite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/donewhen/donewhen/predicates"
)

// FuzzParse: whatever the file holds, Parse returns suites or says by line what is
// wrong, and what it returns can be run.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/reference/*.yaml", "../../provisioner/defaults/*_test.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(header + "  objects: {a: {from: $b}, b: {from: $a}}\n  cases:\n  - {name: c, predicate: claim-bound, object: $a, expect: Done}\n"))
	f.Add([]byte(header + "  states: {a.b: [x]}\n  cases:\n  - {name: c, operation: Provision, object: file, sweep: {path: a.b, expect: {'': Done, x: Failed}}}\n"))
	under, err := predicates.NewSet(operations(), predicates.Source{Name: "set", Files: []predicates.File{{Name: "set.yaml", Data: []byte(set)}}})
	if err != nil {
		f.Fatal(err)
	}
	read := func(string) ([]byte, error) {
		return []byte("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, status: {phase: Bound}}"), nil
	}
	runner := NewRunner(operations())
	f.Fuzz(func(t *testing.T, data []byte) {
		suites, err := Parse(predicates.File{Name: "dir/s.yaml", Data: data}, read)
		var load *predicates.LoadError
		if err != nil && (!errors.As(err, &load) || len(load.Problems) == 0) {
			t.Fatalf("error %v isn't a LoadError with problems", err)
		}
		if load != nil {
			for _, p := range load.Problems {
				if p.Line < 1 || p.Column < 1 || p.Message == "" {
					t.Errorf("problem without a place or a message: %+v", p)
				}
			}
		}
		report := runner.Run(t.Context(), under, suites...)
		for _, s := range report.Suites {
			for i := range s.Checks {
				if c := &s.Checks[i]; c.Want == nil || c.Line < 1 {
					t.Errorf("check %q without expectation or place", c.Name)
				}
			}
		}
	})
}
