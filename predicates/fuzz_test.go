package predicates

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzLoad: any bytes are a set, or problems with positions that are in the file;
// never a panic, and never for long. Seeds are short, or the fuzzer does little but
// shorten them; big files are TestHostileFiles of package document.
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
	l, err := NewLoader(catalogue())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		set, err := l.load([]Source{{Name: "fuzz", Files: []File{{Name: "f.yaml", Data: data}}}}, nil)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v", took)
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
