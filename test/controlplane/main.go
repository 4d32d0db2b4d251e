// Command controlplane runs etcd and a whole kube-apiserver v1.37.2 in one process, on loopback only, for tests and
// demos. It has a module of its own because of the many dependencies that it needs.
//
//	controlplane --dir /tmp/cp &            # prints "ready https://127.0.0.1:PORT"
//	kubectl --kubeconfig /tmp/cp/kubeconfig get namespaces
//
// Everything is in --dir: data, keys, certificate, tokens, port, log (server.log) and a kubeconfig for each user:
// "kubeconfig" for the administrator, NAME.kubeconfig for the other users of --users, who may do nothing until RBAC rules say so.
// Started again on the same directory it comes back on the same port with the same certificate, tokens and data.
// Arguments after "--" are flags of kube-apiserver.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type config struct {
	dir         string
	port        int
	users       []string
	readyFile   string
	watchStdin  bool
	temporary   bool
	grace       time.Duration
	serverFlags []string
}

func main() {
	cfg, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2) // the flag package has printed the reason
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, cfg, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func parse(args []string, output io.Writer) (config, error) {
	var cfg config
	var users string
	fs := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	fs.SetOutput(output)
	fs.StringVar(&cfg.dir, "dir", "", "`directory` for data, keys, log and kubeconfigs; created if missing (required)")
	fs.IntVar(&cfg.port, "port", 0, "`port` on 127.0.0.1; 0: that of the last start in the same directory, else a free one")
	fs.StringVar(&users, "users", "driver,simulator,restricted", "comma-separated `names` of users without any right of their own, beside the administrator")
	fs.StringVar(&cfg.readyFile, "ready-file", "", "`file` that appears, with the server's URL in it, when the server answers")
	fs.BoolVar(&cfg.watchStdin, "watch-stdin", false, "stop when standard input ends, that is, when the process that holds its other end ends")
	fs.BoolVar(&cfg.temporary, "temporary", false, "with --watch-stdin: remove the directory when standard input has ended")
	fs.DurationVar(&cfg.grace, "grace", 2*time.Second, "longest `time` for requests in flight to end after a stop")
	if err := fs.Parse(args); err != nil {
		return config{}, err
	}
	cfg.serverFlags = fs.Args()
	var problem string
	switch {
	case cfg.dir == "":
		problem = "--dir is missing: name the directory for data, keys, log and kubeconfigs"
	case cfg.port < 0 || cfg.port > 65535:
		problem = fmt.Sprintf("--port %d: must be between 0 and 65535", cfg.port)
	case cfg.temporary && !cfg.watchStdin:
		problem = "--temporary works only together with --watch-stdin"
	}
	if problem != "" {
		fmt.Fprintln(output, "controlplane:", problem)
		return config{}, errors.New(problem)
	}
	for name := range strings.SplitSeq(users, ",") {
		if name = strings.TrimSpace(name); name != "" {
			cfg.users = append(cfg.users, name)
		}
	}
	return cfg, nil
}
