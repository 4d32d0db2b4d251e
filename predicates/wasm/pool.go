package wasm

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// pool are the instances of one module.
type pool struct {
	code *code

	start sync.Mutex // held while the first instance is made

	mu      sync.Mutex
	free    int             // how many more instances may be in use at once
	waiting []chan struct{} // who waits for one of them, first come, first served
	ready   bool            // an instance was made: the snapshot is right
	first   *snapshot       // nil for a module that needs a new instance each time
	idle    []*instance
	used    uint64 // when an instance was given back last, by the runtime's count
	closed  bool
	live    int // idle ones and those in use
}

func (p *pool) init(c *code) {
	p.code = c
	p.free = c.rt.instances
}

// acquire returns an instance that nobody else uses. It waits for one, and for
// room in memory, until the context ends or the timeout, if there is one, passes.
func (p *pool) acquire(ctx context.Context, timeout time.Duration) (*instance, error) {
	p.mu.Lock()
	if p.free == 0 {
		if err := p.waitForSlot(ctx, timeout); err != nil {
			return nil, err
		}
		p.mu.Lock()
	} else {
		p.free--
	}
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return i, nil
	}
	p.mu.Unlock()
	i, err := p.create(ctx, timeout)
	if err != nil {
		p.mu.Lock()
		p.freeSlot()
		p.mu.Unlock()
		return nil, err
	}
	return i, nil
}

// freeSlot lets the next one have an instance. The caller holds mu.
func (p *pool) freeSlot() {
	if len(p.waiting) == 0 {
		p.free++
		return
	}
	close(p.waiting[0])
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
}

// waitForSlot waits until an instance may be used. The caller holds mu, which is
// given up.
func (p *pool) waitForSlot(ctx context.Context, timeout time.Duration) error {
	slot := make(chan struct{})
	p.waiting = append(p.waiting, slot)
	p.mu.Unlock()
	expired, stop := p.code.rt.timer(timeout)
	defer stop()
	var err error
	select {
	case <-slot:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-expired:
		err = newError(LimitExceeded, "all %d instances of the module were busy for %v", p.code.rt.instances, timeout)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.waiting, slot); at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	} else {
		p.freeSlot() // it came in the same moment
	}
	return err
}

// timer returns a channel that tells when the timeout is over: never, if it is 0.
func (r *Runtime) timer(timeout time.Duration) (<-chan time.Time, func()) {
	if timeout <= 0 {
		return nil, func() {}
	}
	t := r.clock.NewTimer(timeout)
	return t.C(), func() { t.Stop() }
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
		i.from = from
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
		full := newError(MemoryLimit, "the module needs %d KiB, and the %d KiB of all WebAssembly predicates together are in use; give the predicate a timeout, within which it waits for room, or allow more memory for all, in the driver by --wasm-memory", n>>10, r.totalMemory>>10)
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
	reuse = reuse && !i.broken && i.from != nil && i.reset()
	p.mu.Lock()
	if reuse = reuse && !p.closed; reuse {
		i.idleSince = p.code.rt.sweeps.Load()
		p.used = p.code.rt.uses.Add(1)
		p.idle = append(p.idle, i)
	}
	p.freeSlot()
	p.mu.Unlock()
	if reuse {
		p.code.rt.idle()
		return
	}
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

// lastUse returns when an instance was given back last, by the runtime's count; false
// if none is idle.
func (p *pool) lastUse() (uint64, bool) {
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

// closeBefore closes the instances that have been idle since before that sweep, and
// reports whether others are.
func (p *pool) closeBefore(sweep uint64) (left bool) {
	for {
		p.mu.Lock()
		if len(p.idle) == 0 || p.idle[0].idleSince >= sweep {
			left = len(p.idle) > 0
			p.mu.Unlock()
			return left
		}
		p.mu.Unlock()
		p.closeOldest()
	}
}
