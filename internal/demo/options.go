package demo

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Defaults of the options.
const (
	DefaultVolumes      = 20
	DefaultParallel     = 10
	DefaultNamespace    = "donewhen-demo"
	DefaultLatencyScale = 0.05
)

// driverProgram is the driver's file name.
const driverProgram = "donewhen-driver"

// Options says what the demo does.
type Options struct {
	// Volumes is how many volumes go through, Parallel how many at a time.
	Volumes, Parallel int
	// Kubeconfig is that of the cluster to use. Empty: a control plane is started,
	// which works only in a clone of the repository.
	Kubeconfig string
	// InCluster uses the cluster of the pod that the demo runs in.
	InCluster bool
	// Namespace is where everything happens; it may exist, but hold no volumes.
	Namespace string
	// Seed decides the simulated latencies, LatencyScale multiplies them: 1 is as
	// slow as Azure.
	Seed         uint64
	LatencyScale float64
	// Keep leaves everything running and says how to stop it.
	Keep bool
	// Driver is the driver's program. Empty: beside Executable, else in the PATH.
	Driver string
	// Executable is this program, which runs again as the simulator.
	Executable string
	// Out gets the report, Err what happens meanwhile.
	Out, Err io.Writer
	// Terminal says that Err is a terminal, on which progress is one line that
	// changes.
	Terminal bool
}

// check reports the first option that is wrong and finds the driver.
func (o *Options) check() error {
	switch {
	case o.Volumes < 1:
		return fmt.Errorf("--volumes is %d, want 1 or more", o.Volumes)
	case o.Parallel < 1:
		return fmt.Errorf("--parallel is %d, want 1 or more", o.Parallel)
	case !(o.LatencyScale >= 0) || math.IsInf(o.LatencyScale, 1): // also for NaN
		return fmt.Errorf("--latency-scale is %v, want 0 or more", o.LatencyScale)
	case o.Kubeconfig != "" && o.InCluster:
		return errors.New("--kubeconfig and --in-cluster name two clusters: give one")
	}
	if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		return fmt.Errorf("--namespace %q: %s", o.Namespace, strings.Join(problems, "; "))
	}
	driver, err := findDriver(o.Driver, o.Executable)
	if err != nil {
		return err
	}
	o.Driver = driver
	return nil
}

// findDriver returns the path of the driver's program.
func findDriver(given, executable string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("--driver: %w; name the %s program, make build makes it", err, driverProgram)
		}
		return filepath.Abs(path)
	}
	beside := filepath.Join(filepath.Dir(executable), driverProgram)
	for _, candidate := range []string{beside, driverProgram} {
		if path, err := exec.LookPath(candidate); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%s is neither beside %s nor in the PATH: run make build, or name it with --driver", driverProgram, executable)
}

// tempDir makes the demo's directory. The path of a unix socket is short, so a
// long TMPDIR won't do.
func tempDir() (string, error) {
	const longest = 103 - len("/donewhen-demo-0123456789/csi.sock")
	parent := os.TempDir()
	if len(parent) > longest {
		if parent = "/tmp"; !isDir(parent) {
			return "", fmt.Errorf("the path of the temporary directory %s is too long for a unix socket: set TMPDIR to one of at most %d characters", os.TempDir(), longest)
		}
	}
	dir, err := os.MkdirTemp(parent, "donewhen-demo-")
	if err != nil {
		return "", fmt.Errorf("make a temporary directory: %w", err)
	}
	return dir, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
