package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata/golden")

// execute runs the program as main does and returns what it leaves behind.
func execute(ctx context.Context, args ...string) (code int, out, errs string) {
	var outBuffer, errBuffer bytes.Buffer
	code = run(ctx, "donewhen", args, streams{in: strings.NewReader(""), out: &outBuffer, err: &errBuffer})
	return code, outBuffer.String(), errBuffer.String()
}

// Exit codes are what scripts go by, and errors are one line that says what to do.
func TestExitCodes(t *testing.T) {
	unwritable := filepath.Join(t.TempDir(), "missing", "report.xml")
	for _, c := range []struct {
		name string
		args []string
		code int
		errs string // the last line of the error stream
	}{
		{"all passed", []string{"test", "testdata/example/claim_test.yaml"}, 0, ""},
		{"lint: no errors", []string{"lint", "testdata/lint/doubtful.yaml"}, 0, ""},
		{"lint: warnings, strictly", []string{"lint", "--strict", "testdata/lint/doubtful.yaml"}, 2, "donewhen: 0 errors, 2 warnings"},
		{"lint: errors", []string{"lint", "testdata/lint/wrong.yaml"}, 2, "donewhen: 4 errors, 0 warnings"},
		{"lint: the driver's own set", []string{"lint", "--strict", defaultsDir}, 0, ""},
		{"lint: the standard input", []string{"lint", "-"}, 2, "donewhen: can't read -: predicates come from files and directories, only objects from the standard input; try /dev/stdin"},
		{"lint: a suite", []string{"lint", "testdata/example/claim_test.yaml"}, 2, "donewhen: no predicate or binding in testdata/example/claim_test.yaml; suites are run by donewhen test"},
		{"schema: two", []string{"schema", "predicate", "suite"}, 2, "donewhen: name one kind of document, or none for files with all of them: donewhen schema predicate"},
		{"operations: an argument", []string{"operations", "x"}, 2, "donewhen: \"x\" is one argument too many: donewhen operations takes none; see donewhen operations --help"},
		{"lint: no such file", []string{"lint", "testdata/nowhere"}, 2, "donewhen: can't read testdata/nowhere: no such file or directory"},
		{"lint: nothing to look at", []string{"lint", "testdata/golden"}, 2, "donewhen: no predicate or binding in testdata/golden"},
		{"lint: no path", []string{"lint"}, 2, "donewhen: name a file or directory with predicates: donewhen lint DIR"},
		{"lint: no junit", []string{"lint", "-o", "junit", "testdata/lint"}, 2, "donewhen: unknown output format \"junit\"; there are text and json, each with =FILE to write a file"},
		{"lint: a schema that isn't there", []string{"lint", "--schema", "testdata/nowhere", "testdata/lint"}, 2, "donewhen: --schema: read schemas from testdata/nowhere: no such file or directory"},
		{"a case failed", []string{"test", "testdata/example/failing.yaml"}, 1, "donewhen: 2 of 3 checks failed"},
		{"a case failed, others passed", []string{"test", "-q", "testdata/example/claim_test.yaml", "testdata/example/failing.yaml"}, 1, "donewhen: 2 of 10 checks failed"},
		{"a suite doesn't load", []string{"test", "testdata/example/broken.yaml"}, 2, "donewhen: 1 problem kept suites from running"},
		{"a suite doesn't load, another failed", []string{"test", "testdata/example/broken.yaml", "testdata/example/failing.yaml"}, 2, "donewhen: 1 problem kept suites from running"},
		{"no such file", []string{"test", "testdata/nowhere"}, 2, "donewhen: 1 problem kept suites from running"},
		{"K77 no suites", []string{"test", "testdata/example/claim.yaml"}, 4, "donewhen: nothing ran: no suite with a case in testdata/example/claim.yaml; --allow-empty if that is meant"},
		{"K77 a suite without cases", []string{"test", "testdata/example/empty.yaml"}, 4, "donewhen: nothing ran: no suite with a case in testdata/example/empty.yaml; --allow-empty if that is meant"},
		{"K77 nothing matches", []string{"test", "--run", "zzz", "testdata/example/claim_test.yaml"}, 4, "donewhen: nothing ran: no check in testdata/example/claim_test.yaml matches --run \"zzz\""},
		{"K77 allowed", []string{"test", "--allow-empty", "testdata/example/empty.yaml"}, 0, ""},
		{"only what passes", []string{"test", "--run", "nobody", "testdata/example/failing.yaml"}, 0, ""},

		{"no path", []string{"test"}, 2, "donewhen: name a file or directory with suites: donewhen test DIR"},
		{"unknown flag", []string{"test", "--outptu", "x"}, 2, "donewhen: unknown flag: --outptu; see donewhen test --help"},
		{"bad expression", []string{"test", "--run", "(", "x"}, 2, "donewhen: --run: error parsing regexp: missing closing ): `(`"},
		{"unknown format", []string{"test", "-o", "yaml", "x"}, 2, "donewhen: unknown output format \"yaml\"; there are text, json and junit, each with =FILE to write a file"},
		{"two formats on one stream", []string{"test", "-o", "json", "-o", "junit", "x"}, 2, "donewhen: only one output format can go to the standard output; write the others to files with =FILE"},
		{"a format without its file", []string{"test", "-o", "junit=", "x"}, 2, "donewhen: output \"junit=\" names no file"},
		{"a report that can't be written", []string{"test", "-q", "-o", "junit=" + unwritable, "testdata/example/claim_test.yaml"}, 2, "donewhen: can't write the report: open " + unwritable + ": no such file or directory"},
		{"unknown command", []string{"tset"}, 2, "donewhen: unknown command \"tset\"; did you mean \"test\"?"},
		{"unknown command, nothing near", []string{"frobnicate"}, 2, "donewhen: unknown command \"frobnicate\"; see donewhen --help"},
		{"help", nil, 0, ""},
		{"version", []string{"version"}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := execute(t.Context(), c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(errs), "\n")
			if last := lines[len(lines)-1]; last != c.errs {
				t.Errorf("error stream ends with\n%s\nwant\n%s", last, c.errs)
			}
			if strings.Contains(out+errs, "Usage:") != (c.name == "help") {
				t.Errorf("usage where it doesn't belong, or none:\n%s%s", out, errs)
			}
		})
	}
}

