package source

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/donewhen/donewhen/predicates"
)

// Bounds of what a source delivers. A ConfigMap is smaller by itself (1 MiB); in
// files there may be modules.
const (
	maxFile  = 16 << 20 // bytes
	maxTotal = 64 << 20
	maxFiles = 1000
)

// readBounded reads a regular file of at most so many bytes. To open a pipe would
// wait for who writes to it, and a device has no end.
func readBounded(path string, limit int64) ([]byte, error) {
	data, _, err := readRegular(path, limit, 0)
	return data, err
}

// readRegular is readBounded with flags of opening; it also returns what was read.
func readRegular(path string, limit int64, flags int) ([]byte, os.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s isn't a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s has more than %d MiB", path, limit>>20)
	}
	return data, info, nil
}

// bounded adds a file to a source's, unless that is too much.
func bounded(files []predicates.File, file predicates.File) ([]predicates.File, error) {
	total := len(file.Data)
	for _, f := range files {
		total += len(f.Data)
	}
	switch {
	case len(files) == maxFiles:
		return nil, fmt.Errorf("more than %d files", maxFiles)
	case total > maxTotal:
		return nil, fmt.Errorf("more than %d MiB in all", maxTotal>>20)
	}
	return append(files, file), nil
}
