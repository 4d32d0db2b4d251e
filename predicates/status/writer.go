package status

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/internal/named"
)

const (
	// firstRetry and lastRetry bound the backoff after a report that couldn't be written,
	// or that somebody else changes again and again.
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
	// grace is how long another replica may take to learn of what the sources hold now.
	grace = time.Minute
)

// writer keeps the report about one ConfigMap. Its fields belong to run.
type writer struct {
	*Reporter
	about           ConfigMap
	namespace, name string        // of the report
	reported        chan struct{} // there is a new report
	touched         chan struct{} // the object of the report has changed, by whomever
	seen            cache.SharedIndexInformer
	unread          atomic.Bool // something else stands in for the ConfigMap

	pending bool // the report is still to be written, or an Event to be made
	due     time.Time
	wait    time.Duration // the latest backoff
	failed  string        // the error that was logged last
	told    bool          // an Event has told of the latest report, though it can't be written

	known bool      // uid is known
	uid   types.UID // of the ConfigMap that was reported about last; empty: none

	repairs    int       // in a row
	repaired   time.Time // when that was last
	takenBack  bool      // what a replica wrote of other sources has been overwritten once
	unwatched  string    // why the report can't be watched, as it was logged last
	unwatching chan error
}

func newWriter(r *Reporter, about ConfigMap) *writer {
	namespace, name := about.Key()
	return &writer{
		Reporter: r, about: about, namespace: namespace, name: ReportName(name),
		reported: make(chan struct{}, 1), touched: make(chan struct{}, 1), unwatching: make(chan error, 1),
	}
}

// run keeps the report until ctx ends.
func (w *writer) run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	informer, err := named.ConfigMap(w.client, w.namespace, w.name, named.Handlers{
		Changed: func() { signal(w.touched) },
		Failed: func(_ context.Context, err error) {
			select {
			case w.unwatching <- err:
			default:
			}
		},
	})
	if err != nil {
		logger.Error(err, "What others do to the report about the predicates isn't seen")
		return
	}
	w.seen = informer
	defer named.Start(ctx, informer)()
	for {
		timer := w.clock.NewTimer(max(0, w.due.Sub(w.clock.Now())))
		fires := timer.C()
		if w.due.IsZero() {
			timer.Stop()
			fires = nil
		}
		select {
		case <-ctx.Done():
		case <-w.reported:
			w.pending, w.told, w.takenBack, w.wait = true, false, false, 0
			w.write(ctx)
		case <-w.about.Replaced():
			// What the first one held is reported, or will be.
			if w.known && uidOf(w.about.Reference()) != w.uid {
				w.pending = true
				w.write(ctx)
			}
		case <-w.touched:
			w.look(ctx)
		case <-fires:
			w.due = time.Time{}
			if w.pending {
				w.write(ctx)
			} else {
				w.repair(ctx)
			}
		case err := <-w.unwatching:
			if w.unwatched != err.Error() {
				w.unwatched = err.Error()
				logger.Info("What others do to the report about the predicates isn't seen, trying again; may this program list and watch it?", "configMap", klog.KRef(w.namespace, w.name), "err", err)
			}
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// render returns what the report is to say.
func (w *writer) render(report predicates.Report) map[string]string {
	data := Render(report, w.about.Name(), w.version)
	if w.unread.Load() {
		data[KeyConditions] = written(unread())
	}
	return data
}

// absent reports whether there is nothing to report about.
func (w *writer) absent() bool { return w.about.Reference() == nil && !w.unread.Load() }

// write brings the report up to date, and tells of it in an Event if it wasn't, or if
// the ConfigMap is another object than the one that was told.
func (w *writer) write(ctx context.Context) {
	report := w.report()
	if report == nil {
		return
	}
	reference := w.about.Reference()
	wrote, err := w.put(ctx, w.render(*report), nil)
	if ctx.Err() != nil {
		return
	}
	switch {
	case err != nil:
		w.fail(ctx, err)
		// An Event is then all that its author can see.
		if !w.told {
			w.told = true
			w.event(ctx, *report, reference)
		}
		return
	case wrote, w.known && uidOf(reference) != w.uid:
		w.event(ctx, *report, reference)
	}
	w.pending, w.failed, w.wait, w.due = false, "", 0, time.Time{}
	w.known, w.uid = true, uidOf(reference)
}

func uidOf(reference *corev1.ObjectReference) types.UID {
	if reference == nil {
		return ""
	}
	return reference.UID
}

// fail logs, once, why the report can't be written, and says when to try again.
func (w *writer) fail(ctx context.Context, err error) {
	if err.Error() != w.failed {
		w.failed = err.Error()
		klog.FromContext(ctx).Error(err, "What became of the predicates can't be reported, trying again")
	}
	w.wait = min(max(2*w.wait, firstRetry), lastRetry)
	w.due = w.clock.Now().Add(w.wait)
	if final(err) {
		w.due = time.Time{} // until it changes
	}
}

// look decides what to do about the report as it is now.
func (w *writer) look(ctx context.Context) {
	report := w.report()
	if report == nil || !w.seen.HasSynced() {
		return
	}
	if w.pending {
		w.write(ctx) // what was in its way has changed
		return
	}
	current, err := named.Get(w.seen, w.namespace, w.name)
	if err != nil {
		return
	}
	w.due = time.Time{}
	switch w.judge(current, w.render(*report)) {
	case damaged:
		now := w.clock.Now()
		if now.Sub(w.repaired) > 2*lastRetry {
			w.repairs = 0
		}
		// The first time at once.
		if w.repairs > 0 {
			w.due = w.repaired.Add(min(firstRetry<<min(w.repairs-1, 20), lastRetry))
		}
		if !w.due.After(now) {
			w.due = time.Time{}
			w.repair(ctx)
		}
	case foreign:
		if !w.takenBack {
			w.due = w.clock.Now().Add(grace)
		}
	}
}

// repair writes the report over what has become of it.
func (w *writer) repair(ctx context.Context) {
	report := w.report()
	if report == nil {
		return
	}
	still := func(current *corev1.ConfigMap, data map[string]string) bool {
		switch w.judge(current, data) {
		case damaged:
			return true
		case foreign:
			again := !w.takenBack
			w.takenBack = true
			return again
		}
		return false
	}
	wrote, err := w.put(ctx, w.render(*report), still)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.pending = true
		w.fail(ctx, err)
	case wrote:
		w.repairs++
		w.repaired = w.clock.Now()
		klog.FromContext(ctx).Info("The report about the predicates was changed by somebody else, and is put right", "configMap", klog.KRef(w.namespace, w.name), "times", w.repairs)
	}
}
