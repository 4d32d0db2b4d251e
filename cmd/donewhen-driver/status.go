package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// statusServer serves /metrics, /waits, /healthz and /readyz. None of them asks who
// it is that asks: the address must not be public.
type statusServer struct {
	listener net.Listener
	server   *http.Server
	file     string
}

// listenStatus listens on the address, and writes where that is to the file, if
// one is given.
func listenStatus(ctx context.Context, address, file string, registry *prometheus.Registry, waits http.Handler, ready func() bool) (*statusServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics on %s: %w; give another --metrics-address", address, err)
	}
	if file != "" {
		if err := writeWhole(file, listener.Addr().String()+"\n"); err != nil {
			return nil, errors.Join(fmt.Errorf("write the address of the metrics: %w; give another --metrics-address-file", err), listener.Close())
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("GET /waits", waits)
	mux.Handle("GET /waits.json", waits)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "not serving CSI yet, or no longer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	return &statusServer{listener: listener, server: server, file: file}, nil
}

// writeWhole writes the file so that a reader sees all of it or nothing.
func writeWhole(path, content string) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

func (s *statusServer) serve() error {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics on %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// close ends what runs, and takes the address file away.
func (s *statusServer) close() error {
	err := errors.Join(s.server.Close(), ignoreClosed(s.listener.Close()))
	if s.file != "" {
		err = errors.Join(err, os.Remove(s.file))
	}
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
