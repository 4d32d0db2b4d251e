package controlplane

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/donewhen/donewhen"

// sourceDir is where the server's module is in a clone.
var sourceDir = filepath.Join("test", "controlplane")

// ErrNotInClone says that there is no source to build the control plane from, because the search for it didn't start in
// a clone of the repository.
var ErrNotInClone = errors.New("not inside a clone of " + modulePath +
	", so there is no source to build a control plane from: run it in a clone, or pass --kubeconfig to use a cluster of your own")

// findRoot walks up from dir to the directory of the main module. Nested modules on the way are passed over.
func findRoot(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve directory %s: %w", dir, err)
	}
	for dir = start; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil && moduleOf(data) == modulePath:
			if _, err := os.Stat(filepath.Join(dir, sourceDir, "go.mod")); err != nil {
				return "", fmt.Errorf("%s is incomplete, %w", dir, ErrNotInClone)
			}
			return dir, nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("look for the clone's root: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is %w", start, ErrNotInClone)
		}
	}
}

// moduleOf is the module path that a go.mod declares, "" if it declares none.
func moduleOf(gomod []byte) string {
	sc := bufio.NewScanner(bytes.NewReader(gomod))
	for sc.Scan() {
		fields := strings.Fields(sc.Text())
		if len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], "\"`")
		}
	}
	return ""
}
