package predicates

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// FromFS returns the source of all .yaml and .yml files of a file system, for
// example an embed.FS, in the order of their names; WebAssembly modules (.wasm)
// are binary files, and others are left out.
func FromFS(name string, files fs.FS) (Source, error) {
	source := Source{Name: name}
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		extension := strings.ToLower(path.Ext(file))
		if extension != ".yaml" && extension != ".yml" && extension != ".wasm" {
			return nil
		}
		data, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		source.Files = append(source.Files, File{Name: file, Data: data, Binary: extension == ".wasm"})
		return nil
	})
	if err != nil {
		return Source{}, fmt.Errorf("read the documents of %s: %w", name, err)
	}
	return source, nil
}

// FromValues returns the source of documents that a program has made: values of
// v1alpha1.Predicate and v1alpha1.Binding, whose apiVersion and kind may be left
// out. Each is a file of its own, named after the document. They are checked like
// any others when they are loaded.
func FromValues(name string, documents ...any) (Source, error) {
	source := Source{Name: name}
	for i, document := range documents {
		var title string
		switch d := document.(type) {
		case v1alpha1.Predicate:
			d.APIVersion, d.Kind = v1alpha1.APIVersion, v1alpha1.KindPredicate
			document, title = d, d.Kind+" "+d.Metadata.Name
		case v1alpha1.Binding:
			d.APIVersion, d.Kind = v1alpha1.APIVersion, v1alpha1.KindBinding
			document, title = d, d.Kind+" "+d.Metadata.Name
		default:
			return Source{}, fmt.Errorf("document %d of %s is a %T: give values of v1alpha1.Predicate or v1alpha1.Binding", i+1, name, document)
		}
		data, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return Source{}, fmt.Errorf("document %d of %s: %w", i+1, name, err)
		}
		source.Files = append(source.Files, File{Name: title, Data: data})
	}
	return source, nil
}
