package demo

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/provisioner"
)

func TestOptionsCheck(t *testing.T) {
	bin := t.TempDir()
	driver := filepath.Join(bin, driverProgram)
	if err := os.WriteFile(driver, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	good := Options{Volumes: 1, Parallel: 1, Namespace: "n", Executable: filepath.Join(bin, "donewhen")}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string // in the error; empty for none
	}{
		"good":               {func(*Options) {}, ""},
		"no volumes":         {func(o *Options) { o.Volumes = 0 }, "--volumes is 0"},
		"none at a time":     {func(o *Options) { o.Parallel = -1 }, "--parallel is -1"},
		"time runs back":     {func(o *Options) { o.LatencyScale = -1 }, "--latency-scale is -1"},
		"no time at all":     {func(o *Options) { o.LatencyScale = math.NaN() }, "--latency-scale is NaN"},
		"two clusters":       {func(o *Options) { o.Kubeconfig, o.InCluster = "f", true }, "give one"},
		"no namespace":       {func(o *Options) { o.Namespace = "" }, `--namespace ""`},
		"driver named":       {func(o *Options) { o.Driver = driver }, ""},
		"driver not there":   {func(o *Options) { o.Driver = filepath.Join(bin, "none") }, "make build"},
		"driver not a file":  {func(o *Options) { o.Driver = bin }, "make build"},
		"no driver anywhere": {func(o *Options) { o.Executable = filepath.Join(t.TempDir(), "donewhen") }, "run make build, or name it with --driver"},
	} {
		t.Setenv("PATH", "")
		opts := good
		test.change(&opts)
		err := opts.check()
		switch {
		case test.want == "" && (err != nil || opts.Driver != driver):
			t.Errorf("%s: driver %q, error %v", name, opts.Driver, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// A unix socket's path has at most 103 characters.
func TestTempDirIsShort(t *testing.T) {
	for _, parent := range []string{t.TempDir(), "/tmp/" + strings.Repeat("x", 100)} {
		t.Setenv("TMPDIR", parent)
		dir, err := tempDir()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(dir) })
		if path := filepath.Join(dir, "csi.sock"); len(path) > 103 {
			t.Errorf("%s has %d characters", path, len(path))
		}
	}
}

// Both predicates load, under the versions that the report tells apart.
func TestPredicateLoads(t *testing.T) {
	name, data := provisioner.Defaults()
	defaults := predicates.Source{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}}
	for label, document := range map[string]string{versionBefore: predicateYAML, versionAfter: editedPredicate()} {
		set, err := predicates.NewSet(provisioner.Operations(), defaults,
			predicates.Source{Name: "configmap", Files: []predicates.File{{Name: configMapKey, Data: []byte(document)}}})
		if err != nil {
			t.Fatal(err)
		}
		binding, err := set.Binding(callExpand)
		if err != nil {
			t.Fatal(err)
		}
		if got := binding.Predicate.ID(); got.Name != predicateName || got.Label != label {
			t.Errorf("expansions are ended by %v, want %s version %s", got, predicateName, label)
		}
	}
}
