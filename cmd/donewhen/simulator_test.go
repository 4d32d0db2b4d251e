package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What can't work is one line that says what to do, before anything starts.
func TestSimulatorAndDemoRefuse(t *testing.T) {
	dir := t.TempDir()
	faults := filepath.Join(dir, "faults.yaml")
	if err := os.WriteFile(faults, []byte("- {operation: create, code: ABORTED}\n- {operation: fly, stuck: true}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "nowhere")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"not a pod":               {[]string{"simulator"}, "no --kubeconfig was given and this isn't a pod"},
		"no kubeconfig":           {[]string{"simulator", "--kubeconfig", nowhere}, nowhere},
		"fault unreadable":        {[]string{"simulator", "--fault", "{operation: create}"}, "--fault {operation: create}: fault 1: it does nothing: give a code, stuck or a delay"},
		"faults unreadable":       {[]string{"simulator", "--faults", faults}, `faults.yaml: fault 2: operation "fly" is unknown`},
		"no such file of faults":  {[]string{"simulator", "--faults", nowhere}, "--faults: open"},
		"time runs back":          {[]string{"simulator", "--latency-scale", "-1"}, "latency scale is -1"},
		"no workers":              {[]string{"simulator", "--workers", "0"}, "--workers is 0"},
		"simulator with argument": {[]string{"simulator", "now"}, `"now" is one argument too many`},
		"demo without volumes":    {[]string{"demo", "--volumes", "0"}, "--volumes is 0, want 1 or more"},
		"demo without driver":     {[]string{"demo", "--driver", nowhere}, "make build"},
		"demo without kubeconfig": {[]string{"demo", "--driver", os.Args[0], "--kubeconfig", nowhere}, "read kubeconfig " + nowhere},
		"demo not in a pod":       {[]string{"demo", "--driver", os.Args[0], "--in-cluster"}, "--in-cluster: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", filepath.Join(dir))
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			code, out, errs := execute(t.Context(), test.args...)
			if code != exitLoad || out != "" {
				t.Errorf("exit code %d, output %q; want code %d and none", code, out, exitLoad)
			}
			if line := strings.TrimSuffix(errs, "\n"); !strings.Contains(line, test.want) || strings.Contains(line, "\n") {
				t.Errorf("errors %q, want one line with %q", errs, test.want)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(dir, "donewhen*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

// Outside a clone the demo says that it needs a cluster.
func TestDemoOutsideAClone(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, errs := execute(t.Context(), "demo", "--driver", os.Args[0])
	if code != exitLoad || !strings.Contains(errs, "pass --kubeconfig to use a cluster of your own") {
		t.Errorf("exit code %d, errors %q", code, errs)
	}
}
