package simulator

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// After an error other than a refusal an object is tried again, at first after
// requeueDelay (times the latency scale, but not at once), then ever later.
const (
	requeueTries = 5
	requeueDelay = time.Second
	requeueFloor = 10 * time.Millisecond
	requeueCap   = time.Minute
)

// queue feeds the names of changed objects to workers. An object is with one
// worker at a time; what happens to it meanwhile brings it back once.
type queue struct {
	kind  string
	names workqueue.TypedRateLimitingInterface[string]
}

func newQueue(kind string, delay time.Duration) *queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](max(delay, requeueFloor), requeueCap)
	return &queue{kind: kind, names: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// handler enqueues every object that an informer shows.
func (q *queue) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    q.enqueue,
		UpdateFunc: func(_, object any) { q.enqueue(object) },
	}
}

func (q *queue) enqueue(object any) {
	if name, err := cache.ObjectToName(object); err == nil {
		q.names.Add(name.Name)
	}
}

// run works until the queue is shut down and every worker has returned. The errors of
// reconcile are logged; they end nothing.
func (q *queue) run(ctx context.Context, workers int, reconcile func(ctx context.Context, name string) error) {
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for q.next(ctx, reconcile) {
			}
			return nil
		})
	}
	_ = group.Wait()
}

func (q *queue) next(ctx context.Context, reconcile func(ctx context.Context, name string) error) bool {
	name, shutdown := q.names.Get()
	if shutdown {
		return false
	}
	defer q.names.Done(name)
	if ctx.Err() != nil {
		return false
	}
	logger := klog.FromContext(ctx).WithValues("kind", q.kind, "name", name)
	err := reconcile(klog.NewContext(ctx, logger), name)
	switch {
	case err == nil, errors.Is(err, errGone), ctx.Err() != nil:
		q.names.Forget(name)
	case errors.Is(err, errStuck):
		logger.Info("the operation is stuck; only a controller that takes the lead frees it")
		q.names.Forget(name)
	case errors.Is(err, errRefused):
		logger.V(2).Info("left alone until it changes", "because", err.Error())
		q.names.Forget(name)
	case q.names.NumRequeues(name) < requeueTries:
		logger.Error(err, "failed, will be tried again")
		q.names.AddRateLimited(name)
	default:
		logger.Error(err, "failed, given up until it changes")
		q.names.Forget(name)
	}
	return true
}
