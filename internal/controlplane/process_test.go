package controlplane

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "old\n1\n2\n3\n")
	if got := tail(path, 4, 2); got != "2\n3" {
		t.Errorf("two lines: got %q", got)
	}
	if got := tail(path, 4, 9); got != "1\n2\n3" {
		t.Errorf("only what is new: got %q", got)
	}
	write(t, path, "1\nF1130 08:17:34.25 hook failed\ngoroutine 1\ngoroutine 2\n")
	if got := tail(path, 0, 2); got != "F1130 08:17:34.25 hook failed\ngoroutine 1" {
		t.Errorf("fatal: got %q", got)
	}
	if got := tail(path+"x", 0, 2); !strings.Contains(got, "no such file") {
		t.Errorf("missing log: got %q", got)
	}
}

// script makes a program that stands in for the server.
func script(t *testing.T, text string) (program, log string) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "server.sh")
	write(t, program, text)
	return program, filepath.Join(dir, "log")
}

func TestStartProcessReportsEarlyEnd(t *testing.T) {
	program, log := script(t, "echo 'the reason' >&2; exit 3")
	_, err := startProcess(t.Context(), "/bin/sh", []string{program}, log, false)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got error %v, want exit status and log", err)
	}
}

func TestStartProcessEndsWithContext(t *testing.T) {
	program, log := script(t, "echo starting; read line")
	why := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := startProcess(ctx, "/bin/sh", []string{program}, log, false); !errors.Is(err, why) {
		t.Errorf("got error %v, want the context's cause", err)
	}
}

func TestProcessStopKillsWhatDoesNotEnd(t *testing.T) {
	program, log := script(t, "trap '' TERM; echo ready now; read line; read line")
	p, err := startProcess(t.Context(), "/bin/sh", []string{program}, log, false)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := p.stop(ctx); !errors.Is(err, why) {
		t.Errorf("stop: got error %v, want the context's cause", err)
	}
	if !p.ended() {
		t.Error("it still runs")
	}
	if err := p.stop(t.Context()); err != nil {
		t.Errorf("second stop: %v", err)
	}
	if err := p.kill(); err != nil {
		t.Errorf("kill after the end: %v", err)
	}
}
