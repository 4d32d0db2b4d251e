package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/source"
)

func TestLastGoodFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "last-good.json")
	file := source.NewLastGoodFile(path, nil)
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
	if err := source.NewLastGoodFile(filepath.Join(dir, "nowhere", "f"), nil).Save(want); err == nil || !strings.Contains(err.Error(), "may this program write there, and is there room?") {
		t.Errorf("no such directory: %v", err)
	}
}

// What others may write, or have put there, isn't believed, and is replaced by the next
// Save all the same.
func TestALastGoodFileThatOthersMayWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "last-good.json")
	sources := []predicates.Source{{Name: "configmap n/a"}}
	var warned []string
	file := source.NewLastGoodFile(path, func(err error) { warned = append(warned, err.Error()) })
	save := func() {
		t.Helper()
		if err := file.Save(sources); err != nil {
			t.Fatal(err)
		}
	}
	save()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("made with %v, %v", info.Mode(), err)
	}
	believed := func(what, not string) {
		t.Helper()
		got, err := file.Load()
		switch {
		case not == "" && (err != nil || len(got) != 1):
			t.Errorf("%s: %v, %v", what, got, err)
		case not != "" && (err == nil || got != nil || !strings.Contains(err.Error(), not)):
			t.Errorf("%s: %v, %v, want %q", what, got, err, not)
		}
	}
	believed("as it was made", "")
	for mode, not := range map[os.FileMode]string{0o644: "", 0o400: "", 0o602: "anybody may write it (mode 0602)", 0o666: "anybody may write it", 0o660: ""} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		believed(mode.String(), not)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "may write the last good predicates in "+path+" (mode 0660)") {
		t.Errorf("warned %q", warned)
	}

	moved := path + ".moved"
	if err := errors.Join(os.Chmod(path, 0o600), os.Rename(path, moved), os.Symlink(moved, path)); err != nil {
		t.Fatal(err)
	}
	believed("a link", "is a symbolic link: name the file itself")
	save()
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("after Save: %v, %v", info, err)
	}
	believed("after Save", "")

	warned = nil
	other := source.NewLastGoodFile(path, nil)
	for range 2 {
		if err := other.Save(sources); err != nil {
			t.Fatal(err)
		}
		save()
	}
	save()
	if len(warned) != 2 || !strings.Contains(warned[0], "give each driver a file of its own") {
		t.Errorf("two who write one file: warned %q", warned)
	}
}

// Where nothing can be written, or nothing more, Save says so in the same words each time,
// leaves what was there and nothing beside it.
func TestALastGoodFileWithoutRoom(t *testing.T) {
	if dir := os.Getenv("DONEWHEN_TEST_NO_ROOM"); dir != "" {
		// In a process of its own: the limit, in place of a full disk, is on all its files.
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
			t.Fatal(err)
		}
		file := source.NewLastGoodFile(filepath.Join(dir, "last-good.json"), nil)
		if err := file.Save([]predicates.Source{{Name: "small"}}); err != nil {
			t.Fatal(err)
		}
		large := []predicates.Source{{Name: "large", Files: []predicates.File{{Name: "a", Data: make([]byte, 1<<20)}}}}
		for range 2 {
			fmt.Println("Save:", file.Save(large))
		}
		got, err := file.Load()
		entries, _ := os.ReadDir(dir)
		fmt.Println("Load:", len(got), got[0].Name, err, len(entries))
		return
	}
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestALastGoodFileWithoutRoom$", "-test.v")
	command.Env = append(os.Environ(), "DONEWHEN_TEST_NO_ROOM="+dir)
	out, err := command.CombinedOutput()
	line := "Save: save the last good predicates in " + filepath.Join(dir, "last-good.json") + ": file too large; may this program write there, and is there room?\n"
	if err != nil || !strings.Contains(string(out), line+line+"Load: 1 small <nil> 1\n") {
		t.Errorf("%v, %s, want %s", err, out, line)
	}
	// Not even root writes there.
	var said []string
	for range 2 {
		said = append(said, source.NewLastGoodFile("/proc/last-good.json", nil).Save(nil).Error())
	}
	if said[0] != said[1] || !strings.Contains(said[0], "may this program write there") {
		t.Errorf("%q", said)
	}
}
