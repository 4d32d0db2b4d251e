package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRunWithoutCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"--"}, {"--nonsense"}} {
		var stderr bytes.Buffer
		if code := run(args, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "usage: with-cluster") {
			t.Errorf("arguments %q: exit code %d, output %q", args, code, &stderr)
		}
	}
	var stderr bytes.Buffer
	if code := run([]string{"--help"}, &stderr); code != 0 {
		t.Errorf("--help: exit code %d", code)
	}
}

func TestRunUnknownCommand(t *testing.T) {
	var stderr bytes.Buffer
	if code := run([]string{"--", "/no/such/command"}, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "/no/such/command") {
		t.Errorf("exit code %d, output %s", code, &stderr)
	}
}
