package predicates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/internal/ocilayout"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// layoutFile makes a directory an OCI image layout.
const layoutFile = "oci-layout"

// named is a file system of what a source calls its files.
type named func(name string) ([]byte, error)

// Open implements fs.FS, for files only.
func (n named) Open(name string) (fs.File, error) {
	data, err := n(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &namedFile{Reader: bytes.NewReader(data), name: path.Base(name)}, nil
}

// namedFile is an open file, and what is known about it.
type namedFile struct {
	*bytes.Reader
	name string
}

func (f *namedFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *namedFile) Close() error               { return nil }
func (f *namedFile) Name() string               { return f.name }
func (f *namedFile) Mode() fs.FileMode          { return 0o444 }
func (f *namedFile) ModTime() time.Time         { return time.Time{} }
func (f *namedFile) IsDir() bool                { return false }
func (f *namedFile) Sys() any                   { return nil }

// layoutAt returns where a layout is that a document in the file names. It is below
// what the document is relative to: documents come from those who may say what is
// done, and that isn't to read what else there is on the machine.
func layoutAt(file, layout string) (string, error) {
	if !fs.ValidPath(path.Clean(layout)) {
		return "", errors.New("the path must be relative and stay below the document's directory")
	}
	return path.Join(path.Dir(file), layout), nil
}

// withLayout adds the files of the layout that a document in the file names which its
// module is read from, as far as they are there.
func withLayout(all []File, file string, from *v1alpha1.OCISource, read func(name string) ([]byte, error)) []File {
	dir, err := layoutAt(file, from.Path)
	if err != nil || from.Path == "" {
		return all // said by Load
	}
	// What is wrong is said by Load, which sees the same files.
	_, _ = ocilayout.Module(context.Background(), named(func(name string) ([]byte, error) {
		name = path.Join(dir, name)
		data, err := read(name)
		if err == nil && !slices.ContainsFunc(all, func(f File) bool { return f.Name == name }) {
			all = append(all, File{Name: name, Data: data, Binary: true})
		}
		return data, err
	}), from.Reference, wasm.MaxModuleSize)
	return all
}

// fromLayout returns the module in the layout that the document names; false if
// there is none, which is reported.
func (b *builder) fromLayout() ([]byte, bool) {
	at := []any{"spec", "wasm", "module", "oci", "path"}
	from := b.spec.Wasm.Module.OCI
	if b.spec.Wasm.Module.File != "" {
		b.key([]any{"spec", "wasm", "module", "file"}, "remove one of them", "spec.wasm.module has both file and oci")
		return nil, false
	}
	if !b.required(from.Path, at...) {
		return nil, false
	}
	dir, err := layoutAt(b.file, from.Path)
	if err != nil {
		b.at(at, "", "spec.wasm.module.oci: %q: %v", from.Path, err)
		return nil, false
	}
	file := func(name string) (File, bool) {
		i := slices.IndexFunc(b.files, func(f File) bool { return f.Name == name })
		if i < 0 {
			return File{}, false
		}
		return b.files[i], true
	}
	if _, ok := file(path.Join(dir, layoutFile)); !ok {
		var layouts []string
		for _, f := range b.files {
			if path.Base(f.Name) == layoutFile {
				layouts = append(layouts, path.Dir(f.Name), path.Base(path.Dir(f.Name)))
			}
		}
		b.at(at, nearest.Hint(from.Path, "layouts", layouts), "spec.wasm.module.oci: the source has no OCI image layout %q", from.Path)
		return nil, false
	}
	data, err := ocilayout.Module(context.Background(), named(func(name string) ([]byte, error) {
		f, ok := file(path.Join(dir, name))
		if !ok {
			return nil, fs.ErrNotExist
		}
		return f.Data, nil
	}), from.Reference, wasm.MaxModuleSize)
	if err == nil {
		return data, true
	}
	if _, ok := errors.AsType[*ocilayout.ReferenceError](err); ok && from.Reference != "" {
		at[len(at)-1] = "reference"
	}
	b.at(at, "", "spec.wasm.module.oci: %v", err)
	return nil, false
}

// readModule reads what WithModules opens, to a bound.
func readModule(open func(name string) (io.ReadCloser, error)) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		file, err := open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, wasm.MaxModuleSize+1))
		if err != nil {
			return nil, err
		}
		if len(data) > wasm.MaxModuleSize {
			return nil, fmt.Errorf("%s has more than %d MiB", name, wasm.MaxModuleSize>>20)
		}
		return data, nil
	}
}
