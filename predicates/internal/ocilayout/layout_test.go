package ocilayout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
)

var module = []byte("\x00asm\x01\x00\x00\x00")

// layout is one on disk, made by the library.
type layout struct {
	*testing.T
	dir   string
	store *oci.Store
}

func newLayout(t *testing.T) *layout {
	t.Helper()
	dir := t.TempDir()
	store, err := oci.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &layout{t, dir, store}
}

// push adds a blob.
func (l *layout) push(mediaType string, data []byte) ocispec.Descriptor {
	l.Helper()
	d := content.NewDescriptorFromBytes(mediaType, data)
	if ok, _ := l.store.Exists(l.Context(), d); ok {
		return d
	}
	if err := l.store.Push(l.Context(), d, bytes.NewReader(data)); err != nil {
		l.Fatal(err)
	}
	return d
}

// artifact adds a manifest of those media types, with tags.
func (l *layout) artifact(config, layer string, data []byte, tags ...string) ocispec.Descriptor {
	l.Helper()
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: l.push(config, []byte("{}")), Layers: []ocispec.Descriptor{l.push(layer, data)}}
	m.SchemaVersion = 2
	return l.manifest(m, tags...)
}

func (l *layout) manifest(m ocispec.Manifest, tags ...string) ocispec.Descriptor {
	l.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		l.Fatal(err)
	}
	d := l.push(ocispec.MediaTypeImageManifest, text)
	for _, tag := range tags {
		if err := l.store.Tag(l.Context(), d, tag); err != nil {
			l.Fatal(err)
		}
	}
	return d
}

// write puts a file in the place of one of the layout's.
func (l *layout) write(name, text string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
		l.Fatal(err)
	}
}

func (l *layout) blob(d digest.Digest) string {
	return filepath.Join("blobs", d.Algorithm().String(), d.Encoded())
}

// rewrite makes a blob writable and replaces it: the library writes read-only ones.
func (l *layout) rewrite(d digest.Digest, text string) {
	l.Helper()
	l.remove(d)
	l.write(l.blob(d), text)
}

func (l *layout) remove(d digest.Digest) {
	l.Helper()
	if err := os.Remove(filepath.Join(l.dir, l.blob(d))); err != nil {
		l.Fatal(err)
	}
}

// index writes an index of one manifest, which may say anything about it.
func (l *layout) index(d ocispec.Descriptor) {
	l.Helper()
	text, err := json.Marshal(ocispec.Index{Manifests: []ocispec.Descriptor{d}})
	if err != nil {
		l.Fatal(err)
	}
	l.write("index.json", string(text))
}

func (l *layout) module(reference string) ([]byte, error) {
	return Module(context.Background(), os.DirFS(l.dir), reference, 1<<20)
}

func TestModule(t *testing.T) {
	l := newLayout(t)
	first := l.artifact(ConfigType, LayerType, module, "v1", "latest")
	for _, reference := range []string{"", "v1", "latest", first.Digest.String()} {
		if got, err := l.module(reference); err != nil || !bytes.Equal(got, module) {
			t.Errorf("%q: %q, %v", reference, got, err)
		}
	}
	other := l.artifact(ConfigType, LayerType, []byte("other"), "v2")
	for reference, want := range map[string]string{"v1": string(module), "v2": "other", other.Digest.String(): "other"} {
		if got, err := l.module(reference); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", reference, got, err)
		}
	}
	for reference, want := range map[string]string{
		"":   "the layout has several manifests, say which: ",
		"v3": `the layout has no manifest "v3", only `,
	} {
		_, err := l.module(reference)
		if _, ok := errors.AsType[*ReferenceError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", reference, err)
			continue
		}
		for _, name := range []string{`"v1" (` + first.Digest.String() + `)`, `"latest" (`, `"v2" (` + other.Digest.String() + `)`} {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%q: %v doesn't list %s", reference, err, name)
			}
		}
	}
}

// K68: media types have changed before, and will again. Which one there is, and which
// one is wanted, is in the error.
func TestK68_AnUnknownMediaTypeIsNamed(t *testing.T) {
	const old = "application/vnd.module.wasm.content.layer.v1+wasm"
	for _, c := range []struct {
		config, layer, want string
	}{
		{ConfigType, old, "the layer has media type \"" + old + "\", want application/wasm"},
		{"application/vnd.oci.image.config.v1+json", LayerType, `the config has media type "application/vnd.oci.image.config.v1+json", want application/vnd.wasm.config.v0+json`},
		{ConfigType, "x\n" + strings.Repeat("y", 1000), `the layer has media type "x\ny`},
	} {
		l := newLayout(t)
		l.artifact(c.config, c.layer, module)
		_, err := l.module("")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), ConfigType) || !strings.Contains(err.Error(), LayerType) || len(err.Error()) > 500 {
			t.Errorf("%.80s, %.80s: %v, want %s", c.config, c.layer, err, c.want)
		}
	}
	l := newLayout(t)
	d := l.artifact(ConfigType, LayerType, module)
	d.MediaType = ocispec.MediaTypeImageIndex
	l.index(d)
	if _, err := l.module(""); err == nil || !strings.Contains(err.Error(), "the manifest has media type \"application/vnd.oci.image.index.v1+json\", want application/vnd.oci.image.manifest.v1+json") {
		t.Errorf("a nested index: %v", err)
	}
}

