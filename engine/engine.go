package engine

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Engine is being written.
type Engine struct{}

var errUnwritten = errors.New("not yet written")

func New(set Set, opts ...Option) *Engine { return &Engine{} }
func (e *Engine) Watch(gvr schema.GroupVersionResource, informer Informer, opts ...WatchOption) error {
	return errUnwritten
}
func (e *Engine) Start(ctx context.Context) error       { return errUnwritten }
func (e *Engine) WaitForSync(ctx context.Context) error { return errUnwritten }
func (e *Engine) Swap(set Set)                          {}
func (e *Engine) Register(req Request) (*Waiter, error) { return nil, errUnwritten }
func (e *Engine) Do(ctx context.Context, req Request, write func(context.Context) (metav1.Object, error)) (*Result, error) {
	return nil, errUnwritten
}

type Waiter struct{}

func (w *Waiter) After(written metav1.Object) error         { return errUnwritten }
func (w *Waiter) Wait(ctx context.Context) (*Result, error) { return nil, errUnwritten }
func (w *Waiter) Done() <-chan struct{}                     { return nil }
func (w *Waiter) Result() (*Result, error)                  { return nil, errUnwritten }
func (w *Waiter) Close()                                    {}
