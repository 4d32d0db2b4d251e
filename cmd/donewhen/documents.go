package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/predicates"
)

// documentLine finds, without reading the YAML, files that may hold documents of
// donewhen, misspelt ones too.
var documentLine = regexp.MustCompile(`(?im)^\s*(apiVersion["']?\s*:\s*["']?donewhen|kind["']?\s*:\s*["']?(predicat|bind))`)

// suiteLine is documentLine for suites.
var suiteLine = regexp.MustCompile(`(?im)^\s*kind["']?\s*:\s*["']?suit`)

// readDocuments reads the files, and of the directories every .yaml and .yml file
// that may hold a predicate or binding, or if asked a suite; testdata and what begins with a dot or an
// underscore is left out. The source has no name: the files' names say it all.
func readDocuments(paths []string, suites bool) (predicates.Source, error) {
	var source predicates.Source
	var missing []error
	add := func(path string, named bool) {
		data, err := os.ReadFile(path)
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err // it names the file once more
		}
		name := filepath.ToSlash(filepath.Clean(path))
		switch {
		case err != nil && path == "-":
			missing = append(missing, errors.New("can't read -: predicates come from files and directories, only objects from the standard input; try /dev/stdin"))
		case err != nil:
			missing = append(missing, fmt.Errorf("can't read %s: %w", path, err))
		case !named && !documentLine.Match(data) && !(suites && suiteLine.Match(data)):
		case !slices.ContainsFunc(source.Files, func(f predicates.File) bool { return f.Name == name }):
			source.Files = append(source.Files, predicates.File{Name: name, Data: data})
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			add(path, true)
			continue
		}
		// With a separator behind it, a symbolic link to a directory is followed.
		root := path + string(filepath.Separator)
		err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			name := entry.Name()
			switch {
			case err != nil:
				missing = append(missing, fmt.Errorf("can't read the directory: %w", err))
			case file != root && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")):
				if entry.IsDir() {
					return filepath.SkipDir
				}
			case entry.IsDir():
			case slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(file))):
				if info, err := os.Stat(file); err != nil || !info.IsDir() {
					add(file, false)
				}
			}
			return nil
		})
		if err != nil {
			missing = append(missing, err)
		}
	}
	if err := errors.Join(missing...); err != nil {
		return predicates.Source{}, err
	}
	if len(source.Files) == 0 {
		return predicates.Source{}, fmt.Errorf("no predicate or binding in %s", strings.Join(paths, ", "))
	}
	return source, nil
}
