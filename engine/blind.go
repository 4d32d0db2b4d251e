package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

const (
	// syncPatience is how long the first list may take before the engine says that
	// it can't see the objects.
	syncPatience = 10 * time.Second
	// sightInterval is how often a blind informer is looked at for progress.
	sightInterval = time.Second
	// settledAfter is how long after its last failure a synced informer counts as
	// seeing, even if no version shows it: an informer tries again within 60 s, and
	// on a quiet resource a successful list leaves no trace.
	settledAfter = 90 * time.Second
)

// Blindness says that the engine can't see the objects of an informer, and why.
// Waits on them go on: what can't be seen is no verdict.
type Blindness struct {
	Resource schema.GroupVersionResource
	// Namespace is the one that the informer shows, empty for all.
	Namespace string
	// Verb is the request that fails, "list" or "watch"; empty if none does, as far
	// as the engine was told.
	Verb string
	// Reason is the server's own reason, or the client's if there was no answer;
	// without a Verb it is what the engine itself sees of the informer.
	Reason string
	// Since is when it began.
	Since time.Time
}

// String returns "cannot see pods in namespace a: list fails: pods is forbidden: …".
func (b Blindness) String() string {
	var s strings.Builder
	s.WriteString("cannot see objects of " + b.Resource.GroupResource().String())
	if b.Namespace != "" {
		s.WriteString(" in namespace " + b.Namespace)
	}
	if b.Verb != "" {
		s.WriteString(": " + b.Verb + " fails")
	}
	s.WriteString(": " + oneLine(b.Reason))
	return s.String()
}

// What the engine itself sees of an informer.
const (
	noFirstList = "the informer has no first list yet: is it started, and may it list and watch?"
	hasStopped  = "the informer has been stopped"
)

// sight is what a source knows of whether its informer sees.
type sight struct {
	blind atomic.Bool
	hears atomic.Bool // the watch error handler is ours
	wired atomic.Bool // the informer's requests come through WrapTransport

	mu     sync.Mutex
	now    Blindness   // while blind
	failed time.Time   // the last failure
	then   progress    // how far the informer had come then
	timer  clock.Timer // exists only while blind
	first  clock.Timer // exists only until the first list
	closed bool        // the engine has stopped
}

// isBlind reports whether the informer is known not to see.
func (s *source) isBlind() bool { return s.sight.blind.Load() }

// blindness returns why the informer doesn't see, nil if it does.
func (s *source) blindness() *Blindness {
	if s.informerStopped() {
		s.goBlind("", hasStopped)
	}
	if !s.isBlind() {
		return nil
	}
	s.lookForProgress()
	return s.lastBlindness()
}

// lastBlindness is blindness without another look for progress, for those who
// hold a lock.
func (s *source) lastBlindness() *Blindness {
	s.sight.mu.Lock()
	defer s.sight.mu.Unlock()
	if !s.sight.blind.Load() {
		return nil
	}
	b := s.sight.now
	return &b
}

// Blindness returns what the engine can't see now, empty if it sees everything.
func (e *Engine) Blindness() []Blindness {
	var all []Blindness
	for _, s := range e.allSources() {
		if b := s.blindness(); b != nil {
			all = append(all, *b)
		}
	}
	return all
}

// listens takes the informer's one place for a watch error handler. Where it is
// taken, or the informer runs already, the engine goes without its reasons.
func (s *source) listens(next cache.WatchErrorHandlerWithContext) {
	given := next != nil
	if next == nil {
		next = cache.DefaultWatchErrorHandler
	}
	warn := func(why string) {
		s.engine.logger.Info("Warning: the engine will not hear why an informer can't list or watch",
			"resource", s.gvr.GroupResource().String(), "namespace", s.namespace, "why", why)
	}
	i, ok := s.informer.(interface {
		SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error
	})
	switch {
	case !ok:
		warn("it takes no watch error handler")
		return
	case !given && hasWatchErrorHandler(s.informer):
		warn("its watch error handler was set elsewhere: give that one to WithWatchErrorHandler")
		return
	}
	err := i.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if ctx.Err() == nil {
			s.failing(err)
		}
		next(ctx, r, err)
	})
	if err != nil {
		warn(err.Error() + ": call Watch before it is started")
		return
	}
	s.sight.hears.Store(true)
}

// failing takes note that a list or watch has failed.
func (s *source) failing(err error) {
	if err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the informer lists or watches anew at once
	}
	verb, reason := failureOf(err)
	if verb == "watch" && errors.Is(err, io.EOF) {
		return // it has ended in good order; a list that ends so was not answered
	}
	s.goBlind(verb, reason)
}

// failureOf says which request failed, and the server's reason. client-go tells
// the two apart by the text only: it wraps the error of a list.
func failureOf(err error) (verb, reason string) {
	verb = "watch"
	if text := err.Error(); strings.HasPrefix(text, "failed to list ") || strings.Contains(text, " list result") {
		verb = "list"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return verb, status.Status().Message
	}
	if cause := errors.Unwrap(err); verb == "list" && cause != nil {
		return verb, cause.Error()
	}
	return verb, err.Error()
}

