package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ample is more fuel than any test uses.
const ample = 1 << 60

// engine is a runtime with the host functions that the core spec's modules import.
func engine(t testing.TB) wazero.Runtime {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(64))
	t.Cleanup(func() { _ = rt.Close(ctx) })
	b := rt.NewHostModuleBuilder("spectest")
	for name, params := range map[string][]api.ValueType{
		"print": {}, "print_i32": {api.ValueTypeI32}, "print_i64": {api.ValueTypeI64},
		"print_f32": {api.ValueTypeF32}, "print_f64": {api.ValueTypeF64},
		"print_i32_f32": {api.ValueTypeI32, api.ValueTypeF32}, "print_f64_f64": {api.ValueTypeF64, api.ValueTypeF64},
	} {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), params, nil).Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	return rt
}

// twin is one module, plain and rewritten.
type twin struct {
	plain, metered api.Module
	shift          int // WrittenShift
}

func (p twin) close() {
	for _, m := range []api.Module{p.plain, p.metered} {
		if m != nil {
			_ = m.Close(context.Background())
		}
	}
}

// start compiles and instantiates a binary.
func start(rt wazero.Runtime, binary []byte) (m api.Module, compiles bool, err error) {
	ctx := context.Background()
	compiled, err := rt.CompileModule(ctx, binary)
	if err != nil {
		return nil, false, err
	}
	defer compiled.Close(ctx)
	m, err = rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, true, err
	}
	if f := m.ExportedFunction(StartExport); f != nil {
		if _, err := f.Call(ctx); err != nil {
			_ = m.Close(ctx)
			return nil, true, err
		}
	}
	return m, true, nil
}

// outcome is what a call gives, without what may differ: which trap ended it.
func outcome(results []uint64, types []api.ValueType, err error) string {
	if err != nil {
		return "trap: " + cause(err)
	}
	for i, t := range types {
		if t == typeFuncref && results[i] != 0 { // an address
			results[i] = 1
		}
	}
	return fmt.Sprint(results)
}

func cause(err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err.Error()
}

// sections returns the binary without its custom sections, which aren't checked
// where they are dropped.
func withoutCustom(binary []byte) []byte {
	out := bytes.Clone(binary[:8])
	for c := (&coder{in: binary, pos: 8}); c.err == nil && c.left() > 0; {
		id, size := c.readByte(), c.readU32()
		if content := c.readBytes(size); id != sectionCustom {
			out = append(appendU32(append(out, id), size), content...)
		}
	}
	return out
}

// same fails if the plain and the metered module can't be told to be the same now.
func (p twin) same(t testing.TB, what string) {
	t.Helper()
	if !bytes.Equal(memory(p.plain), memory(p.metered)) {
		t.Fatalf("%s: memories differ", what)
	}
}

// beforeCall forgets what was written to, and returns what the memory is.
func (p twin) beforeCall() []byte {
	p.metered.ExportedGlobal(WrittenExport).(api.MutableGlobal).Set(0)
	return bytes.Clone(memory(p.metered))
}

// noted fails if a call has changed the memory where it isn't said to have.
func (p twin) noted(t testing.TB, what string, before []byte) {
	t.Helper()
	after := memory(p.metered)
	units := p.metered.ExportedGlobal(WrittenExport).Get()
	bit := func(at int) uint64 { return units >> (at >> p.shift % 64) & 1 }
	const chunk = 256
	for at := 0; at < len(before); at++ {
		if rest := min(chunk, len(before)-at); bytes.Equal(before[at:at+rest], after[at:at+rest]) {
			at += rest - 1
			continue
		}
		if before[at] != after[at] && bit(at)|bit(max(at-WrittenSlack, 0)) == 0 {
			t.Fatalf("%s: byte %#x has changed, units of %d bytes that are noted: %#x", what, at, 1<<p.shift, units)
		}
	}
}

// memory returns the content of a module's memory, nil without one.
func memory(m api.Module) []byte {
	mem := m.Memory()
	if reflect.ValueOf(mem).IsNil() { // a nil of the engine's own type
		return nil
	}
	content, _ := mem.Read(0, mem.Size())
	return content
}

// specDir is where the engine's module keeps the core spec's test-suite.
func specDir(t testing.TB) string {
	t.Helper()
	out, err := goList("github.com/tetratelabs/wazero")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(out), "internal", "integration_test", "spectest")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the engine's module no longer has the core spec's tests: %v", err)
	}
	return dir
}
