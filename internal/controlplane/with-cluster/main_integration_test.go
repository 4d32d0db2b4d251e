//go:build integration

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunPassesTheExitCodeAndTheCluster(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	var stderr bytes.Buffer
	code := run([]string{"--", "sh", "-c", `test -s "$DONEWHEN_TEST_KUBECONFIG" && test -d "$DONEWHEN_TEST_DIR" && echo "$DONEWHEN_TEST_DIR" >"$OUT"; exit 7`}, &stderr)
	if code != 7 {
		t.Errorf("exit code: got %d, want 7; %s", code, &stderr)
	}
	dir, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("the command had no cluster: %v", err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(dir))); !os.IsNotExist(err) {
		t.Errorf("the server's directory: got error %v, want it to be gone", err)
	}
}

func TestRunPassesSignals(t *testing.T) {
	var stderr bytes.Buffer
	// The shell's parent is this test, which stands for with-cluster.
	code := run([]string{"--", "sh", "-c", `trap 'exit 9' TERM; kill -TERM $PPID; for i in $(seq 200); do sleep 0.05; done; exit 1`}, &stderr)
	if code != 9 {
		t.Errorf("exit code: got %d, want 9; %s", code, &stderr)
	}
}
