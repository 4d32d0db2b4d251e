package csi

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "csi.sock")
	listener, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a socket that is served: %v", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	exists(t, path, true) // left behind
	listener, err = Listen(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatalf("a socket that was left behind: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	exists(t, path, false)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{path, "tcp://127.0.0.1:1", "unix://", "", filepath.Join(dir, "nowhere", "csi.sock")} {
		if _, err := Listen(t.Context(), endpoint); err == nil {
			t.Errorf("%q was accepted", endpoint)
		}
	}
	for endpoint, want := range map[string]string{
		filepath.Join(dir, "nowhere", "csi.sock"):    "no directory " + filepath.Join(dir, "nowhere"),
		filepath.Join(dir, strings.Repeat("x", 120)): "give a shorter --endpoint",
	} {
		if _, err := Listen(t.Context(), endpoint); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	exists(t, path, true)
}
