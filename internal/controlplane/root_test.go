package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clone makes a directory that looks like a clone, with a server that only uses the standard library.
func clone(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "// The main module.\nmodule \"github.com/donewhen/donewhen\" // quoted\n\ngo 1.26\n")
	write(t, filepath.Join(root, sourceDir, "go.mod"), "module github.com/donewhen/donewhen/test/controlplane\n\ngo 1.26\n")
	write(t, filepath.Join(root, sourceDir, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFindRootPassesNestedModules(t *testing.T) {
	root := clone(t)
	deep := filepath.Join(root, sourceDir, "state")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Join(root, sourceDir), deep} {
		got, err := findRoot(dir)
		if err != nil || got != root {
			t.Errorf("from %s: got %q, %v, want %s", dir, got, err, root)
		}
	}
}

func TestFindRootOutsideClone(t *testing.T) {
	incomplete := t.TempDir()
	write(t, filepath.Join(incomplete, "go.mod"), "module "+modulePath+"\n")
	foreign := t.TempDir()
	write(t, filepath.Join(foreign, "go.mod"), "module example.test/other\n")
	for _, dir := range []string{t.TempDir(), foreign, incomplete} {
		_, err := findRoot(dir)
		if !errors.Is(err, ErrNotInClone) || !strings.Contains(err.Error(), "--kubeconfig") {
			t.Errorf("from %s: got error %v, want ErrNotInClone that names --kubeconfig", dir, err)
		}
	}
}