func TestHostileLayouts(t *testing.T) {
	var l *layout
	var manifest, layer ocispec.Descriptor
	damaged := bytes.Repeat([]byte("x"), len(module))
	for _, c := range []struct {
		name, want string
		spoil      func()
	}{
		{"no layout file", "no OCI image layout: there is no oci-layout", func() { l.must(os.Remove(filepath.Join(l.dir, "oci-layout"))) }},
		{"no index", "no OCI image layout: there is no index.json", func() { l.must(os.Remove(filepath.Join(l.dir, "index.json"))) }},
		{"later version", `the layout has version "2.0.0"; this build knows 1.0.0`, func() { l.write("oci-layout", `{"imageLayoutVersion": "2.0.0"}`) }},
		{"layout file is no JSON", "read oci-layout: invalid character", func() { l.write("oci-layout", "x") }},
		{"index is no JSON", "read index.json: unexpected end of JSON input", func() { l.write("index.json", `{"manifests": [`) }},
		{"index of another kind", "read index.json: json: cannot unmarshal", func() { l.write("index.json", `{"manifests": {}}`) }},
		{"deep index", "exceeded max depth", func() { l.write("index.json", strings.Repeat(`{"manifests":[`, 20000)) }},
		{"no manifests", "the layout's index has no manifests", func() { l.write("index.json", "{}") }},
		{"manifest is null", `the manifest has media type "", want`, func() { l.write("index.json", `{"manifests": [null]}`) }},
		{"layer damaged", "the blob of the layer " + digest.FromBytes(module).String() + " has another digest", func() { l.rewrite(layer.Digest, string(damaged)) }},
		{"layer cut", "isn't of the 8 bytes", func() { l.rewrite(layer.Digest, "\x00asm") }},
		{"layer longer", "isn't of the 8 bytes", func() { l.rewrite(layer.Digest, string(module)+"x") }},
		{"layer missing", "the layout has no blob of the layer sha256:", func() { l.remove(layer.Digest) }},
		{"manifest missing", "the layout has no blob of the manifest sha256:", func() { l.remove(manifest.Digest) }},
		{"manifest damaged", "has another digest", func() { l.rewrite(manifest.Digest, strings.Repeat(" ", int(manifest.Size))) }},
		{"path in the digest", `the manifest's digest is "sha256:../../../../etc/passwd"`, func() { manifest.Digest = "sha256:../../../../etc/passwd"; l.index(manifest) }},
		{"path in the algorithm", `the manifest's digest is "../../x:`, func() {
			manifest.Digest = digest.Digest("../../x:" + strings.Repeat("0", 64))
			l.index(manifest)
		}},
		{"no digest", `the manifest's digest is ""`, func() { manifest.Digest = ""; l.index(manifest) }},
		{"claims to be huge", "has 4611686018427387904 bytes; at most 4194304 are allowed", func() { manifest.Size = 1 << 62; l.index(manifest) }},
		{"negative size", "has -1 bytes", func() { manifest.Size = -1; l.index(manifest) }},
		{"blob is a directory", "read the layer sha256:", func() { l.remove(layer.Digest); l.must(os.Mkdir(filepath.Join(l.dir, l.blob(layer.Digest)), 0o755)) }},
		{"layer too big", "has 1048577 bytes; at most 1048576 are allowed", func() {
			l.artifact(ConfigType, LayerType, make([]byte, 1<<20+1), "big")
		}},
		{"two layers", "has 2 layers; a module has one, application/wasm", func() {
			l.manifest(ocispec.Manifest{Config: l.push(ConfigType, []byte("{}")), Layers: []ocispec.Descriptor{layer, layer}}, "big")
		}},
		{"no layers", "has 0 layers", func() { l.manifest(ocispec.Manifest{Config: l.push(ConfigType, []byte("{}"))}, "big") }},
		{"huge index", "index.json has more than 4 MiB", func() { l.write("index.json", strings.Repeat(" ", 5<<20)) }},
		{"100,000 manifests", "and 99992 more", func() {
			var text strings.Builder
			for i := range 100000 {
				fmt.Fprintf(&text, `,{"digest":"%d"}`, i)
			}
			l.write("index.json", `{"manifests": [`+text.String()[1:]+`]}`)
		}},
		{"a tag twice", `several manifests of the layout are called "big"`, func() {
			l.write("index.json", `{"manifests": [{"digest":"a","annotations":{"org.opencontainers.image.ref.name":"big"}},{"digest":"b","annotations":{"org.opencontainers.image.ref.name":"big"}}]}`)
		}},
		{"terminal codes in a tag", `"\x1b[2J\n" (a\n)`, func() {
			l.write("index.json", `{"manifests": [{"digest":"a\n","annotations":{"org.opencontainers.image.ref.name":"\u001b[2J\n"}},{"digest":"b"}]}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l = newLayout(t)
			layer = content.NewDescriptorFromBytes(LayerType, module)
			manifest = l.artifact(ConfigType, LayerType, module)
			c.spoil()
			reference := ""
			if c.name == "layer too big" || strings.HasSuffix(c.name, " layers") || c.name == "a tag twice" {
				reference = "big"
			}
			_, err := l.module(reference)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error is long, or not one line: %.200q", err)
			}
		})
	}
}

func (l *layout) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}
