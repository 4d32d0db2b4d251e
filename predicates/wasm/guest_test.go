package wasm

import (
	"context"
	"testing"
)

func TestEvaluate(t *testing.T) {
	rt := newRuntime(t)
	g := guest(t, rt, "attached", Use{})
	for state, want := range map[string]Result{
		"Attached":         {Decision: Done},
		"AttachmentFailed": {Decision: Failed, Code: "Internal/AttachFailed", Message: "AttachmentFailed"},
		"Attaching":        {Decision: Pending, Message: "waiting for the disk"},
		"Attaches":         {Decision: Pending, Message: "waiting for the disk"},
	} {
		got, err := evaluate(t, g, map[string]any{"state": state})
		if err != nil {
			t.Fatal(err)
		}
		if got.Fuel == 0 {
			t.Error("no fuel was used")
		}
		if got.Fuel = 0; got != want {
			t.Errorf("%s gives %+v, want %+v", state, got, want)
		}
	}
	if got, err := g.Evaluate(context.Background(), &Document{}, false); err != nil || got.Decision != Pending || got.Message != "" {
		t.Errorf("without an object and words: %+v, %v", got, err)
	}
}

func TestValidate(t *testing.T) {
	rt := newRuntime(t)
	ctx := context.Background()
	if err := guest(t, rt, "attached", Use{Settings: map[string]any{"strict": true}}).Validate(ctx, nil); err != nil {
		t.Error(err)
	}
	err := guest(t, rt, "attached", Use{Settings: map[string]any{"strict": int64(1)}}).Validate(ctx, nil)
	if ReasonOf(err) != ValidationRefused {
		t.Errorf("got %v", err)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	rt := newRuntime(b)
	g := guest(b, rt, "attached", Use{})
	ctx := context.Background()
	d := &Document{Object: object(map[string]any{"state": "Attaching"})}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Evaluate(ctx, d, false); err != nil {
			b.Fatal(err)
		}
	}
}

// A context that has ended closes nothing: a guest is stopped by its fuel. (The engine's
// own way to stop one closes its module for good, and makes every loop slower.)
func TestEndedContextClosesNothing(t *testing.T) {
	g := guest(t, newRuntime(t, WithInstances(1)), "attached", Use{})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 3 {
		r, err := g.Evaluate(ended, &Document{Object: object(map[string]any{"state": "Attached"})}, false)
		if err != nil || r.Decision != Done {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}
