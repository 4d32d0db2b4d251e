package wasm

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// How much a module may log: logBurst lines at once, then logRate in a second, whoever
// uses it and in however many instances.
const (
	logBurst = 100
	logRate  = 10
)

// guestLog is what a module logs. It is safe for concurrent use.
type guestLog struct {
	clock  clock.PassiveClock
	digest string

	mu      sync.Mutex
	limiter *rate.Limiter
	dropped int // since the last line
	total   int
}

func newGuestLog(c clock.PassiveClock, digest string) *guestLog {
	return &guestLog{clock: c, digest: digest, limiter: rate.NewLimiter(logRate, logBurst)}
}

// drop counts a line that isn't written.
func (l *guestLog) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped++
	l.total++
}

// allow reports whether a line may be written, and how many were dropped before it.
func (l *guestLog) allow(now time.Time) (before int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.limiter.AllowN(now, 1) {
		l.dropped++
		l.total++
		return 0, false
	}
	before, l.dropped = l.dropped, 0
	return before, true
}

// count returns how many lines were dropped so far.
func (l *guestLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// write writes a line, if there is somebody who reads that level and the module hasn't
// written too much. What was dropped is said with the next line. Hide, if there is one,
// returns what of the line is shown.
func (l *guestLog) write(logger klog.Logger, level uint32, text []byte, hide func(string) string) {
	switch level {
	case 0:
		logger = logger.V(4)
	case 1:
		logger = logger.V(2)
	}
	if level < 2 && !logger.Enabled() {
		return
	}
	before, ok := l.allow(l.clock.Now())
	if !ok {
		return
	}
	line := harmless(text)
	if hide != nil {
		line = hide(line)
	}
	fields := []any{"sha256", l.digest[:12], "text", line}
	if before > 0 {
		fields = append(fields, "dropped", before)
	}
	switch level {
	case 0, 1:
		logger.Info("WebAssembly module", fields...)
	case 2:
		logger.Info("WebAssembly module warns", fields...)
	default:
		logger.Error(nil, "WebAssembly module", fields...)
	}
}
