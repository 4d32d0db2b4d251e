package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/predicates"
)

// Files is a directory or a file as a source.
type Files struct {
	options
	name string
	// dirs are to watch, those that are there; matters tells which paths in them are
	// a reason to read.
	dirs    func() []string
	matters func(path string) bool
	read    func() ([]predicates.File, error)
}

// NewDirectory returns the source of a directory, which need not exist: a
// ConfigMap or Secret as the kubelet mounts it, whose change is seen whole or not
// at all, or a plain one. Every file in it and below counts, except those whose
// name begins with a dot or ends with a tilde; WebAssembly modules are binary
// files. Symbolic links to files are followed, and one in place of the directory. Of
// an OCI image layout below it only the modules count that documents name, and no link
// leads out of the directory.
func NewDirectory(path string, opts ...Option) *Files {
	name := "directory " + filepath.Clean(path)
	path = absolute(path)
	return &Files{
		options: newOptions(name, opts), name: name,
		dirs:    func() []string { return directories(path) },
		matters: func(at string) bool { return within(at, path) || within(path, at) },
		read:    func() ([]predicates.File, error) { return readMounted(path) },
	}
}

// NewFile returns the source of one file, which need not exist. Modules beside and
// below it count as well if it names them; their change alone is seen by polling.
func NewFile(path string, opts ...Option) *Files {
	name := "file " + filepath.Clean(path)
	path = absolute(path)
	return &Files{
		options: newOptions(name, opts), name: name,
		dirs: func() []string { return []string{nearestDirectory(filepath.Dir(path))} },
		// Where the kubelet has mounted it, only the link beside it changes.
		matters: func(at string) bool { return within(path, at) || strings.HasPrefix(filepath.Base(at), "..") },
		read: func() ([]predicates.File, error) {
			data, err := readBounded(path, maxFile)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, leadsNowhere(path, "")
			}
			if err != nil {
				return nil, err
			}
			return withModules(filepath.Dir(path), []predicates.File{fileOf(filepath.Base(path), data)})
		},
	}
}

// Name returns the name of the sources that Run delivers: "directory PATH" or
// "file PATH".
func (f *Files) Name() string { return f.name }

// Run watches the files until ctx ends, and then returns nil. It delivers them at
// once, and again after each change of their names or content, from one goroutine;
// a burst of changes is delivered as one. What doesn't exist, or no longer, is a
// source without files. What can't be read is reported and leaves the last
// delivery as it is. Changes are seen by the file system's events, and by reading
// once a minute.
func (f *Files) Run(ctx context.Context, deliver func(predicates.Source)) error {
	watching, err := f.watch(f.dirs(), f.matters)
	if err != nil {
		f.onError(ctx, fmt.Errorf("watch %s, which is only read once in %s now: %w", f.name, f.poll, err))
		watching = noWatcher{}
	}
	defer watching.close()
	var last []predicates.File
	failed := ""
	for first := true; ; {
		// Before the reading: what comes after it is then seen.
		f.follow(watching)
		files, err := f.read()
		if err == nil {
			f.onAnswer()
		}
		switch {
		case err != nil:
			if err := fmt.Errorf("read %s: %w", f.name, err); err.Error() != failed {
				failed = err.Error()
				f.onError(ctx, err)
			}
		case first || !reflect.DeepEqual(files, last):
			first, failed, last = false, "", files
			deliver(predicates.Source{Name: f.name, Files: files})
		default:
			failed = ""
		}
		poll := f.clock.NewTimer(f.poll)
		select {
		case <-ctx.Done():
			poll.Stop()
			return nil
		case <-poll.C():
			continue
		case <-watching.changed():
			poll.Stop()
		}
		if !f.settle(ctx, watching.changed()) {
			return nil
		}
	}
}

// follow watches the directories that are there now.
func (f *Files) follow(watching watcher) {
	const tries = 10 // of directories that come and go meanwhile
	for try, dirs := 1, f.dirs(); ; try++ {
		watching.follow(dirs)
		now := f.dirs()
		if try == tries || slices.Equal(now, dirs) {
			return
		}
		dirs = now
	}
}

// dataLink is the link by which the kubelet swaps the content of a mounted volume.
const dataLink = "..data"

// readMounted reads a directory; of one that the kubelet mounts, one state of it.
func readMounted(dir string) ([]predicates.File, error) {
	const tries = 10 // of a directory that is swapped while it is read
	for try := 1; ; try++ {
		root := dir
		link, err := os.Readlink(filepath.Join(dir, dataLink))
		if err == nil {
			if root = link; !filepath.IsAbs(link) {
				root = filepath.Join(dir, link)
			}
		}
		files, found, err := readTree(root)
		now, _ := os.Readlink(filepath.Join(dir, dataLink))
		if now != link && try < tries {
			continue
		}
		if err == nil && !found {
			err = leadsNowhere(dir, link)
		}
		return files, err
	}
}

// leadsNowhere returns an error if what isn't there is what a link leads to: to take that
// for empty would switch a config off that is only out of reach. The link is a mounted
// directory's own, empty where it isn't one.
func leadsNowhere(path, link string) error {
	if link != "" {
		path = filepath.Join(path, dataLink)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	return fmt.Errorf("the link %s leads nowhere: %w", path, fs.ErrNotExist)
}

// readTree also returns whether the root was there.
func readTree(root string) (files []predicates.File, found bool, err error) {
	// A walk doesn't follow a link, not even the one that it begins with.
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return nil, false, ignoreMissing(err)
	}
	found = true
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path == root && errors.Is(err, fs.ErrNotExist) {
				found = false
				return nil
			}
			return err
		}
		if path != root && hidden(entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() && path != root && isLayout(path) {
			return fs.SkipDir
		}
		// A link may lead to a directory, which is left out: it could lead back here.
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := readBounded(path, maxFile)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files, err = bounded(files, fileOf(filepath.ToSlash(name), data))
		return err
	})
	if err != nil || !found {
		return nil, found, err
	}
	files, err = withModules(root, files)
	return files, true, err
}

// directories returns what to watch for changes of a directory: its parent, by
// which it comes and goes, and itself with those below it.
func directories(dir string) []string {
	all := []string{nearestDirectory(filepath.Dir(dir))}
	if _, err := os.Readlink(filepath.Join(dir, dataLink)); err == nil {
		return append(all, dir)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return all
	}
	// What can't be read is reported by who reads it.
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return nil
		case path != root && hidden(entry.Name()):
			return fs.SkipDir
		}
		// Where dir is a link: by its own name, by which events are told apart.
		all = append(all, dir+strings.TrimPrefix(path, root))
		return nil
	})
	return all
}

// nearestDirectory returns the directory, or where it isn't there the one above it
// that is: by that the others come.
func nearestDirectory(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// absolute returns the path as file system events name it: those of "." and below
// it come with a name that filepath.Clean shortens.
func absolute(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return filepath.Clean(path)
}

// within reports whether a path is the directory or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") }

func fileOf(name string, data []byte) predicates.File {
	module := bytes.HasPrefix(data, []byte("\x00asm")) || bytes.HasPrefix(data, []byte("\x1f\x8b"))
	return predicates.File{Name: name, Data: data, Binary: module}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
