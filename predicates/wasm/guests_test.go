package wasm

import (
	"context"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// attachment returns the guest in C.
func attachment(t testing.TB, rt *Runtime) *Guest {
	t.Helper()
	m, err := rt.Load(context.Background(), fixture.C(t, "testdata/guests/attachment.c"), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	g, err := m.Guest(context.Background(), Use{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func withLUN(state string, lun any) map[string]any {
	return map[string]any{"state": state, "detail": map[string]any{"role": "Primary", "publish_context": map[string]any{"LUN": lun}}}
}

func TestAttachmentInC(t *testing.T) {
	g := attachment(t, newRuntime(t))
	for _, c := range []struct {
		state string
		lun   any
		want  Result
	}{
		{"Attached", "3", Result{Decision: Done}},
		{"Attached", "63", Result{Decision: Done}},
		{"Attached", int64(3), Result{Decision: Done}},
		{"Attached", "/dev/disk/azure/scsi1/lun3", Result{Decision: Done}},
		{"Attached", "64", Result{Decision: Failed, Code: "Internal/LUNInvalid", Message: "the LUN is neither a number below 64 nor a device path"}},
		{"Attached", "03", Result{Decision: Failed, Code: "Internal/LUNInvalid", Message: "the LUN is neither a number below 64 nor a device path"}},
		{"Attached", "/dev/", Result{Decision: Failed, Code: "Internal/LUNInvalid", Message: "the LUN is neither a number below 64 nor a device path"}},
		{"Attached", "", Result{Decision: Failed, Code: "Internal/LUNMissing", Message: "the attachment is complete but has no LUN"}},
		{"Attached", nil, Result{Decision: Failed, Code: "Internal/LUNMissing", Message: "the attachment is complete but has no LUN"}},
		{"AttachmentFailed", "3", Result{Decision: Failed, Code: "Internal/AttachFailed", Message: "attaching failed"}},
		{"Attaching", "3", Result{Decision: Pending, Code: "Attaching", Message: "the disk isn't attached yet"}},
	} {
		got, err := evaluate(t, g, withLUN(c.state, c.lun))
		if err != nil {
			t.Fatal(err)
		}
		if got.Fuel = 0; got != c.want {
			t.Errorf("%s, LUN %v: %+v, want %+v", c.state, c.lun, got, c.want)
		}
	}
}

// TestCostBesideBareCall holds an evaluation with all around it against the call of
// the same function alone, in one run: the ratio doesn't depend on the machine.
func TestCostBesideBareCall(t *testing.T) {
	g := attachment(t, newRuntime(t))
	ctx := context.Background()
	d := &Document{Object: object(withLUN("Attached", "3"))}
	i, err := g.module.pool.acquire(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 20_000
	best := 1e9
	for range 3 {
		start := cpuTime()
		for range rounds {
			i.call.begin(ctx, 0)
			i.call.object = g.module.rt.plans.Object(d.Object, nil)
			if _, e := i.run(i.evaluate, "", DefaultFuel); e != nil {
				t.Fatal(e)
			}
		}
		bare := cpuTime() - start
		start = cpuTime()
		for range rounds {
			if _, err := g.Evaluate(ctx, d, false); err != nil {
				t.Fatal(err)
			}
		}
		whole := cpuTime() - start
		t.Logf("bare call %v, evaluation with reset %v of cpu time", bare/rounds, whole/rounds)
		best = min(best, float64(whole)/float64(bare))
	}
	g.module.pool.release(i, true)
	if best > 8 {
		t.Errorf("an evaluation costs %.1f times its bare call", best)
	}
}
