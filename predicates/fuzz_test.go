package predicates

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// FuzzLoad: any bytes are a set, or problems with positions that are in the file;
// never a panic, never for long, and never with much memory. Seeds are short, or the
// fuzzer does little but shorten them; lines of 1 MiB are in TestHostileDocuments.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/errors/*.yaml", "testdata/good/*.yaml", "testdata/reference/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds: %v", err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, seed := range []string{
		"", "\x00", "\uFEFF", "---", "a: &a [*a, *a]", "a: *b", "<<: *a", "\t", "a:\r\n- b\rc: d", "{", "]", "!!binary a", "? a", "'", "\"\\",
		"%YAML 1.1\n---\na", strings.Repeat("[", 100), strings.Repeat("a: ", 50), "a: " + strings.Repeat("x", 300),
		predicate("p", "  done: |-\n    \u2028a\u0085b"), predicate("p", "  params: {a: {type: quantity, default: 1e999999999}}"),
		predicate("p", "  done: \""+`\u00`), predicate("p", "  done: "+strings.Repeat("(", 300)), strings.Repeat("a: 1\n---\n", 20),
	} {
		f.Add([]byte(seed))
	}
	good := predicate("p", "  done: |-\n    object.status.state == 'Created'") + "\n---\n" + binding("CreateVolume", "p", "")
	for _, change := range [][2]string{
		{"metadata: ", "metadata: &m "},
		{"metadata: {", "metadata: {<<: *m, "},
		{"spec:", "<<: &s {spec: {}}\nspec:"},
		{"spec:", "<<: [*a, *b]\nspec:"},
		{"spec:", "x: &x [&y [*x, *y]]\nspec:"},
		{"spec:", "spec: {}\nspec:"},
		{"kind: ", "kind: Predicate\nkind: "},
		{"\n", "\r\n"},
		{"\n", "\r"},
		{"  ", "\t"},
		{"Created", "Cre\x00ated"},
		{"apiVersion", "\uFEFFapiVersion"},
		{"---", "\uFEFF---"},
		{"\n---\n", "\n...\n"},
		{"Created", strings.Repeat("C", 2000)},
		{"object", strings.Repeat("(", 100) + "object"},
		{"object", strings.Repeat("[", 100)},
		{"  done: |-", "  done: >+9"},
		{"  done: |-", "  done: !!str |-"},
		{"  done:", "  ? done\n  :"},
		{"  done:", "  \"do\\x6ee\":"},
		{"  done:", "  wasm: {module: {oci: {path: ../x}}}\n  done:"},
		{"  done:", "  params: &p {a: {type: list, default: [*p]}}\n  done:"},
		{"  done:", "  match: " + strings.Repeat("{a: ", 100) + "\n  done:"},
		{"  done:", strings.Repeat("  - ", 100) + "\n  done:"},
	} {
		changed := strings.ReplaceAll(good, change[0], change[1])
		if changed == good {
			f.Fatalf("%q changes nothing", change)
		}
		f.Add([]byte(changed))
	}
	l, err := NewLoader(catalogue())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		set, err := l.load([]Source{{Name: "fuzz", Files: []File{{Name: "f.yaml", Data: data}}}}, nil)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		runtime.ReadMemStats(&after)
		if used, allowed := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+400*len(data)); used > allowed {
			t.Errorf("%d bytes took %d KiB of allocations, want %d at most", len(data), used>>10, allowed>>10)
		}
		if err == nil {
			if set.Digest() == "" {
				t.Error("the set has no digest")
			}
			return
		}
		var load *LoadError
		if !errors.As(err, &load) || len(load.Problems) == 0 {
			t.Fatalf("error %T %v", err, err)
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + strings.Count(string(data), "\u0085") +
			strings.Count(string(data), "\u2028") + strings.Count(string(data), "\u2029") + 1
		for _, p := range load.Problems {
			if p.Message == "" {
				t.Errorf("a problem without a message: %+v", p)
			}
			if p.File != "" && (p.Line < 1 || p.Line > lines+1 || p.Column < 1) {
				t.Errorf("position %d:%d isn't in the file's %d lines: %s", p.Line, p.Column, lines, p.Message)
			}
		}
	})
}
