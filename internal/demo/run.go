package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

const (
	// reloadTimeout is how long the driver has to take over the edited ConfigMap.
	reloadTimeout = 30 * time.Second
	// probeTimeout is how long the probe waits for what must not come.
	probeTimeout = time.Second
)

// probeName is the volume that shows what the edit changes, probeCalls how often
// it is expanded for that.
const (
	probeName  = "demo-probe"
	probeCalls = 3
)

// run takes the volumes through their lives, with the edit half-way, and reports.
func (d *demo) run(ctx context.Context) error {
	calls, err := dial(d.socket, nodeID, d.path("staging"), d.ended)
	if err != nil {
		return err
	}
	defer calls.close()
	quiet := *calls
	quiet.ended = func(string, time.Duration, error) {}

	stopProgress := d.progress.show(ctx, d.stats, d.opts.Volumes)
	defer stopProgress()
	d.began = time.Now()
	half := d.opts.Volumes / 2
	failures := d.volumes(ctx, calls, 0, half, "")
	probe, err := d.edit(ctx, &quiet)
	if err != nil {
		return err
	}
	failures = append(failures, d.volumes(ctx, calls, half, d.opts.Volumes, string(v1beta2.VolumeUpdated))...)
	took := time.Since(d.began)
	stopProgress()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	measured, err := scrape(ctx, d.metricsAddress)
	if err != nil {
		return err
	}
	left, err := d.cluster.objects(ctx)
	if err != nil {
		return err
	}
	d.report(took, probe, measured)
	return verdict(d.opts.Volumes, failures, left)
}

// verdict is the error that the demo ends with.
func verdict(volumes int, failures []error, left []string) error {
	var errs []error
	if len(failures) > 0 {
		errs = append(errs, fmt.Errorf("%d of %d volumes didn't go through; the first: %w", len(failures), volumes, failures[0]))
	}
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("%d objects were left behind: %s", len(left), strings.Join(left[:min(3, len(left))], ", ")))
	}
	return errors.Join(errs...)
}

func (d *demo) ended(call string, took time.Duration, err error) { d.stats.add(call, took, err) }

// volumes takes the volumes from first up to end through their lives, some at a
// time, and returns what went wrong. state, if not empty, is what an AzVolume's
// state has to be when its expansion has returned.
func (d *demo) volumes(ctx context.Context, calls *caller, first, end int, state string) []error {
	var group errgroup.Group
	group.SetLimit(d.opts.Parallel)
	errs := make([]error, end-first)
	for i := range errs {
		group.Go(func() error {
			if ctx.Err() == nil {
				errs[i] = calls.live(ctx, fmt.Sprintf("demo-%04d", first+i), func(ctx context.Context, v *volume) error {
					return d.expanded(ctx, v, state)
				})
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	var failures []error
	for _, err := range errs {
		if err != nil {
			failures = append(failures, err)
		}
	}
	return failures
}

// expanded looks at a volume right after its expansion has returned.
func (d *demo) expanded(ctx context.Context, v *volume, state string) error {
	object, err := d.cluster.disks.AzureDiskV1beta2().AzVolumes(d.opts.Namespace).Get(ctx, v.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch detail := object.Status.Detail; {
	case detail == nil || detail.CapacityBytes < v.size:
		return fmt.Errorf("the call returned %d bytes, but the AzVolume says %v", v.size, detail)
	case state != "" && string(object.Status.State) != state:
		return fmt.Errorf("the call returned in state %q, not in %q", object.Status.State, state)
	}
	return nil
}

// probeResult is what the same call did before and after the edit: an expansion
// to the size that a fresh volume has already.
type probeResult struct {
	before       time.Duration // it returned after this
	after        time.Duration // it waited this long in vain
	explanation  string        // of the driver, if it is to be had
	reload       time.Duration // from the edit until the driver had taken it over
	afterUpdated time.Duration // it returned after this, once the state was Updated
}

// edit edits the ConfigMap and shows on a volume of its own that calls obey.
func (d *demo) edit(ctx context.Context, calls *caller) (*probeResult, error) {
	v, err := calls.create(ctx, probeName)
	if err != nil {
		return nil, err
	}
	result := &probeResult{}
	if result.before, err = expandTimed(ctx, calls, v, createdSize); err != nil {
		return nil, fmt.Errorf("expand the probe to the size that it has, before the edit: %w", err)
	}
	if result.reload, err = d.reload(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	result.after, err = expandTimed(limited, calls, v, createdSize)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		return nil, errors.New("after the edit a volume counts as expanded although its state isn't Updated")
	case status.Code(err) != codes.DeadlineExceeded:
		return nil, fmt.Errorf("expand the probe to the size that it has, after the edit: %w", err)
	}
	result.explanation = d.explanation(ctx)
	if err := calls.expand(ctx, v, grownSize); err != nil {
		return nil, fmt.Errorf("expand the probe: %w", err)
	}
	if result.afterUpdated, err = expandTimed(ctx, calls, v, createdSize); err != nil {
		return nil, fmt.Errorf("expand the probe, which is in state Updated: %w", err)
	}
	if err := calls.delete(ctx, v); err != nil {
		return nil, fmt.Errorf("delete the probe: %w", err)
	}
	return result, nil
}

func expandTimed(ctx context.Context, calls *caller, v *volume, size int64) (time.Duration, error) {
	begin := time.Now()
	err := calls.expand(ctx, v, size)
	return time.Since(begin), err
}

// reload edits the ConfigMap and waits until the driver has a new set in force.
func (d *demo) reload(ctx context.Context) (time.Duration, error) {
	before, err := scrape(ctx, d.metricsAddress)
	if err != nil {
		return 0, err
	}
	d.progress.say("editing ConfigMap %s/%s: %s", d.opts.Namespace, configMapName, editDescription)
	begin := time.Now()
	if err := d.cluster.editConfigMap(ctx, editedPredicate()); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reloadTimeout,
		fmt.Errorf("the driver hasn't taken over the edited ConfigMap after %v", reloadTimeout))
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		now, err := scrape(ctx, d.metricsAddress)
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil:
			return 0, err
		case now.digest() != before.digest():
			return time.Since(begin), nil
		case now.total(metricReloadFailures, nil) > before.total(metricReloadFailures, nil):
			return 0, fmt.Errorf("the driver refuses the edited ConfigMap%s", d.driver.said())
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// explanation is what the driver's log says of the probe's call. The caller's
// deadline ends the call on both sides at the same time, so the answer itself
// doesn't always arrive.
func (d *demo) explanation(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if log, err := os.ReadFile(d.driver.log); err == nil {
			if text := lastFailure(string(log), callExpand); text != "" {
				return text
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ""
		}
	}
}
