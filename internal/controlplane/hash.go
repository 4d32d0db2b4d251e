package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hashSource is a short name for a program: the same for the same sources in dir and the same salt (toolchain and build
// flags). Tests and other files that don't become part of the program don't count.
func hashSource(dir string, salt []string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch name := entryName(entry); {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "testdata"):
			return fs.SkipDir
		case name == "go.mod", name == "go.sum", strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("list the control plane's sources: %w", err)
	}
	slices.Sort(files)
	h := sha256.New()
	for _, s := range salt {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the control plane's sources: %w", err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return "", fmt.Errorf("name the control plane's sources: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(rel), len(data))
		h.Write(data)
	}
	const short = 16 // hex digits: plenty for the few versions on one machine
	return hex.EncodeToString(h.Sum(nil))[:short], nil
}

// entryName is safe for the nil entry that WalkDir passes with an error.
func entryName(entry fs.DirEntry) string {
	if entry == nil {
		return ""
	}
	return entry.Name()
}
