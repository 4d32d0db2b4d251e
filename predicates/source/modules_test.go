package source

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/donewhen/donewhen/predicates"
)

const document = `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: v1, kind: Pod}
  wasm: {module: {oci: {path: layout}}}
`

// writeLayout makes an OCI image layout with one module, beside a blob that a program
// couldn't hold.
func writeLayout(t *testing.T, dir, module string) {
	t.Helper()
	store, err := oci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	push := func(mediaType string, data []byte) ocispec.Descriptor {
		d := content.NewDescriptorFromBytes(mediaType, data)
		if ok, _ := store.Exists(t.Context(), d); !ok {
			if err := store.Push(t.Context(), d, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	push("application/octet-stream", make([]byte, maxFile+1))
	config := push("application/vnd.wasm.config.v0+json", []byte("{}"))
	manifest, err := oras.PackManifest(t.Context(), store, oras.PackManifestVersion1_1, "application/wasm", oras.PackManifestOptions{
		Layers: []ocispec.Descriptor{push("application/wasm", []byte(module))}, ConfigDescriptor: &config,
		ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: "2026-11-30T00:00:00Z"},
	})
	if err == nil {
		err = store.Tag(t.Context(), manifest, "v1")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// names are those of the files; of blobs, their kind.
func names(files []predicates.File) string {
	var list []string
	for _, f := range files {
		name := f.Name
		if dir, _, ok := strings.Cut(name, "/blobs/"); ok {
			name = dir + "/blob"
		}
		if f.Binary {
			name += "*"
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

const wholeLayout = "layout/oci-layout* layout/index.json* layout/blob* layout/blob*"

// TestLayoutBesideDocuments: of a layout, what leads to the module that a document
// names is read, and nothing else.
func TestLayoutBesideDocuments(t *testing.T) {
	dir := t.TempDir()
	writeLayout(t, filepath.Join(dir, "layout"), "\x00asm")
	files, _, err := readTree(dir)
	if err != nil || len(files) != 0 {
		t.Errorf("not named: %s, %v", names(files), err)
	}
	write(t, filepath.Join(dir, "p.yaml"), document)
	if files, _, err = readTree(dir); err != nil || names(files) != "p.yaml "+wholeLayout {
		t.Errorf("in a directory: %s, %v", names(files), err)
	}
	file := NewFile(filepath.Join(dir, "p.yaml"))
	if files, err = file.read(); err != nil || names(files) != "p.yaml "+wholeLayout {
		t.Errorf("beside a file: %s, %v", names(files), err)
	}
	if module := files[len(files)-1]; string(module.Data) != "\x00asm" {
		t.Errorf("the last is %s, %q", module.Name, module.Data)
	}
}

// TestLayoutChanges: another module in the layout is a change of the source.
func TestLayoutChanges(t *testing.T) {
	dir := t.TempDir()
	writeLayout(t, filepath.Join(dir, "layout"), "\x00asm1")
	// The layout keeps the old manifest, without the tag.
	write(t, filepath.Join(dir, "p.yaml"), strings.Replace(document, "path: layout", "path: layout, reference: v1", 1))
	delivered := follow(t, NewDirectory(dir, brisk))
	const binary = "=(binary)"
	first := <-delivered
	if strings.Count(first, binary) != 4 {
		t.Fatalf("delivered %q", first)
	}
	writeLayout(t, filepath.Join(dir, "layout"), "\x00asm2")
	deadline := time.After(20 * time.Second)
	for {
		select {
		case second := <-delivered:
			if second != first && strings.Count(second, binary) == 4 {
				return
			}
		case <-deadline:
			t.Fatal("the other module wasn't delivered")
		}
	}
}

// TestLinksLeadNowhere: a document can't have a file of the machine read by a path or
// a link out of the directory, nor have the reading wait.
func TestLinksLeadNowhere(t *testing.T) {
	outside := t.TempDir()
	writeLayout(t, filepath.Join(outside, "layout"), "\x00asm")
	blobs := filepath.Join("blobs", "sha256")
	for _, c := range []struct {
		name, want string
		spoil      func(layout string) error
	}{
		{"the layout", "", func(layout string) error {
			return os.Symlink(filepath.Join(outside, "layout"), layout)
		}},
		{"the index", "layout/oci-layout*", func(layout string) error {
			writeLayout(t, layout, "\x00asm")
			return relink(filepath.Join(layout, "index.json"), filepath.Join(outside, "layout", "index.json"))
		}},
		{"the blobs", "layout/oci-layout* layout/index.json*", func(layout string) error {
			writeLayout(t, layout, "\x00asm")
			return relink(filepath.Join(layout, blobs), filepath.Join(outside, "layout", blobs))
		}},
		{"an endless file", "layout/oci-layout*", func(layout string) error {
			writeLayout(t, layout, "\x00asm")
			return relink(filepath.Join(layout, "index.json"), "/dev/zero")
		}},
		{"itself", "layout/oci-layout*", func(layout string) error {
			writeLayout(t, layout, "\x00asm")
			return relink(filepath.Join(layout, "index.json"), "index.json")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "p.yaml"), document)
			if err := c.spoil(filepath.Join(dir, "layout")); err != nil {
				t.Fatal(err)
			}
			files, _, err := readTree(dir)
			if got := strings.TrimSpace(strings.TrimPrefix(names(files), "p.yaml")); err != nil || got != c.want {
				t.Errorf("read %q, %v; want %q", got, err, c.want)
			}
		})
	}
	t.Run("a path", func(t *testing.T) {
		dir := filepath.Join(outside, "dir")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(outside, "x.wasm"), "\x00asm")
		for _, module := range []string{"oci: {path: ../layout}", "file: ../x.wasm", "oci: {path: " + filepath.Join(outside, "layout") + "}"} {
			write(t, filepath.Join(dir, "p.yaml"), strings.Replace(document, "oci: {path: layout}", module, 1))
			if files, _, err := readTree(dir); err != nil || names(files) != "p.yaml" {
				t.Errorf("%s: read %s, %v", module, names(files), err)
			}
		}
	})
	// A link that stays inside is as good as the directory.
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p.yaml"), document)
	writeLayout(t, filepath.Join(dir, "real"), "\x00asm")
	if err := os.Symlink("real", filepath.Join(dir, "layout")); err != nil {
		t.Fatal(err)
	}
	if files, _, err := readTree(dir); err != nil || names(files) != "p.yaml "+wholeLayout {
		t.Errorf("a link inside: %s, %v", names(files), err)
	}
}

// relink puts a link in the place of what is there.
func relink(path, to string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink(to, path)
}
