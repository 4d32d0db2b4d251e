package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/donewhen/donewhen/predicates"
)

// lastGoodFormat is the form of the file; another one is like a damaged file.
const lastGoodFormat = 1

// LastGoodFile is a file with the sources of the last good set, a
// predicates.LastGood. Its methods may be called by one goroutine at a time.
type LastGoodFile struct{ path string }

// NewLastGoodFile returns the file at the path, which need not exist. Its
// directory must: the file is written beside itself and renamed.
func NewLastGoodFile(path string) *LastGoodFile { return &LastGoodFile{path: path} }

// lastGood is the content of the file.
type lastGood struct {
	Format int `json:"format"`
	// SHA256 is of Sources as it stands in the file, in hexadecimal.
	SHA256  string          `json:"sha256"`
	Sources json.RawMessage `json:"sources"`
}

// Load implements predicates.LastGood.
func (f *LastGoodFile) Load() ([]predicates.Source, error) {
	data, err := readBounded(f.path, maxTotal*2) // in JSON it is a third larger
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
	if err := writeAtomically(f.path, data); err != nil {
		return fmt.Errorf("save the last good predicates: %w; may this program write there?", err)
	}
	return nil
}

func sumOf(raw json.RawMessage) string {
	sum := sha256.Sum256(bytes.TrimSpace(raw))
	return hex.EncodeToString(sum[:])
}

// writeAtomically replaces a file's content, durably.
func writeAtomically(path string, data []byte) error {
	dir := filepath.Dir(path)
	temporary, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	directory, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
