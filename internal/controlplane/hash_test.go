package controlplane

import (
	"path/filepath"
	"testing"
)

func TestHashSource(t *testing.T) {
	src := filepath.Join(clone(t), sourceDir)
	hash := func(salt ...string) string {
		t.Helper()
		h, err := hashSource(src, salt)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := hash("go1.26")
	if hash("go1.26") != first {
		t.Error("the hash isn't stable")
	}
	if hash("go1.27") == first || hash("go1", ".26") == first {
		t.Error("another salt has the same hash")
	}
	for _, file := range []string{"main_test.go", "README.md", ".git/x.go", "testdata/x.go"} {
		write(t, filepath.Join(src, file), "package x\n")
		if hash("go1.26") != first {
			t.Errorf("%s counts, but isn't part of the program", file)
		}
	}
	seen := map[string]string{first: "the original"}
	for _, file := range []string{"go.sum", "go.mod", "main.go", "state/state.go"} {
		write(t, filepath.Join(src, file), "// changed\n")
		h := hash("go1.26")
		if as, dup := seen[h]; dup {
			t.Errorf("after a change of %s the hash is that of %s", file, as)
		}
		seen[h] = file
	}
}
