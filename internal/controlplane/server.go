package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// The users that a server has unless Options.Users names others. All but Admin may do nothing until RBAC rules say so.
const (
	Admin      = "admin"
	Driver     = "driver"
	Simulator  = "simulator"
	Restricted = "restricted"
)

const (
	startLimit = 4 * time.Minute  // a start takes 2 to 6 s; a machine that is very busy needs much more
	stopLimit  = 20 * time.Second // a stop takes 1 to 4 s; after this the server is killed
)

// Options says what server Start starts. Only Binary is required.
type Options struct {
	// Binary is the program that Build returned.
	Binary string
	// Dir is the directory for everything the server keeps. A server started on the directory of a former one has its
	// port, certificate, tokens and data. Empty: a new temporary directory, which Close removes.
	Dir string
	// Port is the port on 127.0.0.1. Zero: that of the last start in Dir, or else a free one.
	Port int
	// Users are the users beside Admin. Nil: Driver, Simulator and Restricted.
	Users []string
	// Flags are further flags for kube-apiserver, which win over the server's own.
	Flags []string
	// Detached lets the server go on when this process ends. Otherwise it stops by itself then, however this process
	// ended, and a temporary directory goes with it.
	Detached bool
}

// Server is a control plane in a process of its own. It is safe for concurrent use.
type Server struct {
	opts      Options
	dir       string
	temporary bool
	config    *rest.Config

	mu   sync.Mutex // held while the process is started or stopped
	proc *process   // nil before the first start
}

// Start starts a control plane and returns when it answers and checks tokens; that takes 2 to 6 s. ctx bounds the start
// only. The caller must Close the server. An error contains the end of the server's log.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Binary == "" {
		return nil, errors.New("start the control plane: Options.Binary is empty, pass what Build returns")
	}
	if opts.Users == nil {
		opts.Users = []string{Driver, Simulator, Restricted}
	}
	s := &Server{opts: opts, dir: opts.Dir}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "donewhen-controlplane-")
		if err != nil {
			return nil, fmt.Errorf("start the control plane: %w", err)
		}
		s.dir, s.temporary = dir, true
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, fmt.Errorf("resolve the control plane's directory %s: %w", s.dir, err)
	}
	s.dir = dir
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Restart stops the server if it runs and starts it again on the same port with the same certificate, tokens and data.
// Open clients just reconnect; their watches end. It also starts a server that was stopped or killed.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("create the control plane's directory: %w", err)
	}
	proc, err := startProcess(ctx, s.opts.Binary, s.args(), s.LogPath(), s.opts.Detached)
	if err != nil {
		return fmt.Errorf("start the control plane in %s: %w", s.dir, err)
	}
	s.proc = proc
	if s.config == nil {
		if s.config, err = LoadConfig(s.KubeconfigPath()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) args() []string {
	args := []string{"--dir", s.dir, "--port", strconv.Itoa(s.opts.Port), "--users", strings.Join(s.opts.Users, ",")}
	if !s.opts.Detached {
		args = append(args, "--watch-stdin")
		if s.temporary {
			args = append(args, "--temporary")
		}
	}
	return append(append(args, "--"), s.opts.Flags...)
}

// Stop stops the server in good order: requests and watches end, then etcd. The data stays for Restart. If ctx ends
// first, the server is killed and the error says so. Stopping a server that doesn't run does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	if s.proc == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stopLimit, fmt.Errorf("still running after %v", stopLimit))
	defer cancel()
	if err := s.proc.stop(ctx); err != nil {
		return fmt.Errorf("stop the control plane in %s: %w", s.dir, err)
	}
	return nil
}

// Kill ends the server's process at once, as a crash would (SIGKILL), and returns when it is gone. What it had
// acknowledged is still there after Restart.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	if err := s.proc.kill(); err != nil {
		return fmt.Errorf("kill the control plane in %s: %w", s.dir, err)
	}
	return nil
}

// Close stops the server and removes its directory if that was a temporary one. It may be called more than once.
func (s *Server) Close() error {
	err := s.Stop(context.Background())
	if s.temporary {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// Done is closed when the process of the latest start has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.done
}

// PID is the process id of the latest start.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.cmd.Process.Pid
}

// Dir is the absolute path of the directory that holds everything the server keeps.
func (s *Server) Dir() string { return s.dir }

// LogPath is the server's log.
func (s *Server) LogPath() string { return filepath.Join(s.dir, "server.log") }

// URL is the server's address, https://127.0.0.1:PORT.
func (s *Server) URL() string { return s.config.Host }

// Config is a new client configuration for Admin (group system:masters), without client-side throttling. It checks the
// server's certificate.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.config) }

// ConfigFor is like Config for another user of Options.Users. It fails if there is no such user.
func (s *Server) ConfigFor(user string) (*rest.Config, error) {
	return LoadConfig(s.KubeconfigPathFor(user))
}

// KubeconfigPath is Admin's kubeconfig.
func (s *Server) KubeconfigPath() string { return s.KubeconfigPathFor(Admin) }

// KubeconfigPathFor is the named user's kubeconfig.
func (s *Server) KubeconfigPathFor(user string) string { return KubeconfigIn(s.dir, user) }

// InstallCRDs is InstallCRDs with the server's Config.
func (s *Server) InstallCRDs(ctx context.Context, crdYAML ...[]byte) error {
	return InstallCRDs(ctx, s.Config(), crdYAML...)
}

// LogTail writes the end of the server's log, at most n lines, to w.
func (s *Server) LogTail(w io.Writer, n int) error {
	_, err := io.WriteString(w, tail(s.LogPath(), 0, n))
	return err
}
