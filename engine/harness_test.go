package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// pod is an object whose annotation "state" decides.
func pod(name, uid, version, state string) *corev1.Pod {
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		namespace, name = "a", namespace
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: version,
		Annotations: map[string]string{"state": state},
	}}
}

func refTo(name string) engine.Reference {
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		namespace, name = "a", namespace
	}
	return engine.Reference{Resource: pods, Namespace: namespace, Name: name}
}

// predicate is a test's predicate. Its zero value, with a name, is done when the
// state is "Done", failed when it is "Failed…", and fails when the object is gone.
type predicate struct {
	name      string
	digest    string // of another version of the predicate; empty: by the name
	needs     string // a declared param without a default
	gone      bool   // expects absence
	resources []schema.GroupVersionResource
	onDelete  *engine.Verdict
	judge     func(o engine.Observation, p engine.Params) engine.Judgement
	calls     atomic.Int64
}

func (p *predicate) ID() engine.PredicateID {
	digest := p.digest
	if digest == "" {
		digest = "digest of " + p.name
	}
	return engine.PredicateID{Name: p.name, Digest: digest}
}

func (p *predicate) Resources() []schema.GroupVersionResource {
	if p.resources == nil {
		return []schema.GroupVersionResource{pods}
	}
	return p.resources
}
func (p *predicate) ExpectsGone() bool { return p.gone }
func (p *predicate) Bind(params engine.Params) (engine.Judge, error) {
	if _, bad := params["bad"]; bad {
		return nil, fmt.Errorf("param %q is bad", "bad")
	}
	if _, given := params[p.needs]; p.needs != "" && !given {
		return nil, fmt.Errorf("param %q is missing", p.needs)
	}
	return &judge{p, params, fmt.Sprint(p.ID().Digest, params)}, nil
}

type judge struct {
	*predicate
	params engine.Params
	key    string
}

func (j *judge) Key() string { return j.key }
func (j *judge) Judge(_ context.Context, o engine.Observation) engine.Judgement {
	j.calls.Add(1)
	judgement := j.say(o, false)
	if !judgement.Verdict.Decisive() {
		judgement.Verdict.Message, judgement.Verdict.Reason = "", ""
	}
	return judgement
}

func (j *judge) Describe(_ context.Context, o engine.Observation) engine.Judgement {
	return j.decide(o)
}

func (j *judge) decide(o engine.Observation) engine.Judgement { return j.say(o, true) }

// say judges; the text of a pending verdict takes a while to make, so only if its
// words are wanted.
func (j *judge) say(o engine.Observation, words bool) engine.Judgement {
	if j.predicate.judge != nil {
		return j.predicate.judge(o, j.params)
	}
	v := engine.Verdict{Predicate: j.ID()}
	switch {
	case o.Presence == engine.Present && j.gone:
		v.Message, v.Reason = "the object is still there", "StillThere"
	case o.Presence == engine.Present:
		state := o.Object.GetAnnotations()["state"]
		switch {
		case state == "Done":
			v.Decision = engine.Done
		case strings.HasPrefix(state, "Failed"):
			v.Decision, v.Code, v.Reason, v.Message = engine.Failed, codes.Unknown, "StateFailed", "the state is "+state
		case words:
			v.Reason, v.Message = "StateOther", fmt.Sprintf("the state is %q", state)
		}
	case j.gone:
		v.Decision = engine.Done
	case o.Presence == engine.NeverExisted:
		v.Reason, v.Message = engine.ReasonNeverExisted, "it never existed"
	case j.onDelete != nil:
		v = *j.onDelete
	default:
		v.Decision, v.Code, v.Reason, v.Message = engine.Failed, codes.Aborted, engine.ReasonObjectDeleted, "the object is gone"
		if o.Presence == engine.Replaced {
			v.Reason = engine.ReasonObjectReplaced
		}
	}
	return engine.Judgement{Verdict: v}
}

// set is a test's set.
type set struct {
	predicates map[string]*predicate
	bindings   []*engine.Binding
}

func newSet(predicates ...*predicate) *set {
	s := &set{predicates: map[string]*predicate{}}
	for _, p := range append([]*predicate{{name: "ready"}, {name: "gone", gone: true}}, predicates...) {
		s.predicates[p.name] = p
	}
	return s
}

// bind adds an enforced binding of the same name as the operation.
func (s *set) bind(operation, predicate string, more func(*engine.Binding)) *set {
	b := &engine.Binding{Name: operation, Operation: operation, Resource: pods, Predicate: s.predicates[predicate], Action: engine.Enforce}
	if more != nil {
		more(b)
	}
	s.bindings = append(s.bindings, b)
	return s
}

