package predicates

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// wasmLoader returns a loader that runs modules, and its runtime.
func wasmLoader(t testing.TB) (*Loader, *wasm.Runtime) {
	t.Helper()
	rt, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	l, err := NewLoader(catalogue(), WithWasm(rt))
	if err != nil {
		t.Fatal(err)
	}
	return l, rt
}

// fixture reads a module of package wasm's tests.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("wasm/testdata/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// modules is a source with the documents and modules.
func modules(t testing.TB, documents []string, names ...string) Source {
	s := source("test", documents...)
	for _, name := range names {
		s.Files = append(s.Files, File{Name: name[strings.LastIndex(name, "/")+1:] + ".wasm", Data: fixture(t, name), Binary: true})
	}
	return s
}

// verdictOf judges a volume in a state by a predicate of that spec.
func verdictOf(t *testing.T, l *Loader, spec, module, state string, params engine.Params) engine.Judgement {
	t.Helper()
	set, err := l.Load(modules(t, []string{predicate("p", spec)}, module))
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Predicate("p")
	if err != nil {
		t.Fatal(err)
	}
	return mustBind(t, p, params).Describe(t.Context(), observe(state))
}

func TestModuleJudges(t *testing.T) {
	l, _ := wasmLoader(t)
	const attached = "  wasm: {module: {file: attached.wasm}, settings: {strict: true}}\n"
	for _, c := range []struct {
		name, spec, module, state string
		want                      engine.Verdict
	}{
		{"done", attached, "attached", "Attached", engine.Verdict{Decision: engine.Done, Rule: "wasm"}},
		{"failed", attached, "attached", "AttachmentFailed", engine.Verdict{
			Decision: engine.Failed, Code: codes.Internal, Reason: "AttachFailed", Message: "AttachmentFailed", Rule: "wasm",
		}},
		{"pending", attached, "attached", "x", engine.Verdict{Message: "waiting for the disk", Rule: "wasm"}},
		{"crash", "  wasm: {module: {file: unreachable.wasm}}\n", "hostile/unreachable", "x", engine.Verdict{
			Decision: engine.Failed, Code: codes.Internal, Cause: engine.CauseJudge, Reason: "Trap", Rule: "wasm", Message: "wasm: dw_evaluate: unreachable",
		}},
		{"crash, pending", "  wasm: {module: {file: unreachable.wasm}}\n  failurePolicy: Pending\n", "hostile/unreachable", "x", engine.Verdict{
			Cause: engine.CauseJudge, Reason: "Trap", Rule: "wasm", Message: "wasm: dw_evaluate: unreachable",
		}},
		{"little fuel", attached + "  limits: {fuel: 100}\n", "attached", "Attached", engine.Verdict{
			Decision: engine.Failed, Code: codes.Internal, Cause: engine.CauseJudge, Reason: "FuelExhausted", Rule: "wasm",
			Message: "wasm: dw_evaluate: the fuel is used up",
		}},
		{"cannot", "  wasm: {module: {file: cannot.wasm}}\n", "hostile/cannot", "x", engine.Verdict{
			Decision: engine.Failed, Code: codes.Internal, Cause: engine.CauseJudge, Reason: "GuestError", Rule: "wasm",
			Message: "wasm: the module cannot judge: no such publish context",
		}},
	} {
		spec := c.spec
		if c.name == "little fuel" {
			spec = strings.Replace(spec, ", settings: {strict: true}", "", 1)
			spec = strings.Replace(spec, "attached.wasm", "spin.wasm", 1)
			c.module = "hostile/spin"
		}
		got := verdictOf(t, l, spec, c.module, c.state, nil).Verdict
		got.Predicate = engine.PredicateID{}
		if got.Decision != c.want.Decision || got.Code != c.want.Code || got.Cause != c.want.Cause ||
			got.Reason != c.want.Reason || got.Message != c.want.Message || got.Rule != c.want.Rule {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestModulePolicies: absence, termination and generation are decided without the
// module, as for rules.
func TestModulePolicies(t *testing.T) {
	l, _ := wasmLoader(t)
	set, err := l.Load(modules(t, []string{predicate("p", "  wasm: {module: {file: unreachable.wasm}}\n")}, "hostile/unreachable"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := set.Predicate("p")
	judge := mustBind(t, p, nil)
	never := observe("x")
	never.Presence, never.Object = engine.NeverExisted, nil
	if v := judge.Describe(t.Context(), never).Verdict; v.Reason != engine.ReasonNeverExisted || v.Decision != engine.Pending {
		t.Errorf("absent: %+v", v)
	}
	for field, want := range map[string]string{"deletionTimestamp": engine.ReasonObjectTerminating, "generation": engine.ReasonGenerationLag} {
		o := observe("x")
		meta := o.Object.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()
		if field == "generation" {
			meta["metadata"].(map[string]any)[field] = int64(3)
			meta["status"].(map[string]any)["observedGeneration"] = int64(2)
		} else {
			meta["metadata"].(map[string]any)[field] = "2026-03-02T09:22:48Z"
		}
		if v := judge.Describe(t.Context(), o).Verdict; v.Reason != want || v.Cause != engine.CauseOperation {
			t.Errorf("%s: %+v", field, v)
		}
	}
}

// TestModuleCodes is about what a guest says of its failure: echo gives back the
// type and text of a path, so that its code is T5.
func TestModuleCodes(t *testing.T) {
	l, _ := wasmLoader(t)
	spec := "  params: {path: {type: string, default: /object/status/state, sensitive: true}}\n" +
		"  wasm: {module: {file: echo.wasm}}\n  stableFor: 10s\n"
	j := verdictOf(t, l, spec, "echo", "Created", nil)
	if len(j.Holding) != 1 || j.Holding[0].For != 10*time.Second || j.Verdict.Decision != engine.Pending {
		t.Fatalf("with stableFor: %+v", j)
	}
	if v := j.Holding[0].Verdict; v.Decision != engine.Done || v.Reason != "T5" || v.Message != "Created" {
		t.Errorf("once it has held: %+v", v)
	}
	// What is sensitive isn't in any text.
	v := verdictOf(t, l, spec, "echo", "x", engine.Params{"path": "/params/path"}).Holding[0].Verdict
	if strings.Contains(v.Message, "path") || v.Message != "•••" {
		t.Errorf("a sensitive param is shown: %q", v.Message)
	}
}

// What is sensitive isn't in what a module logs either.
func TestModuleLogHides(t *testing.T) {
	l, _ := wasmLoader(t)
	spec := "  params: {key: {type: string, sensitive: true}}\n  wasm: {module: {file: log.wasm}}\n"
	set, err := l.Load(modules(t, []string{predicate("p", spec)}, "log"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Predicate("p")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	if j := mustBind(t, p, engine.Params{"key": "hidden-word"}).Describe(ctx, observe("3 it is hidden-word")); j.Verdict.Decision != engine.Done {
		t.Fatalf("%+v", j)
	}
	if text := log.String(); !strings.Contains(text, `text="3 it is •••"`) {
		t.Errorf("it logs %s", text)
	}
}

func TestModuleProblems(t *testing.T) {
	l, _ := wasmLoader(t)
	for _, c := range []struct{ name, spec, want string }{
		{"no file", "  wasm: {module: {file: atached.wasm}}\n", `a.yaml:6:25: Predicate p: spec.wasm.module: the source has no file "atached.wasm"; did you mean "attached.wasm"?`},
		{"no module", "  wasm: {module: {}}\n", "spec.wasm.module.file is missing"},
		{"oci", "  wasm: {module: {oci: {path: x}}}\n", "the source has no OCI image layout \"x\""},
		{"pin", "  wasm: {module: {file: attached.wasm}, sha256: abc}\n", "ModuleInvalid: the module's sha256 is"},
		{"text", "  wasm: {module: {file: a.yaml}}\n", "ModuleInvalid: no WebAssembly module"},
		{"imports", "  wasm: {module: {file: imports.wasm}}\n", "ImportDenied: the module imports what a predicate can't have: env.abort func (i32, i32)"},
		{"start", "  wasm: {module: {file: start_crash.wasm}}\n", "Trap: start the module: unreachable"},
		{"settings", "  wasm: {module: {file: attached.wasm}}\n", "ValidationRefused: the module refuses params and settings"},
		{"rules too", "  wasm: {module: {file: echo.wasm}}\n  done: 'true'\n", "a.yaml:7:3: Predicate p: spec.done: a module judges instead of rules"},
		{"code", "  wasm: {module: {file: echo.wasm}, code: Intern}\n", `"Intern" is no gRPC code`},
		{"much fuel", "  wasm: {module: {file: echo.wasm}}\n  limits: {fuel: 2G}\n", "spec.limits: fuel must be at most 1000000000"},
		{"cost", "  wasm: {module: {file: echo.wasm}}\n  limits: {cost: 5}\n", "spec.limits.cost is for rules"},
	} {
		_, err := l.Load(modules(t, []string{predicate("p", c.spec)}, "attached", "echo", "hostile/imports", "hostile/start_crash"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	_, err := l.Load(Source{Files: []File{{Name: "dir/p.yaml", Data: []byte(predicate("p", "  wasm: {module: {file: guest.wasm}}\n"))}}})
	if err == nil || !strings.Contains(err.Error(), `the source has no file "guest.wasm"; it would be dir/guest.wasm`) {
		t.Errorf("without modules: %v", err)
	}
	_, err = NewSet(catalogue(), modules(t, []string{predicate("p", "  wasm: {module: {file: attached.wasm}}\n")}, "attached"))
	if err == nil || !strings.Contains(err.Error(), "spec.wasm: this program runs no WebAssembly") {
		t.Errorf("without a runtime: %v", err)
	}
}

// TestModuleIdentity: a predicate is its module's content, not the file's name, and
// what hasn't changed isn't compiled again.
func TestModuleIdentity(t *testing.T) {
	l, rt := wasmLoader(t)
	load := func(file string, data []byte, comment string) string {
		t.Helper()
		s := source("test", comment+predicate("p", "  wasm: {module: {file: "+file+"}, settings: {strict: true}}\n"))
		s.Files = append(s.Files, File{Name: file, Data: data})
		set, err := l.Load(s)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := set.Predicate("p")
		return p.ID().Digest
	}
	attached, echo := fixture(t, "attached"), fixture(t, "echo")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(attached); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	first := load("a.wasm", attached, "")
	if load("b.wasm", attached, "# the same\n") != first || load("c.wasm.gz", zipped.Bytes(), "") != first {
		t.Error("the file's name or form changes the digest")
	}
	if load("a.wasm", echo, "") == first {
		t.Error("another module has the same digest")
	}
	// The sets are gone, and so are their modules.
	for deadline := time.Now().Add(30 * time.Second); rt.Memory() > 0; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still in use by sets that nobody has", rt.Memory())
		}
	}
}

// TestModuleValidatesBindings: a module says of each binding's constants whether it
// accepts them.
func TestModuleValidatesBindings(t *testing.T) {
	l, _ := wasmLoader(t)
	documents := []string{
		predicate("p", "  params: {a: string}\n  wasm: {module: {file: attached.wasm}}\n"),
		binding("CreateVolume", "p", "  params: {a: b}"),
	}
	_, err := l.Load(modules(t, documents, "attached"))
	if err == nil || !strings.Contains(err.Error(), "predicate p: ValidationRefused: the module refuses params and settings") {
		t.Errorf("got %v", err)
	}
	documents[0] = strings.Replace(documents[0], "attached.wasm}", "attached.wasm}, settings: {strict: true}", 1)
	if _, err := l.Load(modules(t, documents, "attached")); err != nil {
		t.Error(err)
	}
}

// TestK67_WrongDigest: a module that isn't the pinned one is refused, with both
// digests, and what was in force stays.
func TestK67_WrongDigest(t *testing.T) {
	l, _ := wasmLoader(t)
	var last Report
	store, err := l.NewStore(defaults(), WithObserver(func(r Report) { last = r }))
	if err != nil {
		t.Fatal(err)
	}
	update := func(sha256, state string) error {
		return store.Update(modules(t, []string{
			predicate("p", "  wasm: {module: {file: attached.wasm}, settings: {strict: true}, sha256: "+sha256+"} # "+state+"\n"),
		}, "attached"))
	}
	const right = "d1ec6420a5e8c2a515a2359e2a3322c0b9fc4bd9b62043d3f301125e7f7e304d"
	if err := update(right, "first"); err != nil {
		t.Fatal(err)
	}
	first := store.Set()
	wrong := strings.Repeat("a", 64)
	err = update(wrong, "second")
	if err == nil || !strings.Contains(err.Error(), "ModuleInvalid: the module's sha256 is "+right+", but it is pinned to "+wrong) {
		t.Errorf("a wrong digest: %v", err)
	}
	if store.Set() != first || last.Err == nil || last.Changed {
		t.Errorf("after a wrong digest another set is in force, or nobody is told: %+v", last)
	}
	p, err := first.Predicate("p")
	if err != nil {
		t.Fatal(err)
	}
	if v := mustBind(t, p, nil).Describe(t.Context(), observe("Attached")).Verdict; v.Decision != engine.Done {
		t.Errorf("the last good module says %+v", v)
	}
}

// TestK66_AModuleThatNoConfigMapHolds: of a module of 1.2 MiB there is a word where it
// is missing that says what to do, and what it says works.
func TestK66_AModuleThatNoConfigMapHolds(t *testing.T) {
	l, _ := wasmLoader(t)
	const size = 1_258_291
	big := append(fixture(t, "attached"), 0) // a custom section without a name
	big = append(binary.AppendUvarint(big, size+1), make([]byte, size+1)...)
	s := source("configmap n/predicates", predicate("p", "  wasm: {module: {file: big.wasm}, settings: {strict: true}}\n"))
	_, err := l.Load(s)
	if err == nil || !strings.Contains(err.Error(), `the source has no file "big.wasm"; a ConfigMap holds 1 MiB in all: a bigger module is gzipped, or comes from a directory, as a file or an OCI image layout`) {
		t.Errorf("without the module: %v", err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(big); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"configmap n/predicates": zipped.Bytes(), "directory /predicates": big} {
		s.Name, s.Files = name, append(s.Files[:1:1], File{Name: "big.wasm", Data: data, Binary: true})
		if _, err := l.Load(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if zipped.Len() > 1<<20 {
		t.Errorf("gzipped it has %d bytes", zipped.Len())
	}
}
