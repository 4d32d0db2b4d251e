package simulator

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Operation is something that the cloud does, the unit of latencies and faults.
type Operation string

// Operations of the cloud. An attach has two parts: first the LUN becomes
// known, then the disk is attached.
const (
	OperationCreate Operation = "create"
	OperationDelete Operation = "delete"
	OperationExpand Operation = "expand"
	OperationLUN    Operation = "lun"
	OperationAttach Operation = "attach"
	OperationDetach Operation = "detach"
)

// Operations returns every operation. The slice is the caller's own.
func Operations() []Operation {
	return []Operation{OperationCreate, OperationDelete, OperationExpand, OperationLUN, OperationAttach, OperationDetach}
}

// Latency is a log-normal distribution of durations: half the draws are under
// Median, and Sigma, the standard deviation of the logarithm, says how long the
// tail is. Draws outside Min and Max become Min and Max.
type Latency struct {
	Median, Min, Max time.Duration
	Sigma            float64
}

// Draw returns the duration for one number of the standard normal distribution.
// Safe for concurrent use.
func (l Latency) Draw(normal float64) time.Duration {
	d := time.Duration(float64(l.Median) * math.Exp(l.Sigma*normal))
	return max(l.Min, min(d, l.Max))
}

// DefaultLatencies returns latencies of the size that the Azure API has. The
// map is the caller's own.
func DefaultLatencies() map[Operation]Latency {
	return map[Operation]Latency{
		OperationCreate: {Median: 2500 * time.Millisecond, Sigma: 0.4, Min: time.Second, Max: 30 * time.Second},
		OperationDelete: {Median: 2 * time.Second, Sigma: 0.4, Min: time.Second, Max: 30 * time.Second},
		OperationExpand: {Median: 3 * time.Second, Sigma: 0.4, Min: time.Second, Max: 30 * time.Second},
		OperationLUN:    {Median: 300 * time.Millisecond, Sigma: 0.3, Min: 100 * time.Millisecond, Max: 2 * time.Second},
		OperationAttach: {Median: 8 * time.Second, Sigma: 0.5, Min: 3 * time.Second, Max: time.Minute},
		OperationDetach: {Median: 6 * time.Second, Sigma: 0.5, Min: 2 * time.Second, Max: time.Minute},
	}
}

// normalDraw returns a number of the standard normal distribution that depends
// only on the seed, the operation, its subject and how often the subject has
// had that operation: runs of one seed agree, in whatever order things happen.
func normalDraw(seed uint64, operation Operation, subject string, nth int) float64 {
	hash := fnv.New64a()
	hash.Write([]byte(string(operation) + "\x00" + subject + "\x00" + strconv.Itoa(nth)))
	return rand.New(rand.NewPCG(seed, hash.Sum64())).NormFloat64()
}
