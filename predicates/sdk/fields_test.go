package sdk_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm"
)

// probes are the sources of the guests that read what they are told to.
var probes = map[string]string{"c": "probe.c", "rust": "probe.rs", "assemblyscript": "probe.ts", "go": "go"}

// missing is what a probe says of a field that isn't as it was asked for.
const missing = "-"

// fields are what probes read: the status of the object is status.
var (
	status = map[string]any{
		"text": "grün ☃ \"q\" \\", "empty": "", "long": strings.Repeat("ä", 1500),
		"yes": true, "no": false, "null": nil,
		"int": int64(42), "minus": int64(-7), "largest": int64(math.MaxInt64), "smallest": int64(math.MinInt64),
		"half": 0.5, "list": []any{int64(1), "a"}, "map": map[string]any{"k": "v"},
		"disk.csi.azure.com/a~b": "escaped",
		"conditions":             []any{map[string]any{"type": "Ready", "status": "True"}},
	}
	fields = []struct{ as, path, want string }{
		{"string", "/object/status/text", "grün ☃ \"q\" \\"},
		{"string", "/object/status/empty", ""},
		{"string", "/object/status/int", missing},
		{"string", "/object/status/map", missing},
		{"string", "/object/status/null", missing},
		{"string", "/object/status/absent", missing},
		{"string", "/object/status/disk.csi.azure.com~1a~0b", "escaped"},
		{"string", "/object/status/conditions/[type=Ready]/status", "True"},
		{"string", "/object/status/conditions/[type=Other]/status", missing},
		{"string", "/params/as", "string"},
		{"string", "/settings/mode", "strict"},
		{"bool", "/object/status/yes", "true"},
		{"bool", "/object/status/no", "false"},
		{"bool", "/object/status/text", missing},
		{"bool", "/object/status/absent", missing},
		{"int", "/object/status/int", "42"},
		{"int", "/object/status/minus", "-7"},
		{"int", "/object/status/largest", "9223372036854775807"},
		{"int", "/object/status/smallest", "-9223372036854775808"},
		{"int", "/object/status/half", missing},
		{"int", "/object/status/text", missing},
		{"int", "/object/status/absent", missing},
		{"int", "/settings/one", "1"},
		{"float", "/object/status/text", missing},
		{"float", "/object/status/absent", missing},
		{"float", "/object/status/yes", missing},
		{"float", "/object/status/int", bitsOf(42)},
		{"has", "/object/status/text", "there"},
		{"has", "/object/status/no", "there"},
		{"has", "/object/status/null", missing},
		{"has", "/object/status/absent", missing},
		{"type", "/object/status/absent", "0"},
		{"type", "/object/status/null", "1"},
		{"type", "/object/status/yes", "2"},
		{"type", "/object/status/int", "3"},
		{"type", "/object/status/half", "4"},
		{"type", "/object/status/text", "5"},
		{"type", "/object/status/list", "6"},
		{"type", "/object/status/map", "7"},
		{"json", "/object/status/list", `[1,"a"]`},
		{"json", "/object/status/map", `{"k":"v"}`},
		{"json", "/object/status/half", "0.5"},
		{"json", "/object/status/text", "grün ☃ \"q\" \\"},
		{"json", "/object/status/absent", missing},
		{"log", "", missing},
	}
	// more are for some languages only.
	more = map[string][]struct{ as, path, want string }{
		"c":              {{"short", "/object/status/text", missing}, {"short", "/settings/mode", "strict"}},
		"rust":           {{"short", "/object/status/text", missing}, {"short", "/settings/mode", "strict"}},
		"assemblyscript": {{"escape", "a/b~c", "a~1b~0c"}},
		"go":             {{"escape", "a/b~c", "a~1b~0c"}},
	}
	crashes = map[string]string{
		"rust":           "it wrote: panicked at testdata/probe/probe.rs:",
		"assemblyscript": "it wrote: abort: it crashes at predicates/sdk/testdata/probe/probe.ts:",
		"go":             "it wrote: panic: it crashes",
	}
)

func bitsOf(f float64) string { return strconv.FormatInt(int64(math.Float64bits(f)), 10) }

// floats are where reading decimal numbers goes wrong, and some at random.
func floats() []float64 {
	list := []float64{
		0.1, -1.25, 1e22, 1e23, 9007199254740993, 3.141592653589793, 1.7976931348623157e308, 5e-324, 8.41e21,
		2.2250738585072014e-308, 2.225073858507201e-308, 4.4501477170144023e-308, 123456.789e-30, 1e-7, 0.3, 6.02214076e23,
	}
	random := rand.New(rand.NewPCG(1, 2))
	for len(list) < 1_000 {
		if f := math.Float64frombits(random.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			list = append(list, f)
		}
	}
	return list
}

// TestSDK holds that every SDK reads every type of field, says every verdict, and
// leaves word when it crashes.
func TestSDK(t *testing.T) {
	for language, source := range probes {
		t.Run(language, func(t *testing.T) {
			module := load(t, build(t, language, "testdata/probe/"+source))
			guest := use(t, module, map[string]any{"mode": "strict", "one": int64(1)})
			ask := func(status map[string]any, as, path string) (wasm.Result, error) {
				return guest.Evaluate(context.Background(), &wasm.Document{Object: attachment(status), Params: map[string]any{"as": as, "path": path}}, true)
			}
			read := func(status map[string]any, as, path, want string) {
				t.Helper()
				switch got, err := ask(status, as, path); {
				case err != nil:
					t.Errorf("%s %s: %v", as, path, err)
				case want == missing && (got.Decision != wasm.Pending || got.Code != "Missing"):
					t.Errorf("%s %s gives %+v, want nothing", as, path, got)
				case want != missing && (got.Decision != wasm.Done || got.Message != want):
					t.Errorf("%s %s gives %+v, want %q", as, path, got, want)
				}
			}
			for _, f := range append(fields, more[language]...) {
				read(status, f.as, f.path, f.want)
			}
			for _, f := range floats() {
				read(map[string]any{"f": f}, "float", "/object/status/f", bitsOf(f))
			}
			read(map[string]any{"f": int64(math.MaxInt64)}, "float", "/object/status/f", bitsOf(math.MaxInt64))
			// The host cuts messages, not the SDK.
			if got, err := ask(status, "string", "/object/status/long"); err != nil || got.Message != strings.Repeat("ä", 512) {
				t.Errorf("a long string gives %+v, %v", got, err)
			}

			if got, err := ask(nil, "failed", ""); err != nil || got.Decision != wasm.Failed || got.Code != "NotFound/DiskMissing" || got.Message != "no such disk" {
				t.Errorf("failed gives %+v, %v", got, err)
			}
			if _, err := ask(nil, "cannot", ""); wasm.ReasonOf(err) != wasm.GuestError || !strings.Contains(err.Error(), "it makes no sense") {
				t.Errorf("cannot judge gives %v", err)
			}
			if want, ok := crashes[language]; ok {
				if _, err := ask(nil, "crash", ""); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("a crash gives %v, want %s", err, want)
				}
			}
			if err := guest.Validate(context.Background(), nil); err != nil {
				t.Error(err)
			}
			err := guest.Validate(context.Background(), map[string]any{"bad": "x"})
			if wasm.ReasonOf(err) != wasm.ValidationRefused || !strings.Contains(err.Error(), "bad is there") {
				t.Errorf("bad params give %v", err)
			}
		})
	}
}
