package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guests are modules that the tests of their runtime have.
const guests = "../../predicates/wasm/testdata/"

// K66: a module that no ConfigMap holds is one for a file, and inspect says so.
func TestK66_ModuleNearTheLimitOfConfigMaps(t *testing.T) {
	module, err := os.ReadFile(guests + "attached.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]string{
		100_000:   "",
		200_000:   "  delivery in a ConfigMap with kubectl apply --server-side",
		5_000_000: "  delivery too big for a ConfigMap",
		1_258_291: "  delivery too big for a ConfigMap, which holds 1 MiB in all: gzip it, or deliver it as a file",
	} {
		path := filepath.Join(t.TempDir(), "big.wasm")
		content := append(module[:len(module):len(module)], 0) // a custom section without a name
		content = append(binary.AppendUvarint(content, uint64(size+1)), make([]byte, size+1)...)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := execute(t.Context(), "inspect", path)
		if strings.Contains(out, "which needs donewhen-driver --wasm-module-size") != (size > 4<<20) {
			t.Errorf("%d bytes: %s", size, out)
		}
		if code != 0 || strings.Contains(out, "  delivery ") != (want != "") || !strings.Contains(out, want) {
			t.Errorf("%d bytes: exit code %d, %s%s, want %q", size, code, out, errs, want)
		}
	}
}

func TestInspectExitCodes(t *testing.T) {
	text := filepath.Join("testdata", "inspect", "settings.yaml")
	list := filepath.Join(t.TempDir(), "list.yaml")
	if err := os.WriteFile(list, []byte("[a]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		errs string
	}{
		"well":                 {[]string{guests + "attached.wasm"}, 0, ""},
		"accepted":             {[]string{"--settings", text, guests + "attached.wasm"}, 0, ""},
		"refused":              {[]string{"--param", "a=b", guests + "attached.wasm"}, 1, ""},
		"no answer":            {[]string{"--object", "testdata/inspect/object.yaml", guests + "hostile/unreachable.wasm"}, 1, ""},
		"no module":            {nil, 2, "name one module"},
		"no such module":       {[]string{"testdata/nowhere.wasm"}, 2, "can't read the module: open testdata/nowhere.wasm"},
		"text":                 {[]string{text}, 2, `ModuleInvalid: no WebAssembly module`},
		"later version":        {[]string{guests + "hostile/later_abi.wasm"}, 2, "AbiMismatch: module speaks dw_abi_v3, this build knows v1"},
		"imports":              {[]string{guests + "hostile/imports.wasm"}, 2, "ImportDenied: the module imports what a predicate can't have: env.abort"},
		"it can't start":       {[]string{guests + "hostile/start_crash.wasm"}, 2, "Trap: start the module: unreachable"},
		"junit":                {[]string{"-o", "junit", guests + "attached.wasm"}, 2, `unknown output format "junit"; there are text and json`},
		"settings are no map":  {[]string{"--settings", list, guests + "attached.wasm"}, 2, "the settings must be a map"},
		"param without value":  {[]string{"--param", "a", guests + "attached.wasm"}, 2, `--param "a": write it NAME=VALUE`},
		"no such sample":       {[]string{"--object", "testdata/nowhere.yaml", guests + "attached.wasm"}, 2, "can't read the object"},
		"more than one sample": {[]string{"--object", "testdata/explain/several.yaml", guests + "attached.wasm"}, 2, "objects; one is asked about"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := execute(t.Context(), append([]string{"inspect"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.errs) || (c.errs == "") != (errs == "") {
				t.Errorf("exit code %d, want %d; the error stream is %q, want %q", code, c.code, errs, c.errs)
			}
		})
	}
}
