package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/donewhen/donewhen/predicates"
)

// brisk has a source deliver at once, so that a test of many changes is short.
func brisk(o *options) { o.quiet, o.longest, o.poll = time.Millisecond, 20*time.Millisecond, time.Hour }

// follow runs the source, and returns what it delivers, one line each.
func follow(t *testing.T, f *Files) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	delivered, done := make(chan string, 1000), make(chan error, 1)
	go func() {
		done <- f.Run(ctx, func(s predicates.Source) {
			var text []string
			for _, f := range s.Files {
				content := string(f.Data)
				if f.Binary {
					content = "(binary)"
				}
				text = append(text, f.Name+"="+content)
			}
			delivered <- strings.Join(text, " ")
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return delivered
}

func expectNext(t *testing.T, delivered <-chan string, want string) {
	t.Helper()
	select {
	case got := <-delivered:
		if got != want {
			t.Fatalf("delivered %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing was delivered, want %q", want)
	}
}

// volume is a directory as the kubelet mounts a ConfigMap: each key is a link into
// ..data, itself a link to a directory of the content, which is swapped whole.
type volume struct {
	*testing.T
	dir  string
	last string
	n    int
}

func newVolume(t *testing.T) *volume { return &volume{T: t, dir: t.TempDir()} }

// write swaps the content as kubelet's atomic writer does: write beside, rename
// the link, then add and remove the keys' links, then remove the old content.
func (v *volume) write(content map[string]string) {
	v.Helper()
	v.n++
	fresh := fmt.Sprintf("..2026_11_30_%05d", v.n)
	v.must(os.Mkdir(filepath.Join(v.dir, fresh), 0o755))
	for key, text := range content {
		v.must(os.WriteFile(filepath.Join(v.dir, fresh, key), []byte(text), 0o644))
	}
	v.must(os.Symlink(fresh, filepath.Join(v.dir, "..data_tmp")))
	v.must(os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
	for key := range content {
		if err := os.Symlink(filepath.Join("..data", key), filepath.Join(v.dir, key)); !errors.Is(err, os.ErrExist) {
			v.must(err)
		}
	}
	entries, err := os.ReadDir(v.dir)
	v.must(err)
	for _, entry := range entries {
		if _, ok := content[entry.Name()]; !ok && !strings.HasPrefix(entry.Name(), "..") {
			v.must(os.Remove(filepath.Join(v.dir, entry.Name())))
		}
	}
	if v.last != "" {
		v.must(os.RemoveAll(filepath.Join(v.dir, v.last)))
	}
	v.last = fresh
}

func (v *volume) must(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

// A swapped link comes as create, write or remove of something else than the
// files. Each swap is seen, once, and by events: the poll is an hour away.
func TestK69_EachSwapOfAMountedConfigMapIsSeenOnce(t *testing.T) {
	v := newVolume(t)
	v.write(map[string]string{"a.yaml": "0"})
	delivered := follow(t, NewDirectory(v.dir, brisk))
	expectNext(t, delivered, "a.yaml=0")
	for i := 1; i <= 100; i++ {
		v.write(map[string]string{"a.yaml": fmt.Sprint(i), fmt.Sprintf("b%d.yaml", i%2): "x"})
		expectNext(t, delivered, fmt.Sprintf("a.yaml=%d b%d.yaml=x", i, i%2))
	}
	// The same content under new names of directories is no change; a deleted key is.
	v.write(map[string]string{"a.yaml": "100", "b0.yaml": "x"})
	v.write(map[string]string{"a.yaml": "100"})
	expectNext(t, delivered, "a.yaml=100")
	if len(delivered) > 0 {
		t.Errorf("delivered once more: %s", <-delivered)
	}
}

// deaf never hears of a change.
func deaf(o *options) {
	o.watch = func([]string, func(string) bool) (watcher, error) { return noWatcher{}, nil }
}

// The net below the events: what nobody tells of is found by reading.
func TestK69_WithoutEventsTheContentIsPolled(t *testing.T) {
	for name, opt := range map[string]Option{"no event comes": deaf, "nothing can be watched": func(o *options) {
		o.watch = func([]string, func(string) bool) (watcher, error) { return nil, errors.New("too many open files") }
	}} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakeClock(time.Now())
			reported := make(chan error, 10)
			v := newVolume(t)
			v.write(map[string]string{"a.yaml": "1"})
			delivered := follow(t, NewDirectory(v.dir, opt, WithClock(clock), WithErrorHandler(func(_ context.Context, err error) { reported <- err })))
			expectNext(t, delivered, "a.yaml=1")
			polled := func() {
				t.Helper()
				for deadline := time.Now().Add(20 * time.Second); !clock.HasWaiters(); {
					if time.Now().After(deadline) {
						t.Fatal("the source doesn't wait for its poll")
					}
				}
				clock.Step(pollInterval)
			}
			polled() // nothing has changed
			v.write(map[string]string{"a.yaml": "2"})
			polled()
			expectNext(t, delivered, "a.yaml=2")
			if name == "nothing can be watched" {
				if err := <-reported; !strings.Contains(err.Error(), "too many open files") {
					t.Error(err)
				}
			}
		})
	}
}

// A plain directory: files and directories come, change and go, and so does it.
func TestDirectoryThroughItsLife(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "predicates")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	delivered := follow(t, NewDirectory(dir, brisk))
	expectNext(t, delivered, "") // not there: nothing in it
	// Made elsewhere and moved there, as one change.
	made := dir + ".new"
	must(os.MkdirAll(filepath.Join(made, "more"), 0o755))
	must(os.WriteFile(filepath.Join(made, "a.yaml"), []byte("1"), 0o644))
	must(os.WriteFile(filepath.Join(made, "m.wasm"), []byte("\x00asm\x01"), 0o644))
	must(os.WriteFile(filepath.Join(made, ".hidden"), []byte("1"), 0o644))
	must(os.WriteFile(filepath.Join(made, "a.yaml~"), []byte("1"), 0o644))
	must(os.Rename(made, dir))
	expectNext(t, delivered, "a.yaml=1 m.wasm=(binary)")
	must(replaceFile(filepath.Join(dir, "more", "b.yaml"), "2"))
	expectNext(t, delivered, "a.yaml=1 m.wasm=(binary) more/b.yaml=2")
	must(os.Remove(filepath.Join(dir, "a.yaml")))
	expectNext(t, delivered, "m.wasm=(binary) more/b.yaml=2")
	must(os.WriteFile(filepath.Join(filepath.Dir(dir), "beside"), nil, 0o644)) // is no reason to read
	must(os.Rename(dir, dir+".old"))
	expectNext(t, delivered, "")
	must(os.Rename(dir+".old", dir))
	expectNext(t, delivered, "m.wasm=(binary) more/b.yaml=2")
}

func TestFileThroughItsLife(t *testing.T) {
	v := newVolume(t)
	v.write(map[string]string{"a.yaml": "1", "b.yaml": "2"})
	delivered := follow(t, NewFile(filepath.Join(v.dir, "a.yaml"), brisk))
	expectNext(t, delivered, "a.yaml=1")
	v.write(map[string]string{"a.yaml": "1", "b.yaml": "3"}) // not ours
	v.write(map[string]string{"a.yaml": "4"})
	expectNext(t, delivered, "a.yaml=4")
	v.write(map[string]string{"b.yaml": "3"})
	expectNext(t, delivered, "")
}

// What can't be read, or is too much, is reported once, and leaves what was
// delivered.
func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(path, []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	reported := make(chan error, 10)
	delivered := follow(t, NewDirectory(dir, brisk, WithErrorHandler(func(_ context.Context, err error) { reported <- err })))
	expectNext(t, delivered, "a.yaml=1")
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if err := <-reported; !strings.Contains(err.Error(), "has more than 16 MiB") || !strings.Contains(err.Error(), "read directory "+dir) {
		t.Error(err)
	}
	if err := replaceFile(path, "2"); err != nil {
		t.Fatal(err)
	}
	expectNext(t, delivered, "a.yaml=2")
	many, err := bounded(make([]predicates.File, maxFiles), predicates.File{})
	if many != nil || err == nil {
		t.Errorf("one more than %d files: %v", maxFiles, err)
	}
	large, err := bounded(slices.Repeat([]predicates.File{{Data: make([]byte, maxFile)}}, maxTotal/maxFile), predicates.File{Data: []byte{0}})
	if large != nil || err == nil {
		t.Errorf("one byte more than %d: %v", maxTotal, err)
	}
}
