package codecache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

const digest = "0123456789abcdef"

func open(t *testing.T, dir, salt string) *Cache {
	t.Helper()
	c, err := Open(dir, salt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// compile has a module compiled, and reports whether it had to be rewritten.
func compile(t *testing.T, c *Cache, digest string) (rewritten bool, kept error) {
	t.Helper()
	ctx := t.Context()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(c.Engine()))
	meta, compiled, kept, err := c.Compile(ctx, digest, func() (*rewrite.Rewritten, error) {
		rewritten = true
		return rewrite.Module(fixture.Read(t, "../rewrite/testdata/arithmetic.wasm"), 1)
	}, engine.CompileModule)
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close(ctx)
	if len(meta.Exports) == 0 || meta.Binary != nil {
		t.Errorf("what is known of the module: %+v", meta)
	}
	return rewritten, kept
}

func TestOtherVersions(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []bool{true, false} {
		if did, kept := compile(t, open(t, dir, "a"), digest); did != want || kept != nil {
			t.Errorf("rewritten %v, want %v; %v", did, want, kept)
		}
	}
	if did, _ := compile(t, open(t, dir, "b"), digest); !did {
		t.Error("what was made for another salt was taken")
	}
	c := open(t, dir, "a")
	if !strings.Contains(c.salt, "wazero-") || !strings.Contains(c.salt, "rewriter ") || !strings.Contains(c.salt, "go1") {
		t.Errorf("an entry is for %q", c.salt)
	}
	// Under the name of another module.
	if err := os.Rename(filepath.Join(dir, c.name(digest)), filepath.Join(dir, c.name("ff"))); err != nil {
		t.Fatal(err)
	}
	if did, _ := compile(t, c, "ff"); !did {
		t.Error("another module's code was taken")
	}
}

func TestErrorsOfOthers(t *testing.T) {
	c := open(t, t.TempDir(), "")
	want := errors.New("no")
	_, _, _, err := c.Compile(t.Context(), digest, func() (*rewrite.Rewritten, error) { return nil, want }, nil)
	if !errors.Is(err, want) {
		t.Error(err)
	}
	_, _, _, err = c.Compile(t.Context(), digest, func() (*rewrite.Rewritten, error) { return &rewrite.Rewritten{}, nil },
		func(context.Context, []byte) (wazero.CompiledModule, error) { return nil, want })
	if !errors.Is(err, want) || len(c.list()) != 0 {
		t.Error(err, c.list())
	}
}

// What other processes left behind goes, what they have under way stays.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"work-old": 2 * abandoned, "work-new": 0, "new-old": 2 * abandoned, "new-new": 0, "else": 2 * abandoned} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, dir, "")
	var left []string
	for _, f := range c.list() {
		left = append(left, f.Name())
	}
	if len(left) != 3 {
		t.Errorf("left is %v", left)
	}
}

// The entries that were not used for longest go, so that the directory stays in its
// bounds.
func TestShrink(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, "")
	for i, name := range []string{"oldest", "old", "new"} {
		file, err := os.Create(filepath.Join(dir, name+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(file.Truncate(maxTotal*2/5), file.Close()); err != nil { // a sparse file
			t.Fatal(err)
		}
		when := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(file.Name(), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if _, kept := compile(t, c, digest); kept != nil {
		t.Fatal(kept)
	}
	for name, want := range map[string]bool{"oldest" + suffix: false, "old" + suffix: true, "new" + suffix: true, c.name(digest): true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is read is used: it isn't the oldest any more.
func TestReadIsUse(t *testing.T) {
	c := open(t, t.TempDir(), "")
	compile(t, c, digest)
	then := time.Now().Add(-time.Hour)
	if err := c.root.Chtimes(c.name(digest), then, then); err != nil {
		t.Fatal(err)
	}
	compile(t, c, digest)
	if info, err := c.root.Stat(c.name(digest)); err != nil || time.Since(info.ModTime()) > time.Minute {
		t.Errorf("used last at %v, %v", info.ModTime(), err)
	}
}

// The engine believes what lies in its directory, so one that is there already isn't
// used.
func TestPlanted(t *testing.T) {
	c := open(t, t.TempDir(), "")
	if err := os.MkdirAll(c.own, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := c.Compile(t.Context(), digest, nil, nil); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
}

// What the engine works with lies in the cache, and among temporary files only those
// that others can't replace.
func TestPlaceOfWork(t *testing.T) {
	dir := t.TempDir()
	if c := open(t, dir, ""); filepath.Dir(c.work) != dir {
		t.Errorf("it works in %s", c.work)
	}
	for mode, safe := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o777: false, 0o770: false, 0o777 | os.ModeSticky: true} {
		place := t.TempDir()
		if err := os.Chmod(place, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(place)
		if err != nil {
			t.Fatal(err)
		}
		if err := trustedPlace(info); (err == nil) != safe {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

// An entry that the engine can make nothing of is made anew, though the engine's file
// has the same name.
func TestRefused(t *testing.T) {
	c := open(t, t.TempDir(), "")
	compile(t, c, digest)
	e, err := c.read(c.name(digest))
	if err != nil {
		t.Fatal(err)
	}
	good := string(e.native)
	e.native = []byte(strings.Replace(good, "WAZEVO", "WAZEVO\x01x", 1)) // of another version
	if err := c.write(c.name(digest), e); err != nil {
		t.Fatal(err)
	}
	if _, kept := compile(t, c, digest); kept != nil {
		t.Fatal(kept)
	}
	if e, err = c.read(c.name(digest)); err != nil || string(e.native) != good {
		t.Errorf("the entry wasn't made anew: %v", err)
	}
}

// A cache whose name leads elsewhere by now isn't used.
func TestReplaced(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(parent, "none"))
	dir := filepath.Join(parent, "cache")
	c := open(t, dir, "")
	if err := errors.Join(os.Rename(dir, dir+"-moved"), os.MkdirAll(c.own, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, _, _, err := c.Compile(t.Context(), digest, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Error(err)
	}
}
