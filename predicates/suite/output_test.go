package suite

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata/output")

// exampleReport has a check that passed, one that failed with everything that can
// be shown, and a suite that didn't run.
func exampleReport(t *testing.T) *Report {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	report := runCases(t, `  - {name: bound, object: $claim, expect: Done}
  - name: phases
    object: $claim
    sweep:
      path: status.phase
      expect:
        Lost: {verdict: Failed, code: Internal, reason: "", message: {equals: "<gone>"}}
        Stuck: {verdict: Failed, for: 1m, cause: Judge}
        "": {verdict: Done, missing: spec, message: {matches: "^a"}}
`, WithClock(clock))
	broken := runCases(t, "  - {name: c, object: $secret, expect: Done}\n", WithClock(clock))
	report.Problems = broken.Problems
	for i := range report.Suites {
		for j := range report.Suites[i].Checks {
			report.Suites[i].Checks[j].Predicate.Digest = "sha256:0" // not what this is about
		}
	}
	return report
}

func TestGoldenOutput(t *testing.T) {
	report := exampleReport(t)
	for file, write := range map[string]func(io.Writer) error{
		"report.txt":  func(w io.Writer) error { return report.WriteText(w, TextOptions{}) },
		"quiet.txt":   func(w io.Writer) error { return report.WriteText(w, TextOptions{Quiet: true, Color: true}) },
		"report.json": report.WriteJSON,
		"report.xml":  report.WriteJUnit,
	} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "output", file)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(- %s, + got; -update if it is meant):\n%s", golden, diff)
			}
		})
	}
}

// Machines read it: it must be well formed, and its counts must be those of the report.
func TestMachineOutputCounts(t *testing.T) {
	report := exampleReport(t)
	passed, failed := report.Count()

	var buffer bytes.Buffer
	if err := report.WriteJSON(&buffer); err != nil {
		t.Fatal(err)
	}
	var fromJSON struct {
		Passed, Failed int
		Problems       []any
	}
	if err := json.Unmarshal(buffer.Bytes(), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if fromJSON.Passed != passed || fromJSON.Failed != failed || len(fromJSON.Problems) != 1 {
		t.Errorf("JSON says %+v, want %d passed, %d failed, 1 problem", fromJSON, passed, failed)
	}

	buffer.Reset()
	if err := report.WriteJUnit(&buffer); err != nil {
		t.Fatal(err)
	}
	var fromXML junitReport
	if err := xml.Unmarshal(buffer.Bytes(), &fromXML); err != nil {
		t.Fatal(err)
	}
	if fromXML.Tests != passed+failed+1 || fromXML.Failures != failed || fromXML.Errors != 1 {
		t.Errorf("JUnit says %d tests, %d failures, %d errors", fromXML.Tests, fromXML.Failures, fromXML.Errors)
	}
	cases := 0
	for _, s := range fromXML.Suites {
		cases += len(s.Cases)
	}
	if cases != fromXML.Tests {
		t.Errorf("JUnit says %d tests and has %d", fromXML.Tests, cases)
	}
}
