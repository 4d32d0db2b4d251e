package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// server is a very small API server of pods: versions, lists, watches that
// resume, 410 Gone, and a connection that can be cut. It is a ListerWatcher of
// real client-go informers.
type server struct {
	dynamic bool // shows unstructured objects

	mu       sync.Mutex
	version  int
	objects  map[types.NamespacedName]*corev1.Pod
	events   []event
	oldest   int // watches from before it get 410 Gone
	watches  map[*watch.RaceFreeFakeWatcher]struct{}
	cut      bool
	refuse   map[string]error // by verb
	list     bool             // reflectors list, then watch
	before   func()           // called before the next watch is opened, once
	requests map[string]int
}

type event struct {
	version int
	event   watch.Event
}

func newServer() *server {
	return &server{version: 100, objects: map[types.NamespacedName]*corev1.Pod{}, watches: map[*watch.RaceFreeFakeWatcher]struct{}{}, requests: map[string]int{}, refuse: map[string]error{}, list: true}
}

// informer returns a real shared informer on the server. The default watch error
// handler keeps the time of the last error in a global, which no bubble survives.
func (s *server) informer() cache.SharedIndexInformer {
	var i cache.SharedIndexInformer
	if s.dynamic {
		i = cache.NewSharedIndexInformer(s, &unstructured.Unstructured{}, 0, cache.Indexers{})
	} else {
		i = cache.NewSharedIndexInformer(s, &corev1.Pod{}, 0, cache.Indexers{})
	}
	if err := i.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		panic(err)
	}
	return i
}

// IsWatchListSemanticsUnSupported makes reflectors list, then watch.
func (s *server) IsWatchListSemanticsUnSupported() bool { return s.list }

func (s *server) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

func (s *server) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *server) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests["list"]++
	if err := s.refuse["list"]; err != nil {
		return nil, err
	}
	if s.cut {
		return nil, errors.New("connection refused")
	}
	if s.dynamic {
		list := &unstructured.UnstructuredList{}
		list.SetResourceVersion(fmt.Sprint(s.version))
		for _, object := range s.objects {
			list.Items = append(list.Items, *toUnstructured(object))
		}
		return list, nil
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.version)}}
	for _, object := range s.objects {
		list.Items = append(list.Items, *object.DeepCopy())
	}
	return list, nil
}

func (s *server) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	before := s.before
	s.before = nil
	s.mu.Unlock()
	if before != nil {
		before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests["watch"]++
	if err := s.refuse["watch"]; err != nil {
		return nil, err
	}
	if s.cut {
		return nil, errors.New("connection refused")
	}
	var from int
	_, _ = fmt.Sscan(options.ResourceVersion, &from)
	if from < s.oldest {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	w := watch.NewRaceFreeFake()
	for _, e := range s.events {
		if e.version > from {
			w.Action(e.event.Type, e.event.Object)
		}
	}
	s.watches[w] = struct{}{}
	return w, nil
}

// forbid answers a verb as an API server does that lacks the permission.
func (s *server) forbid(verb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[verb] = apierrors.NewForbidden(pods.GroupResource(), "", fmt.Errorf(`User "driver" cannot %s resource "pods" in API group "" at the cluster scope`, verb))
}

func (s *server) allow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refuse)
}

// write creates or updates a pod and returns what the server would return.
func (s *server) write(name, state string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	key := refTo(name).NamespacedName()
	kind := watch.Modified
	uid := types.UID(fmt.Sprint("uid-", s.version))
	if old := s.objects[key]; old != nil {
		uid = old.UID
	} else {
		kind = watch.Added
	}
	object := pod(name, string(uid), fmt.Sprint(s.version), state)
	s.objects[key] = object
	s.emit(kind, object)
	return object.DeepCopy()
}

func (s *server) delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	key := refTo(name).NamespacedName()
	last := s.objects[key].DeepCopy()
	last.ResourceVersion = fmt.Sprint(s.version)
	delete(s.objects, key)
	s.emit(watch.Deleted, last)
}

func (s *server) emit(kind watch.EventType, object *corev1.Pod) {
	var shown runtime.Object = object.DeepCopy()
	if s.dynamic {
		shown = toUnstructured(object)
	}
	s.events = append(s.events, event{s.version, watch.Event{Type: kind, Object: shown}})
	for w := range s.watches {
		w.Action(kind, shown.DeepCopyObject())
	}
}

// disconnect cuts every watch and refuses requests until reconnect.
func (s *server) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = true
	s.mu.Unlock()
	s.endWatches()
	s.mu.Lock()
}

// endWatches ends every watch in good order, as a server does when its time is up.
func (s *server) endWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.Stop()
	}
	clear(s.watches)
}

// reconnect serves again; with compact the watches from before get 410 Gone.
func (s *server) reconnect(compact bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = false
	if compact {
		s.oldest, s.events = s.version, nil
	}
}

func (s *server) requested(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[verb]
}

func toUnstructured(object *corev1.Pod) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion("v1")
	u.SetKind("Pod")
	return u
}
