package demo

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Calls of a volume's life, in order, as CSI names them.
const (
	callCreate    = "CreateVolume"
	callPublish   = "ControllerPublishVolume"
	callStage     = "NodeStageVolume"
	callExpand    = "ControllerExpandVolume"
	callUnstage   = "NodeUnstageVolume"
	callUnpublish = "ControllerUnpublishVolume"
	callDelete    = "DeleteVolume"
)

func calls() []string {
	return []string{callCreate, callPublish, callStage, callExpand, callUnstage, callUnpublish, callDelete}
}

// callStats is what one kind of call took.
type callStats struct {
	took   []time.Duration
	failed int
}

// stats collects what calls took. It is safe for concurrent use.
type stats struct {
	mu    sync.Mutex
	calls map[string]*callStats
}

func newStats() *stats { return &stats{calls: map[string]*callStats{}} }

func (s *stats) add(call string, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[call]
	if c == nil {
		c = &callStats{}
		s.calls[call] = c
	}
	c.took = append(c.took, took)
	if err != nil {
		c.failed++
	}
}

// of returns a copy of what is known of one kind of call.
func (s *stats) of(call string) callStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[call]; c != nil {
		return callStats{took: slices.Clone(c.took), failed: c.failed}
	}
	return callStats{}
}

// percentile is the smallest of the durations that at least p percent of them
// don't exceed; 0 if there are none.
func percentile(durations []time.Duration, p float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func sum(durations []time.Duration) (total time.Duration) {
	for _, d := range durations {
		total += d
	}
	return total
}

// polls is how many requests one-second polling makes in waits of these
// durations: one for each second that is begun.
func polls(durations []time.Duration) (n int) {
	for _, d := range durations {
		n += int(math.Ceil(d.Seconds()))
	}
	return n
}
