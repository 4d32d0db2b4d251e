package engine

import (
	"testing"
	"unsafe"
)

// An object and its first waiter are a size class of the allocator, five cache
// lines: one word more, and each takes 32 bytes more and straddles a sixth.
func TestMemory_AnObjectWithItsWaiterIsFiveCacheLines(t *testing.T) {
	if size := unsafe.Sizeof(object{}); size > 320 {
		t.Errorf("%d bytes, want at most 320", size)
	}
}
