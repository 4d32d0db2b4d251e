package rewrite

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// recursive is a module whose function f calls itself without an end: params and
// results are of one type, and the code comes before and after the call.
func recursive(params, results int, locals, before, after string) []byte {
	list := func(n int) string { return string(appendU32(nil, uint32(n))) + strings.Repeat("\x7e", n) }
	code := locals + before + "\x10\x00" + after + "\x0b"
	start := "\x00" + strings.Repeat("\x42\x01", params) + "\x10\x00" + strings.Repeat("\x1a", results) + "\x0b"
	sized := func(s string) string { return string(appendU32(nil, uint32(len(s)))) + s }
	return module(
		sectionType, "\x02\x60"+list(params)+list(results)+"\x60\x00\x00", sectionFunction, "\x02\x00\x01",
		sectionMemory, "\x01\x00\x01", sectionExport, "\x01\x01f\x00\x01",
		sectionCode, "\x02"+sized(code)+sized(start))
}

// local writes an instruction about a local.
func local(op byte, i int) string { return string(appendU32([]byte{op}, uint32(i))) }

// TestDepthIsBounded: however a guest fills the native stack, it has a bound.
func TestDepthIsBounded(t *testing.T) {
	const n = 800
	each := func(f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	load := "\x41\x00\x29\x00\x00" // i64.load of address 0
	locals := "\x01" + string(appendU32(nil, n)) + "\x7e"
	set := each(func(i int) string { return load + local(0x21, i) })
	sum := each(func(i int) string { return local(opLocalGet, i) + "\x7c" })
	get := each(func(i int) string { return local(opLocalGet, i) })
	// Every local changes in the innermost of nested conditions.
	conditions := strings.Repeat("\x41\x00\x28\x00\x00\x04\x40", 40) + set + strings.Repeat("\x0b", 40)
	// A vector for each local, all of them kept over the call.
	vectors := "\x01" + string(appendU32(nil, n)) + "\x7b"
	setVectors := each(func(i int) string { return "\x41\x00\xfd\x00\x00\x00" + local(0x21, i) })
	sumVectors := each(func(i int) string { return local(opLocalGet, i) + "\xfd\x1d\x00\x7c" })
	// A loop changes each local, and so does one around it.
	loops := strings.Repeat("\x03\x40", 20) + each(func(i int) string {
		return local(opLocalGet, i) + "\x42\x01\x7c" + local(0x21, i)
	}) + strings.Repeat("\x41\x00\x28\x00\x00\x0d\x00\x0b", 20)
	for name, binary := range map[string][]byte{
		"nothing":    recursive(0, 1, "\x00", "", "\x42\x01\x7c"),
		"values":     recursive(0, 1, "\x00", strings.Repeat(load, n), strings.Repeat("\x7c", n)),
		"locals":     recursive(0, 1, locals, set, sum),
		"params":     recursive(n, 1, "\x00", get, sum),
		"results":    recursive(0, n, "\x00", "", ""),
		"vectors":    recursive(0, 1, vectors, setVectors, sumVectors),
		"loops":      recursive(0, 1, locals, set+loops, sum),
		"conditions": recursive(0, 1, locals, set+conditions, sum),
	} {
		r, err := Module(binary, ample)
		if err != nil {
			t.Fatal(name, err)
		}
		m, _, err := start(engine(t), r.Binary)
		if err != nil {
			t.Fatal(name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = m.ExportedFunction("f").Call(context.Background())
		runtime.ReadMemStats(&after)
		left := int64(m.ExportedGlobal(StackExport).(api.MutableGlobal).Get())
		// The stack doubles, so that all its sizes together are twice the last.
		used := (after.TotalAlloc - before.TotalAlloc) / 2
		t.Logf("%s: a stack of %d KiB, %v", name, used>>10, cause(err))
		if err == nil || left >= 0 {
			t.Errorf("%s: %v, with room for %d words left", name, err, left)
		}
		if used > 5<<20 {
			t.Errorf("%s: the stack had %d KiB", name, used>>10)
		}
	}
}
