package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/test/controlplane/state"
)

// errOrphaned is the cause of a stop by the end of standard input.
var errOrphaned = errors.New("standard input ended")

// run serves until ctx is done or, with watchStdin, stdin ends. It prints one line to stdout when the server answers.
func run(ctx context.Context, cfg config, stdin io.Reader, stdout io.Writer) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cfg.watchStdin {
		go func() {
			// What arrives doesn't matter, and a failing read means the same as an end.
			_, _ = io.Copy(io.Discard, stdin)
			cancel(errOrphaned)
		}()
	}
	dir, err := state.Open(cfg.dir, cfg.users)
	if err != nil {
		return err
	}
	defer func() {
		if cfg.temporary && errors.Is(context.Cause(ctx), errOrphaned) {
			err = errors.Join(err, os.RemoveAll(dir.Path()))
		}
		err = errors.Join(err, dir.Close())
	}()
	readyFile, err := prepareReadyFile(cfg.readyFile)
	if err != nil {
		return err
	}
	if readyFile != "" {
		defer os.Remove(readyFile) // what it says is no longer true
	}
	log, err := logTo(dir.LogFile())
	if err != nil {
		return err
	}
	defer func() {
		klog.Flush()
		err = errors.Join(err, log.Close())
	}()
	// etcd's sockets have relative names, because the length of a socket's path is limited to about 100 bytes.
	if err := os.Chdir(dir.Path()); err != nil {
		return fmt.Errorf("enter the directory: %w", err)
	}
	listener, err := dir.Listen(cfg.port)
	if err != nil {
		return err
	}
	defer listener.Close() // the API server closes it too, if it gets that far
	url := "https://" + listener.Addr().String()
	if err := dir.WriteKubeconfigs(url); err != nil {
		return err
	}
	etcd, err := startEtcd(ctx, dir)
	if err != nil {
		return err
	}
	defer within(cfg.grace, etcd.Close)
	server, err := newAPIServer(ctx, dir, listener, cfg.serverFlags)
	if err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() { serving <- server.run(ctx) }()
	ready := make(chan error, 1)
	go func() { ready <- waitReady(ctx, dir, url) }()
	for {
		select {
		case err := <-ready:
			ready = nil // never again
			if ctx.Err() != nil {
				continue
			}
			if err == nil && readyFile != "" {
				err = state.WriteReadyFile(readyFile, url)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(stdout, "ready", url)
		case err := <-serving:
			if ctx.Err() == nil && err == nil {
				err = errors.New("it returned without a reason")
			}
			if err != nil {
				return fmt.Errorf("run kube-apiserver: %w", err)
			}
			return nil
		case <-ctx.Done():
			// Clients with open watches could keep the API server from ending; the process doesn't wait for them.
			select {
			case <-serving:
			case <-time.After(cfg.grace):
			}
			return nil
		}
	}
}

// prepareReadyFile makes the name independent of the working directory and removes what a former start left.
func prepareReadyFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve ready file: %w", err)
	}
	if err := os.Remove(abs); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("remove the ready file of a former start: %w", err)
	}
	return abs, nil
}

// logTo sends klog's output, which is all that kube-apiserver logs, to the end of the file.
func logTo(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	for _, set := range []struct{ name, value string }{
		{"logtostderr", "false"},
		{"alsologtostderr", "false"},
		{"stderrthreshold", "FATAL"},
		{"one_output", "true"}, // else an error is written once as each lower severity too
	} {
		if err := fs.Set(set.name, set.value); err != nil {
			return nil, errors.Join(fmt.Errorf("set up logging: %w", err), f.Close())
		}
	}
	klog.SetOutput(f)
	return f, nil
}

// within waits for f, but not longer than limit.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