// costs finds what evaluating has cost, in text and JSON.
var costs = regexp.MustCompile(`((?:cost|spent)"?:? )[0-9]+`)

func TestGoldenOutput(t *testing.T) {
	for file, args := range map[string][]string{
		"example.txt": {"test", "testdata/example/claim_test.yaml"},
		"failing.txt": {"test", "testdata/example/failing.yaml"},
		"broken.txt":  {"test", "testdata/example/broken.yaml"},
		"quiet.txt":   {"test", "-q", "testdata/example/claim_test.yaml", "testdata/example/failing.yaml"},

		"test_warnings.txt": {"test", "testdata/lint/doubtful_test.yaml"},
		"lint.txt":          {"lint", "testdata/lint"},
		"lint_doubtful.txt": {"lint", "testdata/lint/doubtful.yaml"},
		"lint_clean.txt":    {"lint", "--strict", "testdata/lint/clean.yaml"},
		"lint_strict.txt":   {"lint", "--alone", "--strict", "testdata/lint/doubtful.yaml"},
		"lint_json.txt":     {"lint", "-o", "json", "testdata/lint"},

		"inspect.txt":         {"inspect", guests + "attached.wasm"},
		"inspect_sample.txt":  {"inspect", "--object", "testdata/inspect/object.yaml", "--settings", "testdata/inspect/settings.yaml", guests + "attached.wasm"},
		"inspect_refused.txt": {"inspect", "--object", "testdata/inspect/object.yaml", guests + "attached.wasm"},
		"inspect_fresh.txt":   {"inspect", guests + "hostile/table_set.wasm"},
		"inspect_big.txt":     {"inspect", "--param", "size=3", guests + "hostile/nine_megabytes.wasm"},
		"inspect_json.txt":    {"inspect", "-o", "json", "--object", "testdata/inspect/object.yaml", "--settings", "testdata/inspect/settings.yaml", guests + "attached.wasm"},

		"eval.txt":               rollout("eval", "--param", "image=app:2", "testdata/explain/deployment.yaml", "testdata/explain/several.yaml"),
		"eval_json.txt":          rollout("eval", "--param", "image=app:2", "-o", "json", "testdata/explain/deployment.yaml"),
		"explain.txt":            rollout("explain", "--param", "image=app:2", "--param", "minReady=2", "testdata/explain/deployment.yaml"),
		"explain_several.txt":    rollout("explain", "--param", "image=app:2", "testdata/explain/several.yaml"),
		"explain_json.txt":       rollout("explain", "--param", "image=app:2", "-o", "json", "testdata/explain/deployment.yaml"),
		"explain_redact.txt":     rollout("explain", "--param", "image=app:2", "--redact", "spec.replicas", "--redact", "status.conditions[*].status", "testdata/explain/deployment.yaml"),
		"explain_absent.txt":     {"explain", "--operation", "CreateVolume", "--absent", "deleted", azureObjects + "03-azvolume-created.yaml"},
		"explain_azure.txt":      {"explain", "--operation", "CreateVolume", azureObjects + "01-azvolume-pending.yaml", azureObjects + "02-azvolume-creating.yaml", azureObjects + "03-azvolume-created.yaml", azureObjects + "04-azvolume-creation-failed.yaml", azureObjects + "10-azvolume-being-deleted.yaml"},
		"explain_azure_node.txt": {"explain", "--operation", "ControllerPublishVolume", "--param", "volumeName=pvc-3f6c1d9e-0a52-4f7b-9c1e-7d2b8a4e5c03", "--param", "nodeName=aks-pool1-00000000-vmss000001", azureObjects + "05-azvolumeattachment-attaching-with-lun.yaml", azureObjects + "06-azvolumeattachment-attached-primary.yaml"},
	} {
		t.Run(file, func(t *testing.T) {
			_, out, errs := execute(t.Context(), args...)
			out = costs.ReplaceAllString(out, "${1}N") // which is how expressions are evaluated, not what they mean
			got := "$ donewhen " + strings.Join(args, " ") + "\n" + out + "--- error stream\n" + errs
			golden := filepath.Join("testdata", "golden", file)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(- %s, + got; -update if it is meant):\n%s", golden, diff)
			}
		})
	}
}

