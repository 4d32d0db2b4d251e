package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/predicates"
)

// ConfigMap is a source that is reported about.
type ConfigMap interface {
	// Name returns the source's name.
	Name() string
	// Key returns the ConfigMap's namespace and name.
	Key() (namespace, name string)
	// Reference returns the ConfigMap as it was delivered last, nil if there is none.
	Reference() *corev1.ObjectReference
}

// Backoff after a report that couldn't be written.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Reporter writes reports about ConfigMaps. It is safe for concurrent use.
type Reporter struct {
	client     corev1client.CoreV1Interface
	version    string
	component  string
	configMaps []ConfigMap
	clock      clock.Clock

	wake   chan struct{}
	mu     sync.Mutex
	latest *predicates.Report
}

// Option changes how a Reporter works.
type Option func(*Reporter)

// WithClock gives the clock of retries and Events.
func WithClock(c clock.Clock) Option { return func(r *Reporter) { r.clock = c } }

// NewReporter returns a reporter about the ConfigMaps. The version is that of the
// program, with whatever else decides what it makes of their content; component
// names it in Events. It needs get, create and update on the ConfigMaps' reports,
// and create on Events.
func NewReporter(client corev1client.CoreV1Interface, component, version string, configMaps []ConfigMap, opts ...Option) *Reporter {
	r := &Reporter{
		client: client, component: component, version: version, configMaps: configMaps,
		clock: clock.RealClock{}, wake: make(chan struct{}, 1),
	}
	for _, opt := range opts {
		opt(r)
	}
	return r
}

// Report notes what a store reports, for Run to write; it doesn't wait for that. Of
// several only the last is written.
func (r *Reporter) Report(report predicates.Report) {
	r.mu.Lock()
	r.latest = &report
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run writes what is reported until ctx ends. What can't be written is logged once,
// and tried again with backoff.
func (r *Reporter) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	failed := ""
	for wait := time.Duration(0); ; {
		var retry <-chan time.Time
		if wait > 0 {
			retry = r.clock.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-retry:
		}
		r.mu.Lock()
		report := r.latest
		r.mu.Unlock()
		var all []error
		for _, configMap := range r.configMaps {
			all = append(all, r.write(ctx, *report, configMap))
		}
		err := errors.Join(all...)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait, failed = 0, ""
			continue
		}
		if err.Error() != failed {
			failed = err.Error()
			logger.Error(err, "What became of the predicates can't be reported, trying again; may this program get, create and update it?")
		}
		wait = min(max(2*wait, firstRetry), lastRetry)
	}
}

// write brings one report up to date, and tells of it in an Event if it wasn't.
func (r *Reporter) write(ctx context.Context, report predicates.Report, configMap ConfigMap) error {
	data := Render(report, configMap.Name(), r.version)
	wrote, err := r.put(ctx, configMap, data)
	if err != nil || !wrote {
		return err
	}
	return r.event(ctx, report, configMap)
}

// put makes the report have the data, and returns whether this has changed it.
func (r *Reporter) put(ctx context.Context, configMap ConfigMap, data map[string]string) (bool, error) {
	namespace, name := configMap.Key()
	client, report := r.client.ConfigMaps(namespace), ReportName(name)
	const tries = 5 // against other replicas, who are about to write the same
	for try := 1; ; try++ {
		current, err := client.Get(ctx, report, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && configMap.Reference() == nil:
			return false, nil // there is nothing to report about
		case apierrors.IsNotFound(err):
			_, err = client.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: report,
					Labels: map[string]string{"app.kubernetes.io/managed-by": r.component},
				},
				Data: data,
			}, metav1.CreateOptions{})
		case err != nil:
		case maps.Equal(current.Data, data):
			return false, nil
		default:
			changed := current.DeepCopy()
			changed.Data = data
			_, err = client.Update(ctx, changed, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			return true, nil
		case try < tries && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)):
		default:
			return false, fmt.Errorf("write the report ConfigMap %s/%s: %w", namespace, report, err)
		}
	}
}

// event tells of a report in an Event of its ConfigMap. Its name is made of what
// it says, so that two replicas who tell the same tell it once.
func (r *Reporter) event(ctx context.Context, report predicates.Report, configMap ConfigMap) error {
	reference := configMap.Reference()
	if reference == nil {
		return nil // nobody looks at what isn't there
	}
	condition := Conditions(report, configMap.Name())[0]
	kind, message := corev1.EventTypeNormal, "the predicates are in force"
	if condition.Status != "True" {
		own, others, _ := split(report, configMap.Name())
		kind, message = corev1.EventTypeWarning, condition.Message+", the last good set stays in force: "+append(own, others...)[0]
	}
	saying := reference.Name + string(reference.UID) + reference.ResourceVersion + report.Sources + r.version
	now := metav1.NewTime(r.clock.Now())
	_, err := r.client.Events(reference.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: reference.Namespace, Name: named(reference.Name, "."+shortSum(saying))},
		InvolvedObject: *reference, Type: kind, Reason: condition.Reason, Message: cut(message, maxMessage),
		Source: corev1.EventSource{Component: r.component}, ReportingController: r.component,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		// The report says it all: an Event that is lost isn't worth a second one.
		klog.FromContext(ctx).V(2).Info("An Event about the predicates is lost", "err", err)
	}
	return nil
}

// maxMessage is the longest message that an API server takes in an Event.
const maxMessage = 1024
