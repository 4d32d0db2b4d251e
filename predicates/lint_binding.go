package predicates

import (
	"fmt"
	"time"
)

// What a timeout of a binding is for: a caller that waits for less sees nothing
// happen, and none waits for longer.
const (
	shortestWait = time.Second
	longestWait  = 24 * time.Hour
)

// lintTimeout warns of a timeout that can't be meant. It is called for bindings
// that come into force.
func (e *entry) lintTimeout() {
	if e.binding.Spec.Timeout == nil {
		return
	}
	switch t := e.binding.Spec.Timeout.Duration; {
	case t > 0 && t < shortestWait:
		e.warnAll([]warning{{
			path: []any{"spec", "timeout"}, hint: "write it like 10m, or leave it out to wait as long as the caller does",
			message: fmt.Sprintf("a wait of %v ends before anything can happen", t),
		}})
	case t > longestWait:
		e.warnAll([]warning{{
			path: []any{"spec", "timeout"}, hint: "leave it out: the caller's own deadline counts in any case",
			message: fmt.Sprintf("no caller waits for %v", t),
		}})
	}
}