// K75: the standard output holds the format and nothing else, or, if that went to
// a file, the text for people.
func TestK75_MachineOutputIsClean(t *testing.T) {
	args := func(output string) []string {
		return []string{"test", "-o", output, "testdata/example/failing.yaml", "testdata/example/broken.yaml"}
	}
	_, out, errs := execute(t.Context(), args("json")...)
	var report struct{ Passed, Failed int }
	decoder := json.NewDecoder(strings.NewReader(out))
	if err := decoder.Decode(&report); err != nil || report.Passed != 1 || report.Failed != 2 {
		t.Errorf("JSON: %+v, %v", report, err)
	}
	if rest := strings.TrimSpace(out[decoder.InputOffset():]); rest != "" {
		t.Errorf("behind the JSON: %q", rest)
	}
	if !strings.Contains(errs, "claim-bond") {
		t.Errorf("the error stream doesn't say what is wrong: %q", errs)
	}

	_, out, _ = execute(t.Context(), args("junit")...)
	if !strings.HasPrefix(out, "<?xml") || !strings.HasSuffix(out, "</testsuites>\n") {
		t.Errorf("JUnit on the standard output is not alone:\n%s", out)
	}

	file := filepath.Join(t.TempDir(), "report.xml")
	_, text, _ := execute(t.Context(), args("junit="+file)...)
	if !strings.Contains(text, "FAIL  a lost claim can come back") || strings.Contains(text, "<") {
		t.Errorf("the text for people beside a JUnit file:\n%s", text)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal(data, &suites); err != nil || suites.Tests != 4 || suites.Failures != 2 || suites.Errors != 1 {
		t.Errorf("JUnit file: %+v, %v", suites, err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, errs := execute(ctx, "test", "testdata/example/claim_test.yaml"); code == 0 || !strings.Contains(errs, "interrupted") {
		t.Errorf("exit code %d, error stream %q", code, errs)
	}
}

// Installed as kubectl-donewhen it speaks of itself as it was called.
func TestKubectlPlugin(t *testing.T) {
	var out, errs bytes.Buffer
	run(t.Context(), "kubectl-donewhen", []string{"test", "--zzz"}, streams{out: &out, err: &errs})
	if got, want := errs.String(), "kubectl donewhen: unknown flag: --zzz; see kubectl donewhen test --help\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An operation of somebody else's program isn't just a typo.
func TestUnknownOperation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	text := "apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {name: s}\nspec:\n  predicates: [p.yaml]\n  cases:\n  - {name: c, operation: Deploy, absent: never, expect: Pending}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	predicate := "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: p}\nspec: {match: {apiVersion: v1, kind: Pod}, done: object.status.phase == 'x'}\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "p.yaml"), []byte(predicate), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, errs := execute(t.Context(), "test", file); !strings.Contains(errs, `unknown operation "Deploy"`) || !strings.Contains(errs, otherOperations) {
		t.Errorf("%s", errs)
	}
}
