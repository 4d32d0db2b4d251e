// Package ocilayout finds the WebAssembly module in an OCI image layout on disk,
// trusting nothing in it but what a digest has confirmed.
//
//	module, err := ocilayout.Module(ctx, os.DirFS("modules/attached"), "v1.2")
package ocilayout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
)

// Media types of a module's artifact; the manifest is an OCI image manifest.
const (
	ConfigType = "application/vnd.wasm.config.v0+json"
	LayerType  = "application/wasm"
)

const (
	// maxJSON bounds an index and a manifest, in bytes; registries take no bigger ones.
	maxJSON = 4 << 20
	// shown is how many manifests an error lists.
	shown = 8
)

// ReferenceError says that the layout has no such manifest, or no single one.
type ReferenceError struct{ message string }

func (e *ReferenceError) Error() string { return e.message }

// Module returns the module, perhaps gzipped, of at most limit bytes. Reference is a
// tag or the digest of a manifest in the layout's index; it may be empty if there is
// one manifest only. A *ReferenceError says which there are instead. It opens the
// index, one manifest and one blob, each by its name in the layout, and is safe for
// concurrent use if layout is.
func Module(ctx context.Context, layout fs.FS, reference string, limit int64) ([]byte, error) {
	if err := checkVersion(layout); err != nil {
		return nil, err
	}
	index, err := readIndex(layout)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(index.Manifests, reference)
	if err != nil {
		return nil, err
	}
	if err := checkType("manifest", chosen.MediaType, ocispec.MediaTypeImageManifest); err != nil {
		return nil, err
	}
	blobs := oci.NewStorageFromFS(layout)
	data, err := read(ctx, blobs, "manifest", chosen, maxJSON)
	if err != nil {
		return nil, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("read the manifest %s: %w", chosen.Digest, err)
	}
	if manifest.MediaType != "" {
		if err := checkType("manifest", manifest.MediaType, ocispec.MediaTypeImageManifest); err != nil {
			return nil, err
		}
	}
	if err := checkType("config", manifest.Config.MediaType, ConfigType); err != nil {
		return nil, err
	}
	if n := len(manifest.Layers); n != 1 {
		return nil, fmt.Errorf("the manifest %s has %d layers; a module has one, %s", chosen.Digest, n, LayerType)
	}
	if err := checkType("layer", manifest.Layers[0].MediaType, LayerType); err != nil {
		return nil, err
	}
	return read(ctx, blobs, "layer", manifest.Layers[0], limit)
}

// checkVersion reads the file that makes a directory a layout.
func checkVersion(layout fs.FS) error {
	data, err := readBounded(layout, ocispec.ImageLayoutFile)
	if err != nil {
		return err
	}
	var version ocispec.ImageLayout
	if err := json.Unmarshal(data, &version); err != nil {
		return fmt.Errorf("read %s: %w", ocispec.ImageLayoutFile, err)
	}
	if version.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("the layout has version %s; this build knows %s", quote(version.Version), ocispec.ImageLayoutVersion)
	}
	return nil
}

func readIndex(layout fs.FS) (*ocispec.Index, error) {
	data, err := readBounded(layout, ocispec.ImageIndexFile)
	if err != nil {
		return nil, err
	}
	index := &ocispec.Index{}
	if err := json.Unmarshal(data, index); err != nil {
		return nil, fmt.Errorf("read %s: %w", ocispec.ImageIndexFile, err)
	}
	if index.MediaType != "" {
		if err := checkType("index", index.MediaType, ocispec.MediaTypeImageIndex); err != nil {
			return nil, err
		}
	}
	return index, nil
}

// choose finds the manifest that a reference means. The same one may be in an index
// several times, with a tag each.
func choose(manifests []ocispec.Descriptor, reference string) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	for _, m := range manifests {
		if reference != "" && reference != m.Annotations[ocispec.AnnotationRefName] && reference != m.Digest.String() {
			continue
		}
		if len(found) == 0 || found[0].Digest != m.Digest {
			found = append(found, m)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(manifests) == 0:
		return ocispec.Descriptor{}, &ReferenceError{"the layout's index has no manifests"}
	case len(found) == 0:
		return ocispec.Descriptor{}, &ReferenceError{fmt.Sprintf("the layout has no manifest %s, only %s", quote(reference), list(manifests))}
	case reference == "":
		return ocispec.Descriptor{}, &ReferenceError{"the layout has several manifests, say which: " + list(manifests)}
	}
	return ocispec.Descriptor{}, &ReferenceError{fmt.Sprintf("several manifests of the layout are called %s: %s", quote(reference), list(found))}
}

// list names manifests by tag and digest.
func list(manifests []ocispec.Descriptor) string {
	var names []string
	for i, m := range manifests {
		if i == shown {
			names = append(names, fmt.Sprintf("and %d more", len(manifests)-shown))
			break
		}
		// A digest may be any text as well, until it is used.
		name := strings.Trim(quote(m.Digest.String()), `"`)
		if tag := m.Annotations[ocispec.AnnotationRefName]; tag != "" {
			name = quote(tag) + " (" + name + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// checkType names a media type that isn't the one wanted.
func checkType(what, got, want string) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("the %s has media type %s, want %s; build the artifact with config %s and one layer %s",
		what, quote(got), want, ConfigType, LayerType)
}

// read returns a blob that is what its descriptor says.
func read(ctx context.Context, blobs content.Fetcher, what string, d ocispec.Descriptor, limit int64) ([]byte, error) {
	if err := d.Digest.Validate(); err != nil {
		return nil, fmt.Errorf("the %s's digest is %s: %w", what, quote(d.Digest.String()), err)
	}
	if d.Size < 0 || d.Size > limit {
		return nil, fmt.Errorf("the %s %s has %d bytes; at most %d are allowed", what, d.Digest, d.Size, limit)
	}
	r, err := blobs.Fetch(ctx, d)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, fmt.Errorf("the layout has no blob of the %s %s; copy it whole", what, d.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("read the %s %s: %w", what, d.Digest, err)
	}
	defer r.Close()
	data, err := content.ReadAll(r, d)
	switch {
	case errors.Is(err, content.ErrMismatchedDigest):
		return nil, fmt.Errorf("the blob of the %s %s has another digest: it was damaged, or changed", what, d.Digest)
	case errors.Is(err, content.ErrTrailingData), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the blob of the %s %s isn't of the %d bytes that its descriptor says", what, d.Digest, d.Size)
	case err != nil:
		return nil, fmt.Errorf("read the %s %s: %w", what, d.Digest, err)
	}
	return data, nil
}

// readBounded reads a file of JSON at the layout's root.
func readBounded(layout fs.FS, name string) ([]byte, error) {
	file, err := layout.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no OCI image layout: there is no %s", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the OCI image layout: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxJSON+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxJSON {
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxJSON>>20)
	}
	return data, nil
}

// quote shows a text of the layout, which may be any.
func quote(text string) string {
	const longest = 128
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return fmt.Sprintf("%q", text)
}
