package wasm

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// attachedAt has a fixture judge in a runtime with that cache directory, and closes it.
func attachedAt(t *testing.T, dir string) {
	t.Helper()
	rt, err := New(WithCacheDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	judgeAttached(t, rt)
	if rt.cached.off.Load() {
		t.Error("the cache isn't used")
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

func judgeAttached(t *testing.T, rt *Runtime) {
	t.Helper()
	ctx := context.Background()
	m, err := rt.Load(ctx, fixture.Read(t, "testdata/attached.wasm"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g, err := m.Guest(ctx, Use{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := evaluate(t, g, map[string]any{"state": "Attached"}); err != nil || r.Decision != Done {
		t.Errorf("Attached: %+v, %v", r, err)
	}
	if r, err := evaluate(t, g, map[string]any{"state": "Attaching"}); err != nil || r.Decision != Pending {
		t.Errorf("Attaching: %+v, %v", r, err)
	}
}

// onlyEntry returns what is kept.
func onlyEntry(t *testing.T, dir string) (string, fs.FileInfo) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.module"))
	if err != nil || len(all) != 1 {
		t.Fatalf("entries, not one: %v, %v", all, err)
	}
	info, err := os.Stat(all[0])
	if err != nil {
		t.Fatal(err)
	}
	return all[0], info
}

func TestCacheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "cache")
	attachedAt(t, dir)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it was made with the mode %v, %v", info.Mode(), err)
	}
	path, before := onlyEntry(t, dir)
	if before.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %v", path, before.Mode())
	}
	attachedAt(t, dir)
	// An entry that is written anew is another file.
	if _, after := onlyEntry(t, dir); !os.SameFile(before, after) {
		t.Error("the module was compiled again")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left is %v, %v", left, err)
	}
}

// What isn't whole is made anew: it holds machine code.
func TestCacheDamaged(t *testing.T) {
	dir := t.TempDir()
	attachedAt(t, dir)
	path, _ := onlyEntry(t, dir)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{"empty": {}, "half": good[:len(good)/2], "longer": append(bytes.Clone(good), 0)}
	for at := 0; at < len(good); at += 1 + len(good)/40 {
		changed := bytes.Clone(good)
		changed[at] ^= 0x10
		damaged[fmt.Sprintf("byte %d", at)] = changed
	}
	for name, content := range damaged {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		attachedAt(t, dir)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, good) {
			t.Errorf("%s: it wasn't made anew: %v", name, err)
		}
	}
}

// A directory that others can write is refused, as is one of somebody else's; an entry
// that others could have written is none.
func TestCacheOfOthers(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o770, 0o707, 0o777 | fs.ModeSticky} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := New(WithCacheDir(dir)); err == nil || !strings.Contains(err.Error(), dir+": its mode is 0") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	attachedAt(t, dir)
	path, before := onlyEntry(t, dir)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	attachedAt(t, dir)
	if _, after := onlyEntry(t, dir); os.SameFile(before, after) || after.Mode().Perm() != 0o600 {
		t.Error("an entry that others can write was believed")
	}
	if os.Geteuid() == 0 { // only root can give a directory away
		if err := os.Chown(dir, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := New(WithCacheDir(dir)); err == nil || !strings.Contains(err.Error(), "it belongs to user 1") {
			t.Errorf("a directory of another user: %v", err)
		}
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(WithCacheDir(file)); err == nil {
		t.Error("a file is taken for a directory")
	}
}

// cacheChild is the environment's name for the directory that a process of a test works
// with.
const cacheChild = "DONEWHEN_TEST_CACHE"

// TestCacheChild is what processes of the tests below do.
func TestCacheChild(t *testing.T) {
	if dir := os.Getenv(cacheChild); dir != "" {
		for range 5 {
			attachedAt(t, dir)
		}
	}
}

// child is another process that works with the directory.
func child(t *testing.T, program, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, "-test.run=^TestCacheChild$", "-test.v")
	cmd.Env = append(os.Environ(), cacheChild+"="+dir)
	return cmd
}

func TestCacheOfTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if out, err := child(t, os.Args[0], dir).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestCacheChild")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	_, before := onlyEntry(t, dir)
	attachedAt(t, dir)
	if _, after := onlyEntry(t, dir); !os.SameFile(before, after) {
		t.Error("what two processes left isn't whole")
	}
}

// A directory that can only be read serves what is there, and does no harm where that is
// nothing.
func TestCacheReadOnly(t *testing.T) {
	// Not t.TempDir: another user must come there, and read the program.
	parent, err := os.MkdirTemp("", "cache")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	program := filepath.Join(parent, "program")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(program, data, 0o755)
	for _, dir := range []string{"full", "empty", "tmp", "testdata"} {
		if err == nil {
			err = os.Mkdir(filepath.Join(parent, dir), 0o755)
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(parent, "testdata", "attached.wasm"), fixture.Read(t, "testdata/attached.wasm"), 0o644)
	}
	if err == nil {
		err = os.Chmod(filepath.Join(parent, "tmp"), 0o777|os.ModeSticky)
	}
	if err == nil {
		err = os.Chmod(parent, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	filled := child(t, program, filepath.Join(parent, "full"))
	filled.Dir = parent
	if out, err := filled.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path, before := onlyEntry(t, filepath.Join(parent, "full"))
	if err := os.Chmod(path, 0o644); err != nil { // as in an image
		t.Fatal(err)
	}
	for _, dir := range []string{"full", "empty"} {
		dir := filepath.Join(parent, dir)
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		cmd := child(t, program, dir)
		cmd.Dir = parent
		cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Join(parent, "tmp"))
		if os.Geteuid() == 0 { // rights don't bind root
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestCacheChild")) {
			t.Errorf("%v\n%s", err, out)
		}
		if told := bytes.Contains(out, []byte("can't be kept for the next start")); told != (filepath.Base(dir) == "empty") {
			t.Errorf("%s: it says\n%s", dir, out)
		}
	}
	if _, after := onlyEntry(t, filepath.Join(parent, "full")); !os.SameFile(before, after) {
		t.Error("the entry is another one")
	}
}

// Where the engine can't work with the cache, as on a full disk, modules are compiled
// without.
func TestCacheBroken(t *testing.T) {
	dir := t.TempDir()
	rt := newRuntime(t, WithCacheDir(dir))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		judgeAttached(t, rt)
	}
	if !rt.cached.off.Load() {
		t.Error("the cache is in use")
	}
}

// Without a place for temporary files, as in a container that can't be written, the
// cache is the place.
func TestCacheWithoutTemporaryFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	dir := t.TempDir()
	attachedAt(t, dir)
	_, before := onlyEntry(t, dir)
	attachedAt(t, dir)
	if _, after := onlyEntry(t, dir); !os.SameFile(before, after) {
		t.Error("the module was compiled again")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left is %v, %v", left, err)
	}
}
