package predicates

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
)

// writeLayout makes an OCI image layout with an artifact for each tag, each of one
// module.
func writeLayout(t *testing.T, dir string, byTag map[string][]byte) {
	t.Helper()
	store, err := oci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	for tag, data := range byTag {
		push := func(mediaType string, data []byte) ocispec.Descriptor {
			d := content.NewDescriptorFromBytes(mediaType, data)
			if ok, _ := store.Exists(t.Context(), d); ok {
				return d
			}
			if err := store.Push(t.Context(), d, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
			return d
		}
		config := push("application/vnd.wasm.config.v0+json", []byte("{}"))
		manifest, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/wasm", oras.PackManifestOptions{
			Layers: []ocispec.Descriptor{push("application/wasm", data)}, ConfigDescriptor: &config,
		})
		if err == nil {
			err = store.Tag(t.Context(), manifest, tag)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// layoutSource is a directory with a document and the layouts that it names, read as
// programs do.
func layoutSource(dir, document string) Source {
	s := Source{Name: "test", Files: WithModules([]File{{Name: "sub/p.yaml", Data: []byte(document)}}, func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	})}
	return s
}

// TestLayoutJudges: a module of an OCI image layout is what the same module as a file
// is.
func TestLayoutJudges(t *testing.T) {
	l, _ := wasmLoader(t)
	dir := t.TempDir()
	attached := fixture(t, "attached")
	writeLayout(t, filepath.Join(dir, "sub", "one"), map[string][]byte{"v1": attached})
	writeLayout(t, filepath.Join(dir, "sub", "two"), map[string][]byte{"v1": attached, "v2": fixture(t, "echo")})
	digest := func(s Source) string {
		t.Helper()
		set, err := l.Load(s)
		if err != nil {
			t.Fatal(err)
		}
		p, err := set.Predicate("p")
		if err != nil {
			t.Fatal(err)
		}
		return p.ID().Digest
	}
	want := digest(modules(t, []string{predicate("p", "  wasm: {module: {file: attached.wasm}, settings: {strict: true}}\n")}, "attached"))
	for _, module := range []string{"{path: one}", "{path: ./one}", "{path: two, reference: v1}", "{path: one, reference: v1}"} {
		s := layoutSource(dir, predicate("p", "  wasm: {module: {oci: "+module+"}, settings: {strict: true}}\n"))
		if got := digest(s); got != want {
			t.Errorf("%s: digest %s, as a file %s", module, got, want)
		}
		// Only what leads to the module is read.
		if len(s.Files) != 5 {
			t.Errorf("%s: %d files", module, len(s.Files))
		}
	}
}

func TestLayoutProblems(t *testing.T) {
	l, _ := wasmLoader(t)
	dir := t.TempDir()
	writeLayout(t, filepath.Join(dir, "sub", "attached"), map[string][]byte{"v1": fixture(t, "attached"), "v2": []byte("x")})
	writeLayout(t, filepath.Join(dir, "outside"), map[string][]byte{"v1": fixture(t, "attached")})
	for _, c := range []struct{ module, want string }{
		{"{oci: {path: atached}}", `p.yaml:6:31: Predicate p: spec.wasm.module.oci: the source has no OCI image layout "atached"`},
		{"{oci: {path: attached}}", `p.yaml:6:31: Predicate p: spec.wasm.module.oci: the layout has several manifests, say which: "v`},
		{"{oci: {path: attached, reference: v3}}", `p.yaml:6:52: Predicate p: spec.wasm.module.oci: the layout has no manifest "v3", only "v`},
		{"{oci: {path: attached, reference: v2}}", "p.yaml:6:24: Predicate p: spec.wasm: ModuleInvalid: no WebAssembly module"},
		{"{oci: {path: ../outside}}", `spec.wasm.module.oci: "../outside": the path must be relative and stay below`},
		{"{oci: {path: x/../../outside}}", `the path must be relative and stay below`},
		{"{oci: {path: " + path.Join(filepath.ToSlash(dir), "outside") + "}}", "the path must be relative and stay below"},
		{"{oci: {}}", "spec.wasm.module.oci.path is missing"},
		{"{oci: {path: attached}, file: a.wasm}", "spec.wasm.module has both file and oci"},
		{"{oci: {path: attached, reference: v1}}, sha256: abc", "ModuleInvalid: the module's sha256 is"},
	} {
		s := layoutSource(dir, predicate("p", "  wasm: {module: "+c.module+"}\n"))
		_, err := l.Load(s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.module, err, c.want)
		}
		for _, f := range s.Files {
			if strings.Contains(f.Name, "outside") {
				t.Errorf("%s: %s was read", c.module, f.Name)
			}
		}
	}
	// A name that is nearly right is known where the source has the layouts, too.
	s := layoutSource(dir, predicate("p", "  wasm: {module: {oci: {path: attached}}}\n"))
	s.Files = append(s.Files, File{Name: "sub/q.yaml", Data: []byte(predicate("q", "  wasm: {module: {oci: {path: atached}}}\n"))})
	if _, err := l.Load(s); err == nil || !strings.Contains(err.Error(), `"atached"; did you mean "attached"?`) {
		t.Errorf("no hint: %v", err)
	}
}
