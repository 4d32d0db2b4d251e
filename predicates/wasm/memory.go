package wasm

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// budget is how much linear memory all instances may have together.
type budget struct {
	mu          sync.Mutex
	limit, used uint64
	freed       chan struct{} // closed when something is released; nil while nobody waits
}

// reserve takes n bytes, if they are there.
func (b *budget) reserve(n uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.used {
		return false
	}
	b.used += n
	return true
}

// release gives n bytes back.
func (b *budget) release(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// wait returns a channel that is closed with the next release.
func (b *budget) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed
}

func (b *budget) inUse() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// memory is the linear memory of one instance. It implements the engine's
// allocator for it.
type memory struct {
	rt    *Runtime
	limit uint64 // of the call under way
	// reserved is what it has of the budget; the first is taken before the instance
	// is made.
	reserved uint64
	buf      []byte
	// denied says why the guest couldn't grow when it tried last, "" if it could; short
	// that in this call it couldn't because others had the memory.
	denied string
	short  bool
}

// limitOfAll is what keeps a guest from memory that others have.
const limitOfAll = "the limit of all predicates together"

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory. The buffer doubles, so that a
// guest that grows page by page doesn't have it copied each time.
func (m *memory) Reallocate(size uint64) []byte {
	first := m.buf == nil
	if !first && size > m.limit { // also if it has as much already: another instance hasn't
		m.denied = "the limit of the predicate"
		return nil
	}
	if !first && size <= uint64(cap(m.buf)) {
		m.buf, m.denied = m.buf[:size], ""
		return m.buf
	}
	capacity := size
	if !first {
		capacity = max(size, min(2*uint64(cap(m.buf)), m.limit))
	}
	for capacity > m.reserved {
		if m.rt.reserve(capacity - m.reserved) {
			m.reserved = capacity
			break
		}
		if capacity == size {
			m.denied, m.short = limitOfAll, true
			return nil
		}
		capacity = size
	}
	buf := make([]byte, size, capacity)
	copy(buf, m.buf)
	m.buf, m.denied = buf, ""
	return m.buf
}

// Free implements experimental.LinearMemory. It may be called more than once.
func (m *memory) Free() {
	m.buf = nil
	if m.reserved > 0 {
		m.rt.budget.release(m.reserved)
		m.reserved = 0
	}
}
