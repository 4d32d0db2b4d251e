package rewrite

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// TestVersion fails when Module makes something else of the fixtures and Version is
// what it was: caches on disk would go on serving what the old one made.
func TestVersion(t *testing.T) {
	const golden = "testdata/version.json"
	type made struct {
		Version int               `json:"version"`
		Sums    map[string]string `json:"sums"`
	}
	got := made{Version, map[string]string{}}
	for _, dir := range []string{"testdata", "../../testdata", "../../testdata/hostile"} {
		for _, path := range fixture.Names(t, dir) {
			m, err := Module(fixture.Read(t, path), ample)
			text := ""
			if err != nil {
				text = err.Error()
			}
			meta, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			source, _ := os.ReadFile(path)
			sum := sha256.Sum256(append(meta, text...))
			// By the module's own sum too, so that a changed fixture is a new one.
			of := sha256.Sum256(source)
			got.Sums[fmt.Sprintf("%s %x", filepath.Base(path), of[:8])] = fmt.Sprintf("%x", sum[:8])
		}
	}
	var want made
	data, err := os.ReadFile(golden)
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if os.Getenv("DONEWHEN_UPDATE") != "" {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, sum := range want.Sums {
		if now, ok := got.Sums[name]; ok && now != sum && want.Version == Version {
			t.Errorf("the rewriter makes something else of %s than before: raise Version, then run the test with DONEWHEN_UPDATE=1", name)
		}
	}
	if os.Getenv("DONEWHEN_UPDATE") != "" && !t.Failed() {
		data, _ := json.MarshalIndent(got, "", "  ")
		if err := os.WriteFile(golden, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want.Version != Version {
		t.Errorf("Version is %d and what is kept is of %d: run the test with DONEWHEN_UPDATE=1", Version, want.Version)
	}
}
