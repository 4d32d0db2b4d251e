//go:build !unix

package controlplane

import (
	"context"
	"os"
	"os/exec"
)

// kube-apiserver isn't made for these systems; this only keeps importers compiling.

func detachSignals(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func lock(context.Context, string, *progress) (unlock func(), err error) { return func() {}, nil }
