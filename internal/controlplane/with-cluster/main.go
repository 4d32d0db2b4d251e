// Command with-cluster runs a command, usually go test, with a control plane that it starts before and stops after it.
// Tests find the server through package clustertest.
//
//	go run ./internal/controlplane/with-cluster -- go test -race -tags integration ./...
//
// It exits with the command's exit code. Signals are passed on to the command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
)

// Exit codes of our own; the command's are passed on.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

func run(args []string, stderr io.Writer) int {
	fs := flag.NewFlagSet("with-cluster", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { fmt.Fprintln(stderr, "usage: with-cluster -- command [argument...]") }
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	if fs.NArg() == 0 {
		fs.Usage()
		return exitUsage
	}
	if _, err := exec.LookPath(fs.Arg(0)); err != nil {
		fmt.Fprintln(stderr, "with-cluster: find the command:", err)
		return exitFailed
	}
	// From here on no signal ends this process before the server has stopped.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	code, err := serveAndRun(signals, fs.Args(), stderr)
	if err != nil {
		fmt.Fprintln(stderr, "with-cluster:", err)
		code = max(code, exitFailed)
	}
	return code
}

func serveAndRun(signals <-chan os.Signal, command []string, stderr io.Writer) (code int, err error) {
	server, err := startServer(signals, stderr)
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), clustertest.KubeconfigEnv+"="+server.KubeconfigPath(), clustertest.DirEnv+"="+server.Dir())
	if err := cmd.Start(); err != nil {
		return exitFailed, fmt.Errorf("start the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	died := server.Done()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended already
		case <-died:
			died = nil // once
			fmt.Fprintln(stderr, "with-cluster: the control plane has ended; the end of its log:")
			_ = server.LogTail(stderr, 20)
			fmt.Fprintln(stderr)
			code = exitFailed
		case err := <-ended:
			commandCode, err := exitCode(err)
			return max(code, commandCode), err
		}
	}
}

// startServer builds and starts the control plane. A signal ends that.
func startServer(signals <-chan os.Signal, stderr io.Writer) (*controlplane.Server, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case s := <-signals:
			cancel(fmt.Errorf("got signal %v", s))
		case <-started:
		}
	}()
	defer func() {
		close(started)
		<-watched
	}()
	binary, err := controlplane.Build(ctx, controlplane.BuildOptions{Progress: stderr})
	if err != nil {
		return nil, err
	}
	server, err := controlplane.Start(ctx, controlplane.Options{Binary: binary})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), server.Close())
	}
	return server, nil
}

// exitCode is the code that a shell would give for the command's end.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return exitFailed, fmt.Errorf("run the command: %w", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}
