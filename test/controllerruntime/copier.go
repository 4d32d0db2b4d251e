package controllerruntime

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/donewhen/donewhen/engine"
)

const (
	// copyLabel marks the ConfigMaps that want a copy.
	copyLabel = "example.com/copy"
	// outcome is the annotation that says how the copy ended.
	outcome = "example.com/outcome"
)

// Copier makes a copy of each marked ConfigMap and notes on the original when
// somebody else has finished the copy, or why that failed. Its waits end in the
// engine; a worker is never blocked, and nothing is asked for again in between.
type Copier struct {
	client client.Client
	engine *engine.Engine
	ended  chan event.GenericEvent

	mu    sync.Mutex
	waits map[types.UID]*engine.Waiter // by the original
}

// AddCopier adds a Copier to the manager. It waits by the operation Copy.
func AddCopier(mgr manager.Manager, eng *engine.Engine) error {
	c := &Copier{client: mgr.GetClient(), engine: eng, ended: make(chan event.GenericEvent), waits: map[types.UID]*engine.Waiter{}}
	marked := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[copyLabel] != "" })
	return builder.ControllerManagedBy(mgr).
		Named("copier").
		For(&corev1.ConfigMap{}, builder.WithPredicates(marked)).
		WatchesRawSource(source.Channel(c.ended, &handler.EnqueueRequestForObject{})).
		Complete(c)
}

// Reconcile implements reconcile.Reconciler.
func (c *Copier) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	original := &corev1.ConfigMap{}
	if err := c.client.Get(ctx, request.NamespacedName, original); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if original.Annotations[outcome] != "" {
		return reconcile.Result{}, nil
	}
	w, err := c.wait(ctx, original)
	if err != nil {
		return reconcile.Result{}, err
	}
	_, err = w.Result()
	if errors.Is(err, engine.ErrUnfinished) {
		return reconcile.Result{}, nil // the end of the wait brings it back
	}
	said := "Done"
	if err != nil {
		said = err.Error()
	}
	original = original.DeepCopy()
	metav1.SetMetaDataAnnotation(&original.ObjectMeta, outcome, said)
	if err := c.client.Update(ctx, original); err != nil {
		return reconcile.Result{}, err
	}
	c.forget(original.UID)
	return reconcile.Result{}, nil
}

// wait returns the wait for the original's copy, and makes both if there are none.
func (c *Copier) wait(ctx context.Context, original *corev1.ConfigMap) (*engine.Waiter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waits[original.UID]; w != nil {
		return w, nil
	}
	made := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: original.Namespace, Name: original.Name + "-copy"},
		Data:       original.Data,
	}
	w, err := c.engine.Register(engine.Request{ // before the write: nothing is missed
		Ref:       engine.Reference{Resource: configMaps, Namespace: made.Namespace, Name: made.Name},
		Operation: "Copy",
	})
	if err != nil {
		return nil, err
	}
	if err = c.client.Create(ctx, made); apierrors.IsAlreadyExists(err) {
		err = c.client.Get(ctx, client.ObjectKeyFromObject(made), made) // of a run before this one
	}
	if err == nil {
		err = w.After(made) // what the server returned
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	c.waits[original.UID] = w
	done := w.Done()
	go func() {
		<-done // the engine ends every wait when it stops
		select {
		case c.ended <- event.GenericEvent{Object: original}:
		case <-ctx.Done():
		}
	}()
	return w, nil
}

func (c *Copier) forget(original types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waits[original]; w != nil {
		w.Close()
		delete(c.waits, original)
	}
}
