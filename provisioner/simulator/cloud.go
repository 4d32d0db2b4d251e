package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Defaults of CloudOptions.
const (
	DefaultDisksPerNode     = 64
	DefaultOperationTimeout = 5 * time.Minute
)

// errStuck: the operation never ends.
var errStuck = errors.New("the cloud operation is stuck")

// CloudOptions says what a simulated cloud is like. The zero value is a cloud
// that answers at once and never fails.
type CloudOptions struct {
	// Seed decides the drawn latencies: clouds of one seed draw the same ones.
	Seed uint64
	// LatencyScale multiplies drawn latencies and the controllers' own pauses:
	// 1 is as slow as the real thing, 0 takes no time.
	LatencyScale float64
	// Latencies has a distribution per operation; nil means DefaultLatencies.
	Latencies map[Operation]Latency
	// Faults befall operations; of several that match the first one does.
	Faults []Fault
	// DisksPerNode is how many disks a node takes. Zero: DefaultDisksPerNode.
	DisksPerNode int
	// Nodes are the nodes that have a virtual machine. Empty: every node has.
	Nodes []string
	// OperationTimeout ends operations that take longer, as UNKNOWN. Zero:
	// DefaultOperationTimeout.
	OperationTimeout time.Duration
}

// Cloud holds the disks and what they are attached to. It outlives the
// controllers that use it, as the real one does. It is safe for concurrent use.
type Cloud struct {
	opts CloudOptions

	mu     sync.Mutex
	disks  map[string]*disk          // by ID in lower case
	luns   map[string]map[int]string // node in lower case → LUN → key of disks
	counts map[string]int            // operations so far, by operation and subject
	struck []int                     // how often each fault has struck
}

// disk is a disk in the cloud.
type disk struct {
	id        string
	capacity  int64 // bytes
	maxShares int
	luns      map[string]int // node in lower case → LUN
}

// NewCloud returns an empty cloud. The error says which option is wrong.
func NewCloud(opts CloudOptions) (*Cloud, error) {
	opts.Faults = slices.Clone(opts.Faults)
	for i := range opts.Faults {
		if err := opts.Faults[i].complete(); err != nil {
			return nil, fmt.Errorf("simulated cloud: fault %d: %w", i+1, err)
		}
	}
	if opts.LatencyScale < 0 {
		return nil, fmt.Errorf("simulated cloud: latency scale is %v, want 0 or more", opts.LatencyScale)
	}
	if opts.DisksPerNode < 0 {
		return nil, fmt.Errorf("simulated cloud: disks per node is %d, want 1 or more (0: %d)", opts.DisksPerNode, DefaultDisksPerNode)
	}
	if opts.DisksPerNode == 0 {
		opts.DisksPerNode = DefaultDisksPerNode
	}
	if opts.OperationTimeout == 0 {
		opts.OperationTimeout = DefaultOperationTimeout
	}
	if opts.Latencies == nil {
		opts.Latencies = DefaultLatencies()
	}
	return &Cloud{
		opts:   opts,
		disks:  map[string]*disk{},
		luns:   map[string]map[int]string{},
		counts: map[string]int{},
		struck: make([]int, len(opts.Faults)),
	}, nil
}

// Inventory is what exists in a cloud, sorted.
type Inventory struct {
	// Disks has the IDs of the disks.
	Disks []string `json:"disks"`
	// Attachments has a line "disk ID on node (LUN n)" for each.
	Attachments []string `json:"attachments"`
}

// Inventory returns what exists now.
func (c *Cloud) Inventory() Inventory {
	c.mu.Lock()
	defer c.mu.Unlock()
	inventory := Inventory{Disks: []string{}, Attachments: []string{}}
	for _, d := range c.disks {
		inventory.Disks = append(inventory.Disks, d.id)
		for node, lun := range d.luns {
			inventory.Attachments = append(inventory.Attachments, fmt.Sprintf("%s on %s (LUN %d)", d.id, node, lun))
		}
	}
	slices.Sort(inventory.Disks)
	slices.Sort(inventory.Attachments)
	return inventory
}

