// Package sdk_test builds guests in every language from source and holds that they do
// the same: a probe that reads fields through its SDK, and the examples.
//
//	CI=true go test ./predicates/sdk/...   # a missing compiler is an error
package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/donewhen/donewhen/predicates/wasm"
)

// exitMissing is how the build script ends if there is no compiler.
const exitMissing = 3

// guests is where the example is.
const guests = "../../examples/guests"

// examples are the sources of the example by language.
var examples = map[string]string{
	"wat":            "wat/attachment.wat",
	"c":              "c/attachment.c",
	"rust":           "rust/attachment.rs",
	"assemblyscript": "assemblyscript/attachment.ts",
	"go":             "go",
}

// build builds a guest from source. It skips where there is no compiler, but never
// in CI.
func build(t testing.TB, language, source string) []byte {
	t.Helper()
	module := filepath.Join(t.TempDir(), language+".wasm")
	out, err := exec.Command("./build", language, source, module).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitMissing && os.Getenv("CI") == "" {
		t.Skip(string(bytes.TrimSpace(out)))
	}
	if err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, out)
	}
	binary, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// example builds the example in a language.
func example(t testing.TB, language string) []byte {
	t.Helper()
	return build(t, language, filepath.Join(guests, examples[language]))
}

// load loads a module in a runtime of its own.
func load(t testing.TB, binary []byte) *wasm.Module {
	t.Helper()
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	module, err := runtime.Load(context.Background(), binary, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(module.Close)
	return module
}

func use(t testing.TB, module *wasm.Module, settings map[string]any) *wasm.Guest {
	t.Helper()
	guest, err := module.Guest(context.Background(), wasm.Use{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return guest
}

// attachment is an attachment with that status.
func attachment(status map[string]any) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": "disk.csi.azure.com/v1beta2", "kind": "AzVolumeAttachment",
		"metadata": map[string]any{"name": "a", "namespace": "azure-disk-csi"},
	}
	if status != nil {
		object["status"] = status
	}
	return &unstructured.Unstructured{Object: object}
}
