package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBuildOutsideClone(t *testing.T) {
	if _, err := Build(t.Context(), BuildOptions{WorkDir: t.TempDir()}); !errors.Is(err, ErrNotInClone) {
		t.Errorf("got error %v, want ErrNotInClone", err)
	}
}

func TestBuildOnce(t *testing.T) {
	opts := BuildOptions{WorkDir: clone(t), CacheDir: t.TempDir()}
	var out [3]bytes.Buffer
	var programs [3]string
	var wg sync.WaitGroup
	for i := range programs {
		wg.Go(func() {
			opts := opts
			opts.Progress = &out[i]
			var err error
			if programs[i], err = Build(t.Context(), opts); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	built := 0
	for i := range programs {
		built += strings.Count(out[i].String(), "control plane: built in ")
	}
	if built != 1 || programs[0] != programs[1] || programs[0] != programs[2] {
		t.Fatalf("%d of three builds at the same time compiled, results %q", built, programs)
	}
	if got, err := exec.Command(programs[0]).CombinedOutput(); err != nil || string(got) != "hello\n" {
		t.Errorf("the program says %q, %v", got, err)
	}
	var again bytes.Buffer
	opts.Progress = &again
	if _, err := Build(t.Context(), opts); err != nil || again.Len() != 0 {
		t.Errorf("a build from the cache: %v, output %q", err, &again)
	}
	files, err := os.ReadDir(filepath.Dir(programs[0]))
	if err != nil || len(files) != 1 {
		t.Errorf("beside the program: %v, %v", files, err)
	}
}

func TestBuildShowsCompilerMessages(t *testing.T) {
	opts := BuildOptions{WorkDir: clone(t), CacheDir: t.TempDir()}
	write(t, filepath.Join(opts.WorkDir, sourceDir, "main.go"), "package main\n\nfunc main() { broken() }\n")
	_, err := Build(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "undefined: broken") {
		t.Errorf("got error %v, want the compiler's message", err)
	}
	if left, _ := filepath.Glob(filepath.Join(opts.CacheDir, "*", "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBuildUsesCacheEnv(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(CacheEnv, cache)
	program, err := Build(t.Context(), BuildOptions{WorkDir: clone(t)})
	if err != nil || !strings.HasPrefix(program, cache) {
		t.Errorf("got %s, %v, want a program in %s", program, err, cache)
	}
}

func TestBuildEndsWithContext(t *testing.T) {
	opts := BuildOptions{WorkDir: clone(t), CacheDir: t.TempDir()}
	unlock, err := lock(t.Context(), filepath.Join(opts.CacheDir, "lock"), newProgress(nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	why := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := writerFunc(func(line string) {
		if strings.Contains(line, "another process") {
			cancel(why)
		}
	})
	opts.Progress = waiting
	if _, err := Build(ctx, opts); !errors.Is(err, why) {
		t.Errorf("got error %v, want the context's cause", err)
	}
}

type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

func TestRemoveOldVersions(t *testing.T) {
	cache := t.TempDir()
	base := time.Now()
	for i := range 5 {
		program := filepath.Join(cache, fmt.Sprint(i), programName)
		write(t, program, "")
		used := base.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(program, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOldVersions(cache, 2); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "3" || filepath.Base(left[1]) != "4" {
		t.Errorf("left: %v, %v, want the two used last", left, err)
	}
}

func TestBuildOutput(t *testing.T) {
	var out buildOutput
	for _, chunk := range []string{
		"go: downloading k8s.io/api v0.37.2\nk8s.io/", "api/core/v1\nerrors\n# example.test/x\n./main.go:3:1: oh", " no\nincomplete",
	} {
		if n, err := out.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := out.packages(); got != 2 {
		t.Errorf("packages: got %d, want 2", got)
	}
	if got, want := out.messages(), "# example.test/x\n./main.go:3:1: oh no\nincomplete"; got != want {
		t.Errorf("messages: got %q, want %q", got, want)
	}
}

func TestProgressWritesLines(t *testing.T) {
	lines := make(chan string, 8)
	p := newProgress(writerFunc(func(l string) { lines <- l }), time.Millisecond)
	stop := p.start(func() int { return 7 }, "CACHE")
	if first := <-lines; !strings.Contains(first, "some minutes") || !strings.Contains(first, "CACHE") {
		t.Errorf("first line: %q", first)
	}
	if second := <-lines; !strings.Contains(second, "7 packages compiled") {
		t.Errorf("second line: %q", second)
	}
	go func() {
		for range lines {
		}
	}()
	stop(nil)
	close(lines)
}
