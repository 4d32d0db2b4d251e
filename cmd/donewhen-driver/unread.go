package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/source"
)

// standInsAfter is how long the start waits for sources, before what they held in the
// run before stands in for them.
const standInsAfter = 10 * time.Second

// readability knows which sources can't be read, and says so: once in the log, and in a
// metric. It is safe for concurrent use.
type readability struct {
	unread *prometheus.GaugeVec
	logger klog.Logger

	mu       sync.Mutex
	troubles map[string]error // by the source's name
}

func newReadability(unread *prometheus.GaugeVec, logger klog.Logger) *readability {
	return &readability{unread: unread, logger: logger, troubles: map[string]error{}}
}

// of returns the options by which a source tells of its troubles.
func (r *readability) of(name string) []source.Option {
	r.unread.WithLabelValues(name).Set(0)
	return []source.Option{
		source.WithErrorHandler(func(_ context.Context, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.unread.WithLabelValues(name).Set(1)
			if before := r.troubles[name]; before == nil || before.Error() != err.Error() {
				r.logger.Error(err, "The source of predicates can't be read, trying again", "source", name)
			}
			r.troubles[name] = err
		}),
		source.WithAnswerHandler(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.unread.WithLabelValues(name).Set(0)
			if r.troubles[name] != nil {
				r.logger.Info("The source of predicates can be read again", "source", name)
			}
			delete(r.troubles, name)
		}),
	}
}

// trouble returns why a source can't be read; nil if it can, or nothing is known.
func (r *readability) trouble(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.troubles[name]
}

// recall returns what sources held in the run before.
func (c *config) recall() ([]predicates.Source, error) {
	if c.lastGood == nil {
		return nil, nil
	}
	return c.lastGood.Load()
}

// standIn is told that sources can't be read at the start.
func (c *config) standIn(used source.StandIns) {
	if len(used.Unknown) > 0 {
		c.logger.Error(used.Err, "Sources of predicates can't be read, and what they held before isn't known: without them the driver doesn't begin, for it could take an operation for ended that isn't", "sources", used.Unknown)
		return
	}
	c.logger.Error(nil, "SOURCES OF PREDICATES CAN'T BE READ: what they held in the run before serves in their place, until they can", "sources", used.Missing)
	for _, name := range used.Missing {
		c.metrics.unread.WithLabelValues(name).Set(1)
		if c.reporter != nil {
			c.reporter.StandIn(name, true)
		}
	}
}

// takenIn is told which sources have been loaded; those that another content stood in for
// have been read by now.
func (c *config) takenIn(changed []predicates.Source) {
	if c.reporter == nil || len(changed) > 1 || c.beginning() {
		return
	}
	for _, s := range changed {
		c.reporter.StandIn(s.Name, false)
	}
}

// beginning reports whether this is the first load.
func (c *config) beginning() bool {
	select {
	case <-c.lookedAt:
		return false
	default:
		return true
	}
}

// reportLastGood says what is wrong with the last good set, once until that changes.
func (c *config) reportLastGood(err error) {
	said := ""
	if err != nil {
		if said = err.Error(); said != c.lastSaid {
			c.logger.Error(err, "Something is wrong with the last good predicates, which the next start may need; this one goes on")
		}
		c.metrics.lastGood.Set(0)
	} else if c.lastGood != nil {
		c.metrics.lastGood.Set(1)
	}
	c.lastSaid = said
}

func (c *config) warnOfLastGood(err error) {
	c.logger.Error(err, "Others may change what the driver goes by at its next start")
}
