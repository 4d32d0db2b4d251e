package source

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// quietTime is how long nothing must change before a change is delivered: an
	// editor, a kubelet and a kubectl apply all make several of one.
	quietTime = 50 * time.Millisecond
	// longestWait bounds that for what never comes to rest.
	longestWait = 500 * time.Millisecond
	// pollInterval is how often files are read without any sign of a change: events
	// get lost, on network file systems always.
	pollInterval = time.Minute
)

// Option changes how a source works.
type Option func(*options)

type options struct {
	clock          clock.Clock
	onError        func(ctx context.Context, err error)
	onAnswer       func()
	quiet, longest time.Duration
	poll           time.Duration
	watch          func(dirs []string, matters func(path string) bool) (watcher, error)
}

func newOptions(name string, opts []Option) options {
	o := options{
		clock: clock.RealClock{}, quiet: quietTime, longest: longestWait, poll: pollInterval, watch: watchFiles,
		onAnswer: func() {},
		onError: func(ctx context.Context, err error) {
			klog.FromContext(ctx).Error(err, "The predicates can't be read, trying again", "source", name)
		},
	}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithErrorHandler is told each time the source can't be listed, watched or read,
// for example because that is forbidden. It tries again by itself; what it has
// delivered stays as it is. By default errors are logged.
func WithErrorHandler(handle func(ctx context.Context, err error)) Option {
	return func(o *options) { o.onError = handle }
}

// WithAnswerHandler is told each time the source has been listed, read, or begun to be
// watched: what was wrong with that before is over. The handler must not block.
func WithAnswerHandler(handle func()) Option {
	return func(o *options) { o.onAnswer = handle }
}

// WithClock gives the clock by which a source waits for changes to come to rest,
// and polls.
func WithClock(c clock.Clock) Option {
	return func(o *options) { o.clock = c }
}

// settle waits until nothing has changed for the quiet time, so that a burst of
// edits is delivered as one. It returns false if ctx ends first.
func (o *options) settle(ctx context.Context, changed <-chan struct{}) bool {
	longest := o.clock.NewTimer(o.longest)
	defer longest.Stop()
	for {
		quiet := o.clock.NewTimer(o.quiet)
		select {
		case <-changed:
			quiet.Stop()
			continue
		case <-quiet.C():
			return true
		case <-longest.C():
			quiet.Stop()
			return true
		case <-ctx.Done():
			quiet.Stop()
			return false
		}
	}
}

// signal notes a change in a channel of capacity 1: what has changed is looked up.
func signal(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