// perform lets an operation take its time and returns what it fails with: a
// *cloudError, errStuck, or the context's error if ctx ended first.
func (c *Cloud) perform(ctx context.Context, operation Operation, volume, node string) error {
	duration, fault := c.plan(operation, volume, node)
	if fault != nil && fault.Stuck {
		return errStuck
	}
	limited, cancel := context.WithTimeout(ctx, c.opts.OperationTimeout)
	defer cancel()
	if err := sleep(limited, duration); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The real controllers know no code for a bare deadline either.
		return failf(v1beta2.ErrorUnknown, "%v", err)
	}
	if fault != nil {
		return fault.azError()
	}
	return nil
}

// plan draws how long an operation takes and picks the fault that befalls it.
func (c *Cloud) plan(operation Operation, volume, node string) (time.Duration, *Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	subject := strings.ToLower(volume + "\x00" + node)
	counter := string(operation) + "\x00" + subject
	c.counts[counter]++
	drawn := c.opts.Latencies[operation].Draw(normalDraw(c.opts.Seed, operation, subject, c.counts[counter]))
	duration := c.scale(drawn)
	for i := range c.opts.Faults {
		fault := &c.opts.Faults[i]
		if !fault.matches(operation, volume, node) || fault.Times > 0 && c.struck[i] >= fault.Times {
			continue
		}
		c.struck[i]++
		if fault.Delay != "" {
			duration = fault.delay
		}
		return duration, fault
	}
	return duration, nil
}

func (c *Cloud) scale(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.opts.LatencyScale)
}

// sleep waits for d or until ctx ends, and then returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// adopt takes over disks and attachments that the objects tell of and that the
// cloud doesn't know: the controllers' process was restarted with a new cloud.
func (c *Cloud) adopt(volumes []*v1beta2.AzVolume, attachments []*v1beta2.AzVolumeAttachment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	adopted := map[string]*disk{} // of a disk that it knows the cloud knows the attachments too
	for _, volume := range volumes {
		detail := volume.Status.Detail
		if detail == nil || c.disks[strings.ToLower(detail.VolumeID)] != nil {
			continue
		}
		shares, err := maxShares(detail.Parameters)
		if err != nil {
			shares = 1
		}
		key := strings.ToLower(detail.VolumeID)
		adopted[key] = &disk{
			id: detail.VolumeID, capacity: detail.CapacityBytes, maxShares: shares, luns: map[string]int{},
		}
		c.disks[key] = adopted[key]
	}
	for _, attachment := range attachments {
		d := adopted[strings.ToLower(attachment.Spec.VolumeID)]
		lun, ok := knownLUN(attachment)
		if d == nil || !ok || attachment.Status.State == v1beta2.AttachmentFailed {
			continue
		}
		if detachRequested(attachment) && attachment.DeletionTimestamp != nil {
			continue // detached: the object is deleted after that
		}
		node := strings.ToLower(attachment.Spec.NodeName)
		if _, attached := d.luns[node]; !attached && c.luns[node][lun] == "" {
			c.occupy(d, node, lun)
		}
	}
}

// occupy attaches d at the LUN. The caller holds mu.
func (c *Cloud) occupy(d *disk, node string, lun int) {
	if c.luns[node] == nil {
		c.luns[node] = map[int]string{}
	}
	c.luns[node][lun] = strings.ToLower(d.id)
	d.luns[node] = lun
}

// vacate undoes occupy. The caller holds mu.
func (c *Cloud) vacate(d *disk, node string) {
	lun, attached := d.luns[node]
	if !attached {
		return
	}
	delete(d.luns, node)
	delete(c.luns[node], lun)
	if len(c.luns[node]) == 0 {
		delete(c.luns, node)
	}
}

// nodesOf returns the nodes that d is attached to, sorted. The caller holds mu.
func nodesOf(d *disk) []string { return slices.Sorted(maps.Keys(d.luns)) }
