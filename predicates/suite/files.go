package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/predicates"
)

// suiteLine finds, without reading the YAML, files that may hold a Suite, also a
// misspelt one: to leave that out would pass for success.
var suiteLine = regexp.MustCompile(`(?i)\bkind["']?\s*:\s*["']?suit`)

// Files finds the suites in the files and directories, loads the sets that they
// name and runs them. In a directory, every *.yaml and *.yml file with a Suite
// document counts, below it too, except in testdata and in what begins with a dot
// or an underscore. Paths that can't be read are problems of the report.
func (r *Runner) Files(ctx context.Context, paths ...string) *Report {
	report := &Report{}
	sets := map[string]*loaded{}
	for _, file := range find(report, paths) {
		data, err := os.ReadFile(file)
		if err != nil {
			report.Problems = append(report.Problems, unreadable(file, err))
			continue
		}
		suites, err := Parse(predicates.File{Name: filepath.ToSlash(file), Data: data}, readFile)
		report.add(err)
		for _, s := range suites {
			names := s.Predicates
			if len(names) == 0 && s.beside {
				names = []string{s.File}
			}
			if len(names) == 0 {
				report.Problems = append(report.Problems, predicates.Problem{
					File: s.File, Line: 1, Column: 1, Document: "Suite " + s.Name,
					Message: "the suite names no set to test", Hint: "write spec.predicates: [file.yaml], or put the predicates into this file",
				})
				continue
			}
			key := strings.Join(names, "\x00")
			if sets[key] == nil {
				sets[key] = r.load(s, names)
				report.add(sets[key].err)
				if set := sets[key].set; set != nil {
					report.Warnings = append(report.Warnings, set.Warnings()...)
				}
			}
			if set := sets[key].set; set != nil {
				r.run(ctx, set, s, report)
			}
		}
	}
	return report
}

type loaded struct {
	set *predicates.Set
	err error
}

// load builds the set under test of the files that a suite names.
func (r *Runner) load(s *Suite, names []string) *loaded {
	var source predicates.Source // without a name: the files' names say it all
	var problems []predicates.Problem
	for i, name := range names {
		data, err := readFile(name)
		if err != nil {
			line, column := s.doc.Position("spec", "predicates", i)
			problems = append(problems, predicates.Problem{
				File: s.File, Line: line, Column: column, Document: "Suite " + s.Name,
				Message: fmt.Sprintf("can't read %s: %v", name, pathless(err)), Excerpt: s.doc.Excerpt(line, column),
			})
			continue
		}
		source.Files = append(source.Files, predicates.File{Name: name, Data: data})
	}
	if len(problems) > 0 {
		return &loaded{err: loadError(problems)}
	}
	source.Files = predicates.WithModules(source.Files, openFile)
	loader, err := predicates.NewLoader(r.operations, r.loading...)
	if err != nil {
		return &loaded{err: err}
	}
	set, err := loader.Load(source)
	return &loaded{set: set, err: err}
}

// add takes the problems of a load error.
func (r *Report) add(err error) {
	var load *predicates.LoadError
	switch {
	case err == nil:
	case errors.As(err, &load):
		r.Problems = append(r.Problems, load.Problems...)
	default:
		r.Problems = append(r.Problems, predicates.Problem{Message: err.Error()})
	}
}

func readFile(name string) ([]byte, error) { return os.ReadFile(filepath.FromSlash(name)) }

func openFile(name string) (io.ReadCloser, error) { return os.Open(filepath.FromSlash(name)) }

func unreadable(file string, err error) predicates.Problem {
	return predicates.Problem{File: filepath.ToSlash(file), Message: fmt.Sprintf("can't read it: %v", pathless(err))}
}

// pathless returns the cause of an error that names the file once more.
func pathless(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// find returns the files to read, each once, in the order of the paths.
func find(report *Report, paths []string) []string {
	var files []string
	add := func(file string) {
		if file = filepath.Clean(file); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			report.Problems = append(report.Problems, unreadable(path, err))
		case !info.IsDir():
			add(path)
		default:
			// With a separator behind it, a symbolic link to a directory is followed.
			path += string(filepath.Separator)
			err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
				if err != nil {
					report.Problems = append(report.Problems, unreadable(file, err))
					return nil
				}
				if file != path && skipped(entry.Name()) {
					if entry.IsDir() {
						return filepath.SkipDir
					}
					return nil
				}
				if !entry.IsDir() && mayHoldSuites(report, file) {
					add(file)
				}
				return nil
			})
			report.add(err)
		}
	}
	return files
}

func skipped(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func mayHoldSuites(report *Report, file string) bool {
	if extension := strings.ToLower(filepath.Ext(file)); extension != ".yaml" && extension != ".yml" {
		return false
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return false // a symbolic link to a directory
	}
	data, err := os.ReadFile(file)
	if err != nil {
		report.Problems = append(report.Problems, unreadable(file, err))
		return false
	}
	return suiteLine.Match(data)
}
