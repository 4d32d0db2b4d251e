package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/donewhen/donewhen/provisioner/simulator"
)

const (
	// nodeID is the node that every volume is published to.
	nodeID = "demo-node"
	// cleanupTimeout bounds what is done after the demo was interrupted.
	cleanupTimeout = time.Minute
)

// ErrIncomplete is what errors of Run wrap when the demo had begun: a volume
// didn't go through, something was left behind, or it was interrupted.
var ErrIncomplete = errors.New("the demo didn't complete")

// demo is one run.
type demo struct {
	opts     Options
	dir      string
	cluster  *cluster
	progress *progress

	simulator, driver *process
	socket            string
	metricsAddress    string

	stats *stats
	began time.Time
}

// Run runs the demo and writes its report to opts.Out. The error is nil only if
// every volume went through and nothing was left behind. When ctx ends, Run
// cleans up and returns; opts.Keep leaves everything running instead, if it got
// as far as that.
func Run(ctx context.Context, opts Options) (err error) {
	if err := opts.check(); err != nil {
		return err
	}
	d := &demo{opts: opts, progress: newProgress(opts), stats: newStats()}
	if d.dir, err = tempDir(); err != nil {
		return err
	}
	started := false
	defer func() {
		if opts.Keep && started && ctx.Err() == nil {
			d.sayKept()
			if err != nil {
				err = fmt.Errorf("%w: %w", ErrIncomplete, oneLine(err))
			}
			return
		}
		cleanUp := d.cleanUp(ctx)
		if err != nil && ctx.Err() != nil && cleanUp == nil {
			err = errors.New("interrupted; everything was removed")
		}
		err = oneLine(err, cleanUp)
		switch {
		case err == nil:
			d.progress.say("all that the demo started is stopped, all that it made is deleted")
		case started:
			err = fmt.Errorf("%w: %w", ErrIncomplete, err)
		}
	}()
	if d.cluster, err = openCluster(ctx, opts, d.progress.say); err != nil {
		return interruption(ctx, err)
	}
	if err := d.cluster.prepare(ctx); err != nil {
		return interruption(ctx, err)
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := d.start(running); err != nil {
		return interruption(running, err)
	}
	started = true
	for _, p := range []*process{d.simulator, d.driver} {
		go func() {
			select {
			case <-p.done:
				cancel(p.endedOnce())
			case <-running.Done():
			}
		}()
	}
	return interruption(running, d.blame(running, d.run(running)))
}

// blame gives a process that ends the time to have ended: calls fail a little
// before that.
func (d *demo) blame(ctx context.Context, err error) error {
	if status.Code(err) != codes.Unavailable {
		return err
	}
	timer := time.NewTimer(2 * time.Second)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return err
}

// oneLine joins errors, nil if there are none, in one line.
func oneLine(errs ...error) error {
	switch errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) {
	case 0:
		return nil
	case 1:
		if joined, ok := errs[0].(interface{ Unwrap() []error }); ok && strings.Contains(errs[0].Error(), "\n") {
			return oneLine(joined.Unwrap()...)
		}
		return errs[0]
	}
	return fmt.Errorf("%w; %w", oneLine(errs[0]), oneLine(errs[1:]...))
}

// interruption is the reason why ctx has ended, if that is why err came about.
func interruption(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil || cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return errors.New("interrupted")
	default:
		return cause
	}
}

