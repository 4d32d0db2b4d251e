package suite

import (
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
	runner := NewRunner([]engine.Operation{{
		Name: "Provision", Kind: "Disk", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "disks"},
	}})
	files, err := filepath.Glob(filepath.Join(dir, "[A-Z]*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 30 {
		t.Errorf("%d scenarios, want at least 30", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			report := runner.Files(t.Context(), file)
			if err := report.Err(); err != nil {
				t.Error(err)
			}
			var b strings.Builder
			for _, s := range report.Suites {
				for i := range s.Checks {
					b.WriteString("# " + s.Checks[i].Name + "\n" + strings.Join(s.Checks[i].Trace, "\n") + "\n")
				}
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(- %s, + got; -update if it is meant):\n%s", golden, diff)
			}
		})
	}
}