// awaitFirstList gives the first list its time.
func (s *source) awaitFirstList() {
	if s.informer.HasSynced() {
		return
	}
	s.sight.mu.Lock()
	defer s.sight.mu.Unlock()
	s.sight.first = s.engine.afterFunc(syncPatience, func() { s.goBlind("", noFirstList) })
}

// firstListIsHere ends the wait for it.
func (s *source) firstListIsHere() {
	s.sight.mu.Lock()
	s.sight.first = stopTimer(s.sight.first)
	s.sight.mu.Unlock()
	if s.isBlind() {
		s.lookForProgress()
	}
}

// stopTimer stops a timer that there may be.
func stopTimer(t clock.Timer) clock.Timer {
	if t != nil {
		t.Stop()
	}
	return nil
}

// goBlind says at once that the informer doesn't see. The same reason is said once.
func (s *source) goBlind(verb, reason string) {
	then := s.progressNow()
	e, now := s.engine, s.engine.clock.Now()
	g := &s.sight
	g.mu.Lock()
	if g.closed || reason == noFirstList && (g.blind.Load() || then.synced) {
		g.mu.Unlock()
		return
	}
	g.failed, g.then = now, then
	since := now
	if g.blind.Load() {
		since = g.now.Since
	}
	b := Blindness{Resource: s.gvr, Namespace: s.namespace, Verb: verb, Reason: reason, Since: since}
	known := g.blind.Load() && g.now == b
	g.now = b
	g.blind.Store(true)
	if g.timer == nil {
		g.timer = e.afterFunc(sightInterval, s.watchSight)
	}
	g.mu.Unlock()
	if known {
		return
	}
	e.logger.Error(nil, "Cannot see objects; waits on them go on", "resource", s.gvr.GroupResource().String(), "namespace", s.namespace, "verb", verb, "reason", reason,
		"hint", "may the program list and watch this resource, and does the server answer?")
	if e.observer != nil {
		e.observer.BlindnessBegan(b)
	}
}

// informerStopped reports whether somebody has stopped the informer for good.
func (s *source) informerStopped() bool {
	i, ok := s.informer.(interface{ IsStopped() bool })
	return ok && i.IsStopped()
}

// progress is how far an informer has come.
type progress struct {
	synced   bool   // the first list is in the store
	received string // the version that it has received, stored or not
	stored   string // the version that its store has reached
	told     bool   // it can say what it has received
}

func (s *source) progressNow() progress {
	p := progress{synced: s.informer.HasSynced(), stored: s.version()}
	if i, ok := s.informer.(interface{ LastSyncResourceVersion() string }); ok {
		p.received, p.told = i.LastSyncResourceVersion(), true
	}
	return p
}

// since reports whether the informer has come on since before. What it received
// before then may still reach its store afterwards, and is no progress.
func (p progress) since(before progress) bool {
	if !p.synced {
		return false
	}
	if p.told {
		return p.received != before.received
	}
	return !before.synced || p.stored != before.stored
}

// watchSight looks for progress while the informer is blind.
func (s *source) watchSight() {
	s.lookForProgress()
	s.sight.mu.Lock()
	defer s.sight.mu.Unlock()
	s.sight.timer = nil
	if s.sight.blind.Load() && !s.sight.closed {
		s.sight.timer = s.engine.afterFunc(sightInterval, s.watchSight)
	}
}

// lookForProgress ends the blindness if the informer has come on since its last
// failure: a version moved, or the first list is there.
func (s *source) lookForProgress() {
	if s.informerStopped() {
		return
	}
	seen := s.progressNow()
	g := &s.sight
	g.mu.Lock()
	now := s.engine.clock.Now()
	settled := seen.synced && !g.wired.Load() && now.Sub(g.failed) >= settledAfter
	if !g.blind.Load() || !settled && !seen.since(g.then) {
		g.mu.Unlock()
		return
	}
	s.endBlindness(now)
}

// endBlindness says that the informer sees again; sight.mu is held, and released.
func (s *source) endBlindness(now time.Time) {
	e, g := s.engine, &s.sight
	g.blind.Store(false)
	g.timer = stopTimer(g.timer)
	b := g.now
	g.mu.Unlock()
	e.logger.Info("Sees objects again", "resource", s.gvr.GroupResource().String(), "namespace", s.namespace, "after", now.Sub(b.Since).Round(time.Millisecond))
	if e.observer != nil {
		e.observer.BlindnessEnded(b)
	}
	for _, o := range s.all() {
		o.schedule() // what doesn't count while blind, such as a hold time, may now
	}
}

// closeSight stops looking for progress.
func (s *source) closeSight() {
	s.sight.mu.Lock()
	defer s.sight.mu.Unlock()
	s.sight.closed = true
	s.sight.blind.Store(false)
	s.sight.timer, s.sight.first = stopTimer(s.sight.timer), stopTimer(s.sight.first)
}