// start starts the simulator and the driver.
func (d *demo) start(ctx context.Context) (err error) {
	opts := d.opts
	driverFlags, simulatorFlags := d.cluster.kubeconfigs(opts)
	readyFile := d.path("simulator.ready")
	d.simulator, err = startProcess(d.dir, "simulator", opts.Executable, append([]string{
		"simulator", "--namespace", opts.Namespace,
		"--seed", strconv.FormatUint(opts.Seed, 10),
		"--latency-scale", strconv.FormatFloat(opts.LatencyScale, 'g', -1, 64),
		"--disks-per-node", strconv.Itoa(max(simulator.DefaultDisksPerNode, opts.Parallel+1)),
		"--workers", strconv.Itoa(max(simulator.DefaultWorkers, 2*opts.Parallel)),
		"--ready-file", readyFile, "--inventory-file", d.path("cloud.json"),
	}, simulatorFlags...)...)
	if err != nil {
		return err
	}
	d.socket = d.path("csi.sock")
	addressFile := d.path("metrics.address")
	d.driver, err = startProcess(d.dir, "driver", opts.Driver, append([]string{
		"--endpoint", "unix://" + d.socket, "--namespace", opts.Namespace,
		"--predicates-configmap", configMapName, "--node-id", nodeID,
		"--metrics-address", "127.0.0.1:0", "--metrics-address-file", addressFile,
		"--kube-api-qps", "-1",
	}, driverFlags...)...)
	if err != nil {
		return err
	}
	err = d.simulator.ready(ctx, func(context.Context) bool {
		_, err := os.Stat(readyFile)
		return err == nil
	})
	if err != nil {
		return err
	}
	err = d.driver.ready(ctx, func(ctx context.Context) bool {
		address, err := os.ReadFile(addressFile)
		d.metricsAddress = strings.TrimSpace(string(address))
		return err == nil && serving(ctx, d.metricsAddress)
	})
	if err != nil {
		return err
	}
	d.progress.say("simulator (process %d) and driver (process %d) run", d.simulator.pid(), d.driver.pid())
	return nil
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// cleanUp stops what runs and removes what was made. An error says what was left.
func (d *demo) cleanUp(ctx context.Context) error {
	d.progress.end()
	uninterrupted, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	var errs []error
	for _, p := range []*process{d.driver, d.simulator} {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	if ctx.Err() == nil { // else volumes were half-way, and the simulated cloud ends with its process
		errs = append(errs, d.leftInTheCloud())
	}
	if _, err := os.Lstat(d.socket); d.socket != "" && err == nil {
		errs = append(errs, fmt.Errorf("the driver left its socket %s behind", d.socket))
	}
	if d.cluster != nil {
		if d.cluster.server == nil {
			errs = append(errs, d.cluster.remove(uninterrupted, nodeID, d.progress.say))
		}
		errs = append(errs, d.cluster.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}

// leftInTheCloud reads what the simulator says of its cloud at its end.
func (d *demo) leftInTheCloud() error {
	if d.stats.of(callDelete).took == nil {
		return nil // interrupted before anything could have gone
	}
	content, err := os.ReadFile(d.path("cloud.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the simulator didn't say what is left in its cloud")
	}
	if err != nil {
		return fmt.Errorf("read what is left in the simulated cloud: %w", err)
	}
	var left simulator.Inventory
	if err := json.Unmarshal(content, &left); err != nil {
		return fmt.Errorf("read what is left in the simulated cloud: %w", err)
	}
	if len(left.Disks)+len(left.Attachments) > 0 {
		return fmt.Errorf("left in the simulated cloud: %d disks, %d attachments, %s", len(left.Disks), len(left.Attachments),
			strings.Join(append(left.Attachments, left.Disks...)[:1], ""))
	}
	return nil
}

// sayKept tells how to look at what was kept, and how to end it.
func (d *demo) sayKept() {
	d.progress.end()
	pids := []string{strconv.Itoa(d.driver.pid()), strconv.Itoa(d.simulator.pid())}
	kubeconfig := d.opts.Kubeconfig
	if d.cluster.server != nil {
		pids = append(pids, strconv.Itoa(d.cluster.server.PID()))
		kubeconfig = d.cluster.server.KubeconfigPath()
	}
	out := d.opts.Out
	fmt.Fprintf(out, "\nEverything runs on, in namespace %s:\n", d.opts.Namespace)
	if kubeconfig != "" {
		fmt.Fprintf(out, "  kubeconfig   %s\n", kubeconfig)
	}
	fmt.Fprintf(out, "  CSI socket   %s\n", d.socket)
	fmt.Fprintf(out, "  metrics      http://%s/metrics\n", d.metricsAddress)
	fmt.Fprintf(out, "  logs         %s, %s\n", d.driver.log, d.simulator.log)
	stop := fmt.Sprintf("kill %s; sleep 2; rm -rf %s", strings.Join(pids, " "), d.dir)
	if d.cluster.server != nil {
		stop += " " + d.cluster.server.Dir()
	}
	fmt.Fprintf(out, "  to stop it   %s\n", stop)
	if d.cluster.server == nil {
		fmt.Fprintf(out, "  and remove   ConfigMaps %s and %s and AzDriverNode %s in namespace %s\n", configMapName, reportName, nodeID, d.opts.Namespace)
	}
}
