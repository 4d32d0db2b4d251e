package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// Version is the Kubernetes version that the server is and reports.
	Version = "v1.37.2"
	// CacheEnv names the environment variable that overrides the folder that built servers are kept in.
	CacheEnv = "DONEWHEN_CONTROLPLANE_CACHE"

	programName = "controlplane"
	// A built server has about 125 MB, so only a few versions are kept.
	keptVersions = 3
)

// BuildOptions says where Build finds and leaves things. The zero value is useful.
type BuildOptions struct {
	// WorkDir is the directory inside the clone that the search for its root starts in. Empty: the working directory.
	WorkDir string
	// CacheDir is the folder for built servers. Empty: the value of CacheEnv, or else donewhen/controlplane in the user's
	// cache folder.
	CacheDir string
	// Progress gets lines for a person to read while a build runs, nothing if there is nothing to build. Nil: none.
	Progress io.Writer
	// ProgressInterval is the time between two lines. Zero: 10 s.
	ProgressInterval time.Duration
}

// Build returns the path of the control plane's program. It compiles it if this version of its sources wasn't compiled
// before on this machine; that needs Go, access to the module proxy, 3 GB of build cache and, the first time, some
// minutes. Processes that build at the same time wait for each other. The error is ErrNotInClone outside a clone. It is
// safe for concurrent use.
func Build(ctx context.Context, opts BuildOptions) (string, error) {
	root, err := findRoot(orDefault(opts.WorkDir, "."))
	if err != nil {
		return "", err
	}
	src := filepath.Join(root, sourceDir)
	cacheDir, err := opts.cacheDir()
	if err != nil {
		return "", err
	}
	toolchain, err := toolchainOf(ctx, src)
	if err != nil {
		return "", err
	}
	hash, err := hashSource(src, append([]string{toolchain}, buildArgs()...))
	if err != nil {
		return "", err
	}
	program := filepath.Join(cacheDir, hash, programName)
	if markUsed(program) {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", fmt.Errorf("create the folder for the built control plane (set %s to use another): %w", CacheEnv, err)
	}
	progress := newProgress(opts.Progress, opts.ProgressInterval)
	unlock, err := lock(ctx, filepath.Join(cacheDir, "lock"), progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if markUsed(program) { // another process built it in the meantime
		return program, nil
	}
	if err := compile(ctx, src, program, progress); err != nil {
		return "", err
	}
	return program, removeOldVersions(cacheDir, keptVersions)
}

func (o BuildOptions) cacheDir() (string, error) {
	if dir := orDefault(o.CacheDir, os.Getenv(CacheEnv)); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("resolve cache folder %s: %w", dir, err)
		}
		return abs, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder (set %s to use another): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "donewhen", "controlplane"), nil
}

// buildArgs are the arguments of go that decide what the program is.
func buildArgs() []string {
	const pkg = "k8s.io/component-base/version"
	ldflags := []string{"-s", "-w"}
	for _, v := range []string{
		"gitVersion=" + Version, "gitMajor=1", "gitMinor=37", "gitTreeState=clean",
		"gitCommit=0000000000000000000000000000000000000000", "buildDate=2026-01-01T00:00:00Z",
	} {
		ldflags = append(ldflags, "-X", pkg+"."+v)
	}
	return []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(ldflags, " ")}
}

// buildEnv is the process's environment without what would make the program, or the cost of building it, depend on who
// builds: all builds share one build cache.
func buildEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
}

func toolchainOf(ctx context.Context, src string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	cmd.Dir, cmd.Env = src, buildEnv()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask go for its version (building the control plane needs Go in PATH): %w", withStderr(err))
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// compile builds the module in src into the file program, which appears only when it is complete.
func compile(ctx context.Context, src, program string, progress *progress) error {
	tmp := fmt.Sprintf("%s.tmp-%d", program, os.Getpid())
	defer os.Remove(tmp) // there only if the build failed
	cmd := exec.CommandContext(ctx, "go", append(buildArgs(), "-v", "-o", tmp, ".")...)
	cmd.Dir, cmd.Env = src, buildEnv()
	// go ends its compilers on an interrupt; killed, it would leave them behind.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	output := &buildOutput{}
	cmd.Stderr = output
	stop := progress.start(output.packages, filepath.Dir(filepath.Dir(program)))
	err := cmd.Run()
	stop(err)
	if ctx.Err() != nil {
		return fmt.Errorf("build the control plane: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("build the control plane in %s: %w\n%s", src, err, output.messages())
	}
	if err := os.Rename(tmp, program); err != nil {
		return fmt.Errorf("move the built control plane into place: %w", err)
	}
	return nil
}

// markUsed says whether the program is there; if so it stays clear of removeOldVersions for a while.
func markUsed(program string) bool {
	if _, err := os.Stat(program); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(program, now, now) // a cache that can't be written works too
	return true
}

// removeOldVersions keeps the n programs that were used last. Removing a program doesn't disturb processes that run it.
func removeOldVersions(cacheDir string, n int) error {
	programs, err := filepath.Glob(filepath.Join(cacheDir, "*", programName))
	if err != nil {
		return fmt.Errorf("list built control planes: %w", err)
	}
	used := map[string]time.Time{}
	for _, p := range programs {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("list built control planes: %w", err)
		}
		used[p] = info.ModTime()
	}
	slices.SortFunc(programs, func(a, b string) int { return used[b].Compare(used[a]) })
	for _, p := range programs[min(n, len(programs)):] {
		if err := os.RemoveAll(filepath.Dir(p)); err != nil {
			return fmt.Errorf("remove an old control plane: %w", err)
		}
	}
	return nil
}

func orDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
