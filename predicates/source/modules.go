package source

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/donewhen/donewhen/predicates"
)

// layoutFile makes a directory an OCI image layout.
const layoutFile = "oci-layout"

// isLayout reports whether a directory is an OCI image layout. It has no documents,
// and may have images of any size.
func isLayout(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, layoutFile))
	return err == nil && info.Mode().IsRegular()
}

// withModules adds the modules that the documents among the files name, with paths
// below root, which no symbolic link leads out of.
func withModules(root string, files []predicates.File) ([]predicates.File, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return files, ignoreMissing(err)
	}
	defer dir.Close()
	all := predicates.WithModules(files, func(name string) (io.ReadCloser, error) {
		name = filepath.FromSlash(name)
		info, err := dir.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() { // to open a pipe would wait
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
		}
		return dir.Open(name)
	})
	bound := all[:0:0]
	for _, file := range all {
		if bound, err = bounded(bound, file); err != nil {
			return nil, fmt.Errorf("with the modules that documents name: %w", err)
		}
	}
	return bound, nil
}
