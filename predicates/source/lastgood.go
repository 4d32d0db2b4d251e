package source

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/donewhen/donewhen/predicates"
)

// lastGoodFormat is the form of the file; another one is like a damaged file.
const lastGoodFormat = 1

// LastGoodFile is a file with the sources of the last good set, a
// predicates.LastGood. Its methods may be called by one goroutine at a time.
type LastGoodFile struct {
	path string
	warn func(error)
	last os.FileInfo // as it was read or written last; nil: not yet
}

// NewLastGoodFile returns the file at the path, which need not exist. Its
// directory must: the file is written beside itself and renamed. Warn is told what
// is no error and somebody should know, each time; nil tells nobody.
//
// Who can write the file decides what comes into force at a bad start. So it is made for
// its owner alone, and isn't believed if it is a symbolic link, belongs to anybody but this
// process' user or root, or may be written by others, or by a group that the process isn't in.
// With the process' own group, as volumes in a pod have it, there is a warning.
func NewLastGoodFile(path string, warn func(error)) *LastGoodFile {
	if warn == nil {
		warn = func(error) {}
	}
	return &LastGoodFile{path: path, warn: warn}
}

// lastGood is the content of the file.
type lastGood struct {
	Format int `json:"format"`
	// SHA256 is of Sources as it stands in the file, in hexadecimal.
	SHA256  string          `json:"sha256"`
	Sources json.RawMessage `json:"sources"`
}

// Load implements predicates.LastGood.
func (f *LastGoodFile) Load() ([]predicates.Source, error) {
	data, err := f.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the last good predicates: %w", err)
	}
	var content lastGood
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("the last good predicates in %s are damaged, remove the file: %w", f.path, err)
	}
	if content.Format != lastGoodFormat {
		return nil, fmt.Errorf("the last good predicates in %s are of format %d, and this build writes %d: remove the file", f.path, content.Format, lastGoodFormat)
	}
	if sum := sumOf(content.Sources); sum != content.SHA256 {
		return nil, fmt.Errorf("the last good predicates in %s are damaged, remove the file: their sha256 is %s, want %q", f.path, sum, content.SHA256)
	}
	var sources []predicates.Source
	if err := json.Unmarshal(content.Sources, &sources); err != nil {
		return nil, fmt.Errorf("the last good predicates in %s are damaged, remove the file: %w", f.path, err)
	}
	return sources, nil
}

// Save implements predicates.LastGood: a reader sees the old file or the new one,
// whole, also after a crash.
func (f *LastGoodFile) Save(sources []predicates.Source) error {
	raw, err := json.Marshal(sources)
	if err != nil {
		return fmt.Errorf("save the last good predicates: %w", err)
	}
	data, err := json.Marshal(lastGood{Format: lastGoodFormat, SHA256: sumOf(raw), Sources: raw})
	if err != nil {
		return fmt.Errorf("save the last good predicates: %w", err)
	}
	if now, err := os.Lstat(f.path); err == nil && f.last != nil && !os.SameFile(now, f.last) {
		f.warn(fmt.Errorf("the last good predicates in %s were written by another program meanwhile: give each driver a file of its own", f.path))
	}
	if err := writeAtomically(f.path, data); err != nil {
		return fmt.Errorf("save the last good predicates in %s: %w; may this program write there, and is there room?", f.path, err)
	}
	f.last, _ = os.Lstat(f.path) // without it the next one isn't compared
	return nil
}

func sumOf(raw json.RawMessage) string {
	sum := sha256.Sum256(bytes.TrimSpace(raw))
	return hex.EncodeToString(sum[:])
}

// writeAtomically replaces a file's content, durably. Its errors don't name the file
// beside it, which is another one each time.
func writeAtomically(path string, data []byte) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // for the owner alone
	if err != nil {
		return bare(err)
	}
	_, err = temporary.Write(data)
	err = cmp.Or(bare(err), bare(temporary.Sync()), bare(temporary.Close()))
	if err == nil {
		err = bare(os.Rename(temporary.Name(), path))
	}
	if err != nil {
		return errors.Join(err, bare(os.Remove(temporary.Name())))
	}
	directory, err := os.Open(dir)
	if err != nil {
		return bare(err)
	}
	err = bare(directory.Sync())
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some file systems can't; the file is there
	}
	return errors.Join(err, bare(directory.Close()))
}

// bare returns what went wrong, without the name of the file.
func bare(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
