package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// place makes directories and files of the test, by their paths below it; a value
// that begins with an arrow is where a link leads to.
func place(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = replaceFile(path, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// replaceFile writes a file so that nobody sees it half written.
func replaceFile(path, content string) error {
	beside := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(beside, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// reporting hands over what a source reports.
func reporting() (<-chan error, Option) {
	reported := make(chan error, 100)
	return reported, WithErrorHandler(func(_ context.Context, err error) { reported <- err })
}

func expectReport(t *testing.T, reported <-chan error, want string) {
	t.Helper()
	select {
	case err := <-reported:
		if !strings.Contains(err.Error(), want) {
			t.Fatalf("reported %v, want %q in it", err, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing was reported, want %q", want)
	}
}

// A directory that is a link is what the link leads to, and swapping the link is a
// change like any other: taken for an empty one, it would switch the config off.
func TestADirectoryThatIsALink(t *testing.T) {
	root := t.TempDir()
	place(t, root, map[string]string{"v1/a.yaml": "1", "v2/a.yaml": "2", "current": "-> v1"})
	delivered := follow(t, NewDirectory(filepath.Join(root, "current"), brisk))
	expectNext(t, delivered, "a.yaml=1")
	place(t, root, map[string]string{"next": "-> v2"})
	if err := os.Rename(filepath.Join(root, "next"), filepath.Join(root, "current")); err != nil {
		t.Fatal(err)
	}
	expectNext(t, delivered, "a.yaml=2")
	place(t, root, map[string]string{"v2/a.yaml": "3"}) // behind the link
	expectNext(t, delivered, "a.yaml=3")
}

// The kubelet's link may be an absolute one: other tools that mount so write it.
func TestAMountedDirectoryByAnAbsoluteLink(t *testing.T) {
	root := t.TempDir()
	place(t, root, map[string]string{"content/a.yaml": "1", "mount/a.yaml": "-> ..data/a.yaml"})
	place(t, root, map[string]string{"mount/..data": "-> " + filepath.Join(root, "content")})
	delivered := follow(t, NewDirectory(filepath.Join(root, "mount"), brisk))
	expectNext(t, delivered, "a.yaml=1")
}

// Paths as people write them on a command line: events come with the names of
// directories as they were given.
func TestRelativePathsAreWatched(t *testing.T) {
	for _, row := range []struct {
		name    string
		source  func(opts ...Option) *Files
		at      string
		nothing string
	}{
		{"the directory itself", func(o ...Option) *Files { return NewDirectory(".", o...) }, "a.yaml", ""},
		{"a directory that isn't there yet", func(o ...Option) *Files { return NewDirectory("conf", o...) }, "conf/a.yaml", ""},
		{"a file", func(o ...Option) *Files { return NewFile("a.yaml", o...) }, "a.yaml", ""},
		{"a file in a directory", func(o ...Option) *Files { return NewFile("./conf.d/a.yaml", o...) }, "conf.d/a.yaml", ""},
		{"above", func(o ...Option) *Files { return NewDirectory("../above", o...) }, "../above/a.yaml", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "work")
			place(t, dir, map[string]string{"conf.d/b.txt": "x", "../above/.keep": ""})
			t.Chdir(dir)
			source := row.source(brisk)
			if row.at == "a.yaml" {
				if err := os.RemoveAll("conf.d"); err != nil {
					t.Fatal(err)
				}
			}
			delivered := follow(t, source)
			expectNext(t, delivered, "")
			place(t, ".", map[string]string{row.at: "1"})
			expectNext(t, delivered, "a.yaml=1")
			place(t, ".", map[string]string{row.at: "2"})
			expectNext(t, delivered, "a.yaml=2")
		})
	}
}

// A pipe, a device or a directory in place of a file is no reason to wait for ever.
func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", dir} {
		reported, report := reporting()
		delivered := follow(t, NewFile(path, brisk, report))
		expectReport(t, reported, "isn't a regular file")
		if len(delivered) > 0 {
			t.Errorf("%s: delivered %q", path, <-delivered)
		}
	}
	place(t, dir, map[string]string{"a.yaml": "1"})
	expectNext(t, follow(t, NewDirectory(dir, brisk)), "a.yaml=1")
	if _, err := NewLastGoodFile(pipe, nil).Load(); err == nil || !strings.Contains(err.Error(), "isn't a regular file") {
		t.Errorf("the last good file is a pipe: %v", err)
	}
}

// Links that lead nowhere, or in a circle, are reported with their path; what was
// delivered stays, and they come to nothing once they are gone.
func TestLinksThatLeadNowhere(t *testing.T) {
	for name, links := range map[string]map[string]string{
		"dangling": {"z.yaml": "-> not-there.yaml"},
		"a circle": {"z.yaml": "-> y.yaml", "y.yaml": "-> z.yaml"},
		"itself":   {"z.yaml": "-> z.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			place(t, dir, map[string]string{"a.yaml": "1", "around": "-> .", "up": "-> .."})
			reported, report := reporting()
			delivered := follow(t, NewDirectory(dir, brisk, report))
			expectNext(t, delivered, "a.yaml=1")
			place(t, dir, links)
			expectReport(t, reported, ".yaml")
			for link := range links {
				if err := os.Remove(filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			place(t, dir, map[string]string{"a.yaml": "2"})
			expectNext(t, delivered, "a.yaml=2")
		})
	}
}

// A directory whose parents aren't there either is seen when they come.
func TestADirectoryWhoseParentsComeLater(t *testing.T) {
	root := t.TempDir()
	delivered := follow(t, NewDirectory(filepath.Join(root, "a", "b", "c"), brisk))
	expectNext(t, delivered, "")
	place(t, root, map[string]string{"a/other": ""})
	place(t, root, map[string]string{"a/b/other": ""})
	place(t, root, map[string]string{"a/b/c/p.yaml": "1"})
	expectNext(t, delivered, "p.yaml=1")
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	expectNext(t, delivered, "")
	place(t, root, map[string]string{"a/b/c/p.yaml": "2"})
	expectNext(t, delivered, "p.yaml=2")
}
