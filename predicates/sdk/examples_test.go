package sdk_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// with returns a status in that state with that LUN; nil is none.
func with(state, lun any) map[string]any {
	status := map[string]any{"detail": map[string]any{"role": "Primary"}}
	if state != nil {
		status["state"] = state
	}
	if lun != nil {
		status["detail"].(map[string]any)["publish_context"] = map[string]any{"LUN": lun}
	}
	return status
}

// failure returns the status of an attach that failed.
func failure(code, message string) map[string]any {
	return map[string]any{"state": "AttachmentFailed", "error": map[string]any{"code": code, "message": message}}
}

// judged are what the example makes of attachments, beyond what the suite has, which
// speaks of objects that the schema allows.
var judged = []struct {
	name          string
	status        map[string]any
	lun           any // of params
	decision      wasm.Decision
	code, message string
}{
	{"no status", nil, nil, wasm.Pending, "NoLUN", `state is "", there is no LUN yet`},
	{"number", with("Attached", "3"), nil, wasm.Done, "Attached", "attached at LUN 3"},
	{"path", with("Attached", "/dev/disk/azure/scsi1/lun12"), nil, wasm.Done, "Attached", "attached at LUN 12"},
	{"path and number", with("Attached", "/dev/disk/azure/scsi1/lun12"), "12", wasm.Done, "Attached", "attached at LUN 12"},
	{"other", with("Attached", "3"), "4", wasm.Pending, "OtherLUN", "attached at LUN 3, Publish returned LUN 4"},
	{"no LUN", with("Attached", nil), nil, wasm.Failed, "Internal/LUNMissing", "the attachment is complete but has no LUN"},
	{"empty LUN", with("Attached", ""), nil, wasm.Failed, "Internal/LUNMissing", "the attachment is complete but has no LUN"},
	{"LUN is no string", with("Attached", int64(3)), nil, wasm.Failed, "Internal/BadLUN", "no LUN from 0 to 63: "},
	{"promised", with("Attaching", "3"), nil, wasm.Pending, "Attaching", "LUN 3 is promised, the attach is running"},
	{"failed", failure("NOT_FOUND", "no such disk"), nil, wasm.Failed, "NOT_FOUND/AttachFailed", "no such disk"},
	{"failed, long code", failure(strings.Repeat("x", 49), "m"), nil, wasm.Failed, "AttachFailed", "m"},
	{"failed, long text", failure("INTERNAL", strings.Repeat("ä", 1600)), nil, wasm.Failed, "INTERNAL/AttachFailed", strings.Repeat("ä", 512)},
	{"failed, no error", map[string]any{"state": "AttachmentFailed"}, nil, wasm.Failed, "AttachFailed", "attach failed, no error was recorded"},
	{"leaving", with("Detaching", "3"), nil, wasm.Failed, "Aborted/DetachRequested", `state is "Detaching", the disk is being detached`},
}

// refused are settings and params that the example doesn't accept, "" if it does.
var refused = []struct {
	settings, params map[string]any
	want             string
}{
	{nil, nil, ""},
	{map[string]any{"maxLUN": int64(0)}, map[string]any{"lun": ""}, ""},
	{map[string]any{"maxLUN": int64(255)}, map[string]any{"lun": "255"}, ""},
	{map[string]any{"maxLUN": int64(256)}, nil, "settings.maxLUN must be"},
	{map[string]any{"maxLUN": int64(-1)}, nil, "settings.maxLUN must be"},
	{map[string]any{"maxLUN": "63"}, nil, "settings.maxLUN must be"},
	{map[string]any{"maxLUN": 6.5}, nil, "settings.maxLUN must be"},
	{map[string]any{"maxLUN": int64(15)}, map[string]any{"lun": "16"}, "params.lun is no LUN"},
	{nil, map[string]any{"lun": int64(3)}, "params.lun is no LUN"},
	{nil, map[string]any{"lun": "x"}, "params.lun is no LUN"},
}

// mostFuel is what an attached disk may cost in each language: what it does, with a
// quarter on top.
var mostFuel = map[string]int64{"wat": 6_000, "c": 12_000, "rust": 9_000, "assemblyscript": 90_000, "go": 370_000}

