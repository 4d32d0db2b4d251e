package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/predicates/wasm"
)

// loadWith loads a module of the runtime's tests as the flags say, with the greatest
// limits that a predicate can set, and returns what was logged.
func loadWith(t *testing.T, module string, args ...string) (logged string, err error) {
	t.Helper()
	var o wasmOptions
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addWasmFlags(flags, &o)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	runtime, err := o.runtime(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	binary, err := os.ReadFile("../../predicates/wasm/testdata/" + module)
	if err != nil {
		t.Fatal(err)
	}
	m, err := runtime.Load(context.Background(), binary, "")
	if err == nil {
		defer m.Close()
		_, err = m.Guest(context.Background(), wasm.Use{Limits: wasm.Limits{Memory: wasm.MaxMemory}})
	}
	return log.String(), err
}

func TestWasmFlags(t *testing.T) {
	const big = "hostile/nine_megabytes.wasm"
	if _, err := loadWith(t, big); err != nil {
		t.Errorf("by default: %v", err)
	}
	if _, err := loadWith(t, big, "--wasm-memory=8Mi"); err == nil || !strings.Contains(err.Error(), "the 8192 KiB of all WebAssembly predicates together") {
		t.Errorf("--wasm-memory: %v", err)
	}
	if _, err := loadWith(t, big, "--wasm-module-size=10"); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("--wasm-module-size: %v", err)
	}
}

// A cache directory is filled; one that isn't safe is said at the start, which goes on.
func TestWasmCacheFlag(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if log, err := loadWith(t, "attached.wasm", "--wasm-cache-dir", dir); err != nil || log != "" {
		t.Errorf("%v, %s", err, log)
	}
	if kept, err := os.ReadDir(dir); err != nil || len(kept) != 1 {
		t.Errorf("kept is %v, %v", kept, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if log, err := loadWith(t, "attached.wasm", "--wasm-cache-dir", dir); err != nil || !strings.Contains(log, "aren't kept") || !strings.Contains(log, "its mode is 0777") {
		t.Errorf("%v, %s", err, log)
	}
}
