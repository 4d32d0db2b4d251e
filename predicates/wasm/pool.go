package wasm

import (
	"context"
	"sync"
	"time"

	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// pool are the instances of one module.
type pool struct {
	code  *code
	slots chan struct{} // one for each instance in use

	start sync.Mutex // held while the first instance is made

	mu     sync.Mutex
	ready  bool      // an instance was made: the snapshot is right
	first  *snapshot // nil for a module that needs a new instance each time
	idle   []*instance
	used   time.Time // when an instance was given back last
	closed bool
	live   int // idle ones and those in use
}

func (p *pool) init(c *code) {
	p.code = c
	p.slots = make(chan struct{}, c.rt.instances)
}

// acquire returns an instance that nobody else uses. It waits for one, and for
// room in memory, until the context ends or the timeout, if there is one, passes.
func (p *pool) acquire(ctx context.Context, timeout time.Duration) (*instance, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		if err := p.waitForSlot(ctx, timeout); err != nil {
			return nil, err
		}
	}
	if i := p.takeIdle(); i != nil {
		return i, nil
	}
	i, err := p.create(ctx, timeout)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return i, nil
}

func (p *pool) waitForSlot(ctx context.Context, timeout time.Duration) error {
	expired, stop := p.code.rt.timer(timeout)
	defer stop()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-expired:
		return newError(LimitExceeded, "all %d instances of the module were busy for %v", cap(p.slots), timeout)
	}
}

// timer returns a channel that tells when the timeout is over: never, if it is 0.
func (r *Runtime) timer(timeout time.Duration) (<-chan time.Time, func()) {
	if timeout <= 0 {
		return nil, func() {}
	}
	t := r.clock.NewTimer(timeout)
	return t.C(), func() { t.Stop() }
}

func (p *pool) takeIdle() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	i := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return i
}

// create makes an instance. The first one gives the snapshot.
func (p *pool) create(ctx context.Context, timeout time.Duration) (*instance, error) {
	p.mu.Lock()
	ready, from := p.ready, p.first
	p.mu.Unlock()
	if ready {
		return p.instantiate(ctx, timeout, from)
	}
	p.start.Lock()
	defer p.start.Unlock()
	p.mu.Lock()
	ready, from = p.ready, p.first
	p.mu.Unlock()
	if ready {
		return p.instantiate(ctx, timeout, from)
	}
	i, err := p.instantiate(ctx, timeout, nil)
	if err != nil {
		return nil, err
	}
	if !p.code.meta.Stateful {
		from = i.save()
	}
	p.mu.Lock()
	p.ready, p.first = true, from
	p.mu.Unlock()
	return i, nil
}

// instantiate makes an instance once there is room for its memory.
func (p *pool) instantiate(ctx context.Context, timeout time.Duration, from *snapshot) (*instance, error) {
	rt := p.code.rt
	mem := &memory{rt: rt}
	need := uint64(p.code.meta.MinPages) * rewrite.PageSize
	if from != nil {
		need = uint64(len(from.memory))
	}
	if need > 0 {
		if err := rt.reserveWithin(ctx, need, timeout); err != nil {
			return nil, err
		}
		mem.reserved = need
	}
	i, err := p.code.newInstance(ctx, mem, from)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.live++
	p.mu.Unlock()
	return i, nil
}

// reserveWithin takes n bytes of the budget as soon as they are there.
func (r *Runtime) reserveWithin(ctx context.Context, n uint64, timeout time.Duration) error {
	if r.reserve(n) {
		return nil
	}
	expired, stop := r.timer(timeout)
	defer stop()
	for {
		freed := r.budget.wait()
		if r.reserve(n) { // perhaps released in between
			return nil
		}
		full := newError(MemoryLimit, "the module needs %d KiB, and the %d KiB of all WebAssembly predicates together are in use", n>>10, r.totalMemory>>10)
		if timeout <= 0 || n > r.totalMemory {
			return full
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		case <-expired:
			return full
		}
	}
}

// release takes an instance back, to be used again if it can be made as it was.
func (p *pool) release(i *instance, reuse bool) {
	i.call.end()
	p.mu.Lock()
	reuse = reuse && !p.closed && p.first != nil
	first := p.first
	p.mu.Unlock()
	reuse = reuse && i.reset(first)
	if reuse {
		i.used = p.code.rt.clock.Now()
		p.mu.Lock()
		if reuse = !p.closed; reuse {
			p.used = i.used
			p.idle = append(p.idle, i)
		}
		p.mu.Unlock()
	}
	if reuse {
		<-p.slots
		p.code.rt.idle()
		return
	}
	<-p.slots
	p.discard(i)
}

// discard closes an instance, and with the last one of a module that nobody uses
// the module's code.
func (p *pool) discard(i *instance) {
	i.close()
	p.mu.Lock()
	p.live--
	last := p.closed && p.live == 0
	p.mu.Unlock()
	if last {
		p.code.closeCode()
	}
}

// closeCode frees the compiled code.
func (c *code) closeCode() {
	if c.compiled != nil {
		_ = c.compiled.Close(context.Background()) // it can't fail
	}
}

// close closes the idle instances now and those in use when they are given back.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	last := p.live == 0
	p.mu.Unlock()
	if last {
		p.code.closeCode()
	}
	for _, i := range idle {
		p.discard(i)
	}
}

// idleSince returns when an instance was given back last; false if none is idle.
func (p *pool) idleSince() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used, len(p.idle) > 0
}

// closeOldest closes the instance that has been idle for longest; false if none is.
func (p *pool) closeOldest() bool {
	p.mu.Lock()
	if len(p.idle) == 0 {
		p.mu.Unlock()
		return false
	}
	i := p.idle[0]
	p.idle = append(p.idle[:0], p.idle[1:]...)
	p.mu.Unlock()
	p.discard(i)
	return true
}

// closeBefore closes the instances that have been idle since then, and reports
// whether others are.
func (p *pool) closeBefore(then time.Time) (left bool) {
	for {
		p.mu.Lock()
		if len(p.idle) == 0 || p.idle[0].used.After(then) {
			left = len(p.idle) > 0
			p.mu.Unlock()
			return left
		}
		p.mu.Unlock()
		p.closeOldest()
	}
}