// mostBytes bounds the size of a module likewise.
var mostBytes = map[string]int{"wat": 3_000, "c": 5_000, "rust": 14_000, "assemblyscript": 11_000, "go": 2_500_000}

// TestExamples holds that the example does the same in every language, through the
// documents as well, and what it costs.
func TestExamples(t *testing.T) {
	for language := range examples {
		t.Run(language, func(t *testing.T) {
			binary := example(t, language)
			module := load(t, binary)
			t.Run("verdicts", func(t *testing.T) { verdicts(t, module) })
			t.Run("settings and params", func(t *testing.T) { settingsAndParams(t, module) })
			t.Run("cost", func(t *testing.T) { cost(t, language, module) })
			t.Run("suite", func(t *testing.T) { runSuite(t, language, binary) })
		})
	}
}

func verdicts(t *testing.T, module *wasm.Module) {
	guest := use(t, module, nil)
	ask := func(status map[string]any, lun any) (wasm.Result, error) {
		d := &wasm.Document{Object: attachment(status)}
		if lun != nil {
			d.Params = map[string]any{"lun": lun}
		}
		return guest.Evaluate(context.Background(), d, true)
	}
	for _, row := range judged {
		got, err := ask(row.status, row.lun)
		if err != nil || got.Decision != row.decision || got.Code != row.code || got.Message != row.message {
			t.Errorf("%s: %+v, %v; want %d, %s, %s", row.name, got, err, row.decision, row.code, row.message)
		}
	}
	if _, err := ask(with(int64(7), nil), nil); wasm.ReasonOf(err) != wasm.GuestError || !strings.Contains(err.Error(), "status.state is no word") {
		t.Errorf("a state that is a number: %v", err)
	}
}

func settingsAndParams(t *testing.T, module *wasm.Module) {
	for _, row := range refused {
		err := use(t, module, row.settings).Validate(context.Background(), row.params)
		if (err == nil) != (row.want == "") || err != nil && (wasm.ReasonOf(err) != wasm.ValidationRefused || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("settings %v, params %v: %v, want %q", row.settings, row.params, err, row.want)
		}
	}
}

// cost holds what doesn't depend on the machine. The words of a verdict are allocated,
// so the evaluation that mustn't allocate is pending.
func cost(t *testing.T, language string, module *wasm.Module) {
	guest, ctx := use(t, module, nil), context.Background()
	got, err := guest.Evaluate(ctx, attached(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d units of fuel", module.Size(), got.Fuel)
	if got.Fuel > mostFuel[language] {
		t.Errorf("it uses %d units of fuel, at most %d are expected", got.Fuel, mostFuel[language])
	}
	if module.Size() > mostBytes[language] {
		t.Errorf("it has %d bytes, at most %d are expected", module.Size(), mostBytes[language])
	}
	waiting := &wasm.Document{Object: attachment(with("Attaching", "3"))}
	if n := testing.AllocsPerRun(50, func() {
		if _, err := guest.Evaluate(ctx, waiting, false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per evaluation", n)
	}
}

// attached is what the example is measured on: an attached disk, with a path that is
// compared with the number that publish returned.
func attached() *wasm.Document {
	return &wasm.Document{
		Object: attachment(with("Attached", "/dev/disk/azure/scsi1/lun12")),
		Params: map[string]any{"lun": "12"},
	}
}

// runSuite runs the suite that all languages have, as donewhen test does.
func runSuite(t *testing.T, language string, binary []byte) {
	dir := t.TempDir()
	for _, sub := range []string{"bin", language} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("bin/"+language+".wasm", binary)
	for _, name := range []string{language + "/predicate.yaml", language + "/suite.yaml"} {
		data, err := os.ReadFile(filepath.Join(guests, name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, data)
	}
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	report := suite.NewRunner(nil, suite.WithLoading(predicates.WithWasm(runtime))).Files(t.Context(), dir)
	for _, p := range report.Problems {
		t.Error(p)
	}
	if len(report.Suites) != 1 || len(report.Suites[0].Checks) < 40 {
		t.Fatalf("%d suites ran", len(report.Suites))
	}
	for _, c := range report.Suites[0].Checks {
		if !c.Passed() {
			t.Errorf("%s failed; donewhen test says why", c.Name)
		}
	}
}
