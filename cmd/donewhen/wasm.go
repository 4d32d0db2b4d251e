package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// withWasm returns the option of a loader that runs WebAssembly modules, and what to
// call once its sets aren't used any longer.
func withWasm() (predicates.LoaderOption, func(), error) {
	runtime, err := wasm.New()
	if err != nil {
		return nil, nil, err
	}
	return predicates.WithWasm(runtime), func() { _ = runtime.Close() }, nil
}

// withModules adds the modules that the source's predicates name.
func withModules(source predicates.Source) predicates.Source {
	source.Files = predicates.WithModules(source.Files, func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.FromSlash(name))
	})
	return source
}
