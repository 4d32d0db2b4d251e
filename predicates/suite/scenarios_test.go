package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

// Each file of testdata/scenarios is a scenario, by its id: events cases that say
// what a waiter must see. The whole trace is the golden, so that what no step
// expects doesn't change unnoticed either.
func TestScenarios(t *testing.T) {
	const dir = "testdata/scenarios"
	files, err := filepath.Glob(filepath.Join(dir, "[A-Z]*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	report := NewRunner([]engine.Operation{{
		Name: "Provision", Kind: "Disk", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "disks"},
	}}).Files(t.Context(), files...)
	for _, p := range report.Problems {
		t.Error(p)
	}
	if got := len(report.Suites); got != len(files) || got < 30 {
		t.Fatalf("%d scenarios were played, of %d files; want at least 30", got, len(files))
	}
	for i := range report.Suites {
		s := &report.Suites[i]
		t.Run(strings.TrimSuffix(filepath.Base(s.File), ".yaml"), func(t *testing.T) {
			var trace strings.Builder
			for i := range s.Checks {
				c := &s.Checks[i]
				if !c.Passed() {
					var failure bytes.Buffer
					writeFailure(&failure, c)
					t.Errorf("%s:\n%s", c.Name, failure.String())
				}
				trace.WriteString("# " + c.Name + "\n" + strings.Join(c.Trace, "\n") + "\n")
			}
			golden := strings.TrimSuffix(s.File, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(trace.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), trace.String()); diff != "" {
				t.Errorf("(- %s, + got; -update if it is meant):\n%s", golden, diff)
			}
		})
	}
}
