package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/engine"
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

// A module in a ConfigMap's binaryData, gzipped as a guest in Go must be, judges.
func TestModuleInConfigMap(t *testing.T) {
	const predicate = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: mine}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolumeAttachment}
  wasm: {module: {file: attached.wasm}, settings: {strict: true}}
`
	module, err := os.ReadFile("../../predicates/wasm/testdata/attached.wasm")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(module); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"},
		Data:       map[string]string{"p.yaml": predicate},
		BinaryData: map[string][]byte{"attached.wasm": zipped.Bytes()},
	})
	var log strings.Builder
	opts := options{namespace: "n", sources: []sourceSpec{{configMapSource, "p"}}}
	c, err := newConfig(t.Context(), client, opts, newMetrics(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	if err != nil {
		t.Fatal(err)
	}
	c.swap = func(engine.Set) {}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.run(ctx) }()
	err = c.looked(ctx)
	p, missing := c.store.Set().Predicate("mine")
	cancel()
	if err := errors.Join(err, missing, <-done); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	judge, err := p.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"state": "Attached"}}}
	if v := judge.Describe(t.Context(), engine.Observation{Presence: engine.Present, Object: object}).Verdict; v.Decision != engine.Done {
		t.Errorf("%+v", v)
	}
}
