//go:build unix

package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// shell starts a shell script as a process of the demo.
func shell(t *testing.T, script string) *process {
	t.Helper()
	p, err := startProcess(t.TempDir(), "thing", "/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func never(context.Context) bool { return false }

func TestProcessEndsBeforeItIsReady(t *testing.T) {
	p := shell(t, "echo first; echo 'no such cluster' >&2; exit 3")
	err := p.ready(t.Context(), never)
	if want := "the thing ended: exit status 3: no such cluster"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if err := p.stop(); err == nil {
		t.Error("stop says nothing of a process that has failed")
	}
	if err := p.stop(); err != nil {
		t.Errorf("stop says it twice: %v", err)
	}
}

func TestProcessStops(t *testing.T) {
	p := shell(t, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done")
	if err := p.ready(t.Context(), func(context.Context) bool { return p.said() == ": ready" }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.ready(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for terminal, want := range map[bool]string{
			false: "   2.0s  of 1: create 1 pub 0 stage 0 expand 0 unstage 0 unpub 0 del 0\n   5.0s  said\n",
			true:  "   4.9s  of 1: create 1 pub 0 stage 0 expand 0 unstage 0 unpub 0 del 0\r\x1b[K   5.0s  said\n",
		} {
			var out strings.Builder
			p := newProgress(Options{Err: &out, Terminal: terminal})
			s := newStats()
			s.add(callCreate, time.Second, nil)
			stop := p.show(t.Context(), s, 1)
			time.Sleep(5*time.Second - time.Millisecond)
			stop()
			stop()
			p.say("said")
			if !strings.HasSuffix(out.String(), want) {
				t.Errorf("terminal %v: %q, want it to end with %q", terminal, out.String(), want)
			}
		}
	})
}