func (s *set) Digest() string              { return "digest of the set" }
func (s *set) Bindings() []*engine.Binding { return s.bindings }
func (s *set) Predicate(name string) (engine.Predicate, error) {
	if p := s.predicates[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no predicate %q", name)
}

func (s *set) Binding(operation string) (*engine.Binding, error) {
	for _, b := range s.bindings {
		if b.Operation == operation {
			return b, nil
		}
	}
	return nil, fmt.Errorf("no operation %q", operation)
}

// scene is an engine on a scripted informer, in a synctest bubble.
type scene struct {
	*testing.T
	engine   *engine.Engine
	informer *informer
	set      *set
	stop     context.CancelFunc
	log      func() string
}

// play runs a test on a started engine whose informer has synced, empty.
func play(t *testing.T, f func(s *scene), predicates ...*predicate) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { playIn(t, f, predicates...) })
}

// playIn is play inside a bubble.
func playIn(t *testing.T, f func(s *scene), predicates ...*predicate) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := &scene{T: t, informer: newInformer(), set: newSet(predicates...), stop: stop}
	s.informer.sync("1")
	s.engine = engine.New(s.set, engine.WithLogger(klog.Logger{}))
	must(t, s.engine.Watch(pods, s.informer))
	must(t, s.engine.Start(ctx))
	f(s)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// register registers a waiter that the end of the test closes.
func (s *scene) register(predicate, name string) *engine.Waiter {
	s.Helper()
	w, err := s.engine.Register(engine.Request{Ref: refTo(name), Predicate: predicate})
	must(s.T, err)
	s.Cleanup(w.Close)
	synctest.Wait()
	return w
}

// waiting is a Wait that runs.
type waiting struct {
	*testing.T
	end    chan struct{}
	result *engine.Result
	err    error
}

func (s *scene) wait(w *engine.Waiter) *waiting { return s.waitWith(s.Context(), w) }

func (s *scene) waitWith(ctx context.Context, w *engine.Waiter) *waiting {
	g := &waiting{T: s.T, end: make(chan struct{})}
	go func() {
		g.result, g.err = w.Wait(ctx)
		close(g.end)
	}()
	synctest.Wait()
	return g
}

func (g *waiting) pending() {
	g.Helper()
	synctest.Wait()
	select {
	case <-g.end:
		g.Fatalf("the wait ended: %s", g)
	default:
	}
}

func (g *waiting) String() string {
	if g.result == nil {
		return fmt.Sprintf("no result, error %v", g.err)
	}
	return fmt.Sprintf("%s at %q, absent %t, error %v", g.result.Verdict.Decision, g.result.ResourceVersion, g.result.Absent, g.err)
}

func (g *waiting) ended() {
	g.Helper()
	synctest.Wait()
	select {
	case <-g.end:
	default:
		g.Fatal("the wait has not ended")
	}
}

// done expects an end with Done at the version.
func (g *waiting) done(version string) {
	g.Helper()
	g.ended()
	if g.err != nil || g.result.Verdict.Decision != engine.Done || g.result.ResourceVersion != version {
		g.Fatalf("the wait ended with %s; want Done at %q", g, version)
	}
}

// failed expects an end with Failed for the reason at the version.
func (g *waiting) failed(reason, version string) {
	g.Helper()
	g.ended()
	if g.result == nil || g.result.Verdict.Decision != engine.Failed || g.result.Verdict.Reason != reason || g.result.ResourceVersion != version {
		g.Fatalf("the wait ended with %s; want Failed, reason %s, at %q", g, reason, version)
	}
	if g.err == nil {
		g.Fatal("a failed wait has no error")
	}
}

// seconds lets the bubble's time pass.
func seconds(n float64) {
	time.Sleep(time.Duration(n * float64(time.Second)))
	synctest.Wait()
}

// nothingKept checks G10.
func (s *scene) nothingKept() {
	s.Helper()
	s.nothingKeptBut(0)
}

// nothingKeptBut checks that so many objects have waiters, and nothing goes on.
func (s *scene) nothingKeptBut(n int) {
	s.Helper()
	synctest.Wait()
	if objects, unseen, workers, tasks := s.engine.Kept(); objects != n || unseen+workers+tasks != 0 {
		s.Fatalf("the engine keeps %d objects, %d unseen, %d workers, %d tasks", objects, unseen, workers, tasks)
	}
}
