package wasm

import (
	"context"
	"math"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// TestMemoryLimitIsExact: what the allocator has set aside for later is no more than
// the predicate may have.
func TestMemoryLimitIsExact(t *testing.T) {
	for pages, want := range map[int64]Decision{3: Pending, 4: Done} {
		g := guest(t, newRuntime(t), "grown", Use{Limits: Limits{Memory: pages * rewrite.PageSize}})
		for range 3 { // with instances of both kinds: the first one, and others made of it
			got, err := evaluate(t, g, nil)
			if err != nil || got.Decision != want {
				t.Errorf("with a limit of %d pages: %v, %v; want %v", pages, got.Decision, err, want)
			}
		}
	}
}

// TestNoVerdictForWantOfOthersMemory: a guest that takes a refusal to grow calmly would
// give another verdict, as long as others have the memory.
func TestNoVerdictForWantOfOthersMemory(t *testing.T) {
	g := guest(t, newRuntime(t, WithTotalMemory(3*rewrite.PageSize)), "grown", Use{})
	if got, err := evaluate(t, g, nil); ReasonOf(err) != MemoryLimit {
		t.Errorf("a fourth page of three: %v, %v", got, err)
	}
}

// TestNoStartForWantOfOthersMemory: all later instances would begin as the first one,
// with less than it wanted.
func TestNoStartForWantOfOthersMemory(t *testing.T) {
	rt := newRuntime(t, WithTotalMemory(4*rewrite.PageSize))
	big := guest(t, rt, "attached", Use{})
	i, err := big.module.pool.acquire(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if !rt.reserve(rewrite.PageSize) {
		t.Fatal("no room")
	}
	m, err := rt.Load(context.Background(), fixture.Read(t, "testdata/grown.wasm"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Guest(context.Background(), Use{}); ReasonOf(err) != MemoryLimit {
		t.Errorf("a third page of two: %v", err)
	}
	rt.budget.release(rewrite.PageSize)
	big.module.pool.release(i, false)
	g, err := m.Guest(context.Background(), Use{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := evaluate(t, g, nil); err != nil || got.Decision != Done {
		t.Errorf("once there is room: %v, %v", got, err)
	}
}

// TestDocumentIsThatOfTheCall: what a guest was given when it started isn't given again.
func TestDocumentIsThatOfTheCall(t *testing.T) {
	g := guest(t, newRuntime(t), "early", Use{})
	for range 2 {
		got, err := g.Evaluate(context.Background(), &Document{Params: map[string]any{"a": "b"}}, true)
		if want := `{"params":{"a":"b"}}`; err != nil || got.Message != want {
			t.Errorf("the document is %q, %v; want %q", got.Message, err, want)
		}
	}
}

// TestInterruptedIsNotUsedAgain: a host function that can't give what it was asked for
// ends the guest in the midst of its calls.
func TestInterruptedIsNotUsedAgain(t *testing.T) {
	g := guest(t, newRuntime(t), "nested", Use{})
	for range 3 {
		_, err := g.Evaluate(context.Background(), &Document{Params: map[string]any{"x": math.NaN()}}, true)
		if ReasonOf(err) != GuestError {
			t.Fatalf("a number that isn't one: %v", err)
		}
		i, err := g.module.pool.acquire(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if room := i.room.Get(); room != rewrite.StackWords {
			t.Errorf("an instance has room for %d words on the stack, not %d", room, rewrite.StackWords)
		}
		g.module.pool.release(i, true)
	}
}
