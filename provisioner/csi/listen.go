package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Listen listens on a unix socket: unix:///path, unix:path or a plain path. A
// socket that a running program serves is an error; one that a program has left
// behind is replaced. The socket goes when the listener is closed.
func Listen(ctx context.Context, endpoint string) (net.Listener, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("listen on the CSI socket %s: there is no directory %s: make it, or give another --endpoint", path, filepath.Dir(path))
	case len(path) > safeSocketPath:
		return nil, fmt.Errorf("listen on the CSI socket %s: %w: its path has %d characters, give a shorter --endpoint", path, err, len(path))
	}
	return nil, fmt.Errorf("listen on the CSI socket %s: %w", path, err)
}

// safeSocketPath is how long a socket's path may be on every Unix.
const safeSocketPath = 103

// CheckEndpoint says what is wrong with an endpoint that Listen can't serve by its
// form; it touches nothing.
func CheckEndpoint(endpoint string) error {
	_, err := socketPath(endpoint)
	return err
}

func socketPath(endpoint string) (string, error) {
	path, found := strings.CutPrefix(endpoint, "unix:")
	if !found && strings.Contains(endpoint, "://") {
		return "", fmt.Errorf("endpoint %q: only unix sockets are served, give unix:///path/csi.sock", endpoint)
	}
	path = strings.TrimPrefix(path, "//")
	if path == "" {
		return "", fmt.Errorf("endpoint %q has no path, give unix:///path/csi.sock", endpoint)
	}
	return path, nil
}

func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the CSI socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and isn't a socket: give another --endpoint, or remove it", path)
	}
	dialer := net.Dialer{Timeout: 2 * time.Second}
	connection, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("the CSI socket %s is in use by a running program: stop that, or give another --endpoint", path), connection.Close())
	}
	if !refused(err) {
		return fmt.Errorf("see whether a program serves the CSI socket %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the CSI socket %s, which an ended program has left: %w", path, err)
	}
	return nil
}
