package source_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/source"
)

func TestLastGoodFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "last-good.json")
	file := source.NewLastGoodFile(path)
	if sources, err := file.Load(); sources != nil || err != nil {
		t.Errorf("before the first Save: %v, %v", sources, err)
	}
	want := []predicates.Source{
		{Name: "configmap n/a", Files: []predicates.File{{Name: "p.yaml", Data: []byte("kind: <Predicate> & \x00\xff\n")}}},
		{Name: "configmap n/b"},
	}
	for _, sources := range [][]predicates.Source{want[1:], want} {
		if err := file.Save(sources); err != nil {
			t.Fatal(err)
		}
		got, err := file.Load()
		if diff := cmp.Diff(sources, got); err != nil || diff != "" {
			t.Errorf("error %v, (- saved, + loaded):\n%s", err, diff)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left beside it: %v, %v", entries, err)
	}

	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"cut":            good[:len(good)-10],
		"empty":          {},
		"one byte":       bytes.Replace(good, []byte("n/a"), []byte("n/c"), 1),
		"another format": bytes.Replace(good, []byte(`"format":1`), []byte(`"format":2`), 1),
		"no digest":      bytes.Replace(good, []byte(`"sha256"`), []byte(`"sha1"`), 1),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if sources, err := file.Load(); err == nil || sources != nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("%s: %v, %v", name, sources, err)
		}
	}
	if err := source.NewLastGoodFile(filepath.Join(dir, "nowhere", "f")).Save(want); err == nil || !strings.Contains(err.Error(), "may this program write there?") {
		t.Errorf("no such directory: %v", err)
	}
}
