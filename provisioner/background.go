package provisioner

import (
	"context"
	"sync"
)

const maxBackground = 64

// background runs functions that outlive the call that started them, but not the
// provisioner.
type background struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running int
	group   sync.WaitGroup
}

func (b *background) init() { b.ctx, b.cancel = context.WithCancel(context.Background()) }

// run starts f, whose context ends at close. It returns false, and doesn't start
// it, if the provisioner is closed or too much is running.
func (b *background) run(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.running == maxBackground {
		return false
	}
	b.running++
	b.group.Go(func() {
		defer func() {
			b.mu.Lock()
			b.running--
			b.mu.Unlock()
		}()
		f(b.ctx)
	})
	return true
}

// close ends what runs and waits for it.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.group.Wait()
}
