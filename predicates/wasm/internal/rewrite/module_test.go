package rewrite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

// run is a started, rewritten fixture.
type run struct {
	api.Module
	*Rewritten
}

func rewritten(t *testing.T, name string) run {
	t.Helper()
	r, err := Module(fixture.Read(t, "testdata/"+name+".wasm"), 1_000)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := start(engine(t), r.Binary)
	if err != nil {
		t.Fatal(err)
	}
	return run{m, r}
}

// call returns the results and how much fuel is left of what there was.
func (r run) call(t *testing.T, fuel int64, name string, args ...uint64) ([]uint64, int64, error) {
	t.Helper()
	meter := r.ExportedGlobal(FuelExport).(api.MutableGlobal)
	meter.Set(uint64(fuel))
	results, err := r.ExportedFunction(name).Call(context.Background(), args...)
	return results, int64(meter.Get()), err
}

// TestFuelUsed pins what things cost, by the weights.
func TestFuelUsed(t *testing.T) {
	const fuel = 10_000_000
	for _, c := range []struct {
		module, name string
		args         []uint64
		want         int64
	}{
		{"arithmetic", "add", []uint64{1, 2}, 4},            // get, get, add, end
		{"arithmetic", "divide", []uint64{9, 2}, 1 + 1 + 9}, // get, get, div_s, end
		// Function: loop, get, end. Outer loop: itself, 2 to clear j, loop, 4 for i,
		// 4 of the branch, end. Inner loop: itself, 4 + 4, branch of 4, end.
		{"arithmetic", "loops", []uint64{1}, 3 + 13 + 14},
		{"arithmetic", "loops", []uint64{10}, 3 + 10*13 + 100*14},
		{"bulk", "size", nil, 2},
		{"bulk", "grow", []uint64{1}, 1 + weightHost + 1},
		{"bulk", "fill", []uint64{0, 7, 0}, 3 + 8 + 1},
		{"bulk", "fill", []uint64{0, 7, 65536}, 3 + 8 + 1 + 8192},
		{"bulk", "copy", []uint64{0, 7, 65536}, 3 + 8 + 1 + 8192},
		{"bulk", "init", []uint64{0, 0, 12}, 3 + 8 + 1 + 1},
		{"bulk", "table_init", []uint64{0, 0, 2}, 3 + 8 + 1 + 2},
		{"bulk", "table_fill", []uint64{0, 8}, 3 + weightHost - 1 + 8 + 1 + 8},
		{"bulk", "table_copy", []uint64{0, 4, 4}, 3 + 8 + 1 + 4},
		{"recursion", "down", []uint64{0}, 12},
		{"recursion", "down", []uint64{9}, 10 * 12},
		{"recursion", "tree", []uint64{3}, 15 * 12},
	} {
		_, left, err := rewritten(t, c.module).call(t, fuel, c.name, c.args...)
		if err != nil || fuel-left != c.want {
			t.Errorf("%s.%s%v uses %d units of fuel, %v; want %d", c.module, c.name, c.args, fuel-left, err, c.want)
		}
	}
}

// TestMemoryWeight: what can miss every cache costs more.
func TestMemoryWeight(t *testing.T) {
	for memory, want := range map[string]int64{
		"\x01\x00\x01":     1 + 1 + 4 + 1 + 1, // a page, never more
		"\x01\x00\x10":     1 + 1 + 4 + 1 + 1,
		"\x01\x00\x11":     1 + 1 + 16 + 1 + 1,
		"\x01\x01\x01\x10": 1 + 1 + 4 + 1 + 1,
	} {
		for grow, more := range map[string]int64{"": 0, "\x41\x00\x40\x00\x1a": weightHost + 2} {
			want := want
			if more > 0 && len(memory) == 3 { // without a maximum
				want = 1 + 1 + 16 + 1 + 1
			}
			code := "\x00\x41\x00\x41\x00\x28\x00\x00\x1a\x1a" + grow + "\x0b"
			binary := module(
				sectionType, "\x01\x60\x00\x00", sectionFunction, "\x01\x00", sectionMemory, memory,
				sectionExport, "\x01\x01f\x00\x00", sectionCode, "\x01"+string(appendU32(nil, uint32(len(code))))+code)
			r, err := Module(binary, 0)
			if err != nil {
				t.Fatal(err)
			}
			m, _, err := start(engine(t), r.Binary)
			if err != nil {
				t.Fatal(err)
			}
			if _, left, err := (run{m, r}).call(t, 1_000, "f"); err != nil || 1_000-left != want+more+1 {
				t.Errorf("memory % x, code % x: %d units, %v; want %d", memory, code, 1_000-left, err, want+more+1)
			}
		}
	}
}

// TestOutOfFuel holds that a guest stops with one unit too little, that it is told
// by a negative meter, and that nothing has happened by then.
func TestOutOfFuel(t *testing.T) {
	for _, c := range []struct {
		module, name string
		args         []uint64
		needs        int64
	}{
		{"arithmetic", "add", []uint64{1, 2}, 4},
		{"arithmetic", "loops", []uint64{10}, 3 + 10*13 + 100*14},
		{"recursion", "tree", []uint64{40}, 1_000_001},
		{"bulk", "fill", []uint64{0, 7, 65536}, 3 + 8 + 1 + 8192},
		{"bulk", "fill", []uint64{0, 7, 1<<32 - 1}, 3 + 8 + 1 + 1<<29 - 1}, // out of bounds as well
		{"bulk", "table_copy", []uint64{0, 0, 1<<32 - 1}, 3 + 8 + 1 + 1<<32 - 1},
	} {
		m := rewritten(t, c.module)
		_, left, err := m.call(t, c.needs-1, c.name, c.args...)
		if err == nil || left >= 0 {
			t.Errorf("%s.%s%v with a unit too little: %v, %d left", c.module, c.name, c.args, err, left)
		}
		if c.name == "fill" {
			if b, _ := m.Memory().ReadByte(0); b != 0 {
				t.Error("memory was filled on credit")
			}
		}
	}
	if _, left, err := rewritten(t, "arithmetic").call(t, 4, "add", 1, 2); err != nil || left != 0 {
		t.Errorf("with the last unit: %v, %d left", err, left)
	}
}

// TestStartIsMetered: the fuel that Module is given is what the start function has.
func TestStartIsMetered(t *testing.T) {
	binary := fixture.Read(t, "testdata/state.wasm")
	for fuel, want := range map[int64]bool{2: false, 3: true} {
		r, err := Module(binary, fuel)
		if err != nil {
			t.Fatal(err)
		}
		if _, compiles, err := start(engine(t), r.Binary); (err == nil) != want || !compiles {
			t.Errorf("started with %d units: %v", fuel, err)
		}
	}
}

func TestWhatIsKnown(t *testing.T) {
	m := rewritten(t, "state")
	if !m.HasStart || !m.Stateful || m.MinPages != 0 {
		t.Errorf("state: start %t, stateful %t, %d pages", m.HasStart, m.Stateful, m.MinPages)
	}
	if want := []string{"__dw_global_0", "__dw_global_2"}; !slices.Equal(m.Globals, want) {
		t.Errorf("globals are %v, want %v", m.Globals, want)
	}
	if _, _, err := m.call(t, 100, "next"); err != nil {
		t.Fatal(err)
	}
	if got := m.ExportedGlobal("__dw_global_0").Get(); got != 11 {
		t.Errorf("the global is %d after one call", got)
	}
	m.ExportedGlobal("__dw_global_0").(api.MutableGlobal).Set(41)
	if got, _, err := m.call(t, 100, "next"); err != nil || got[0] != 42 {
		t.Errorf("after putting 41 back the next is %v, %v", got, err)
	}

	m = rewritten(t, "bulk")
	if m.HasStart || !m.Stateful || m.MinPages != 2 {
		t.Errorf("bulk: start %t, stateful %t, %d pages", m.HasStart, m.Stateful, m.MinPages)
	}
	if len(m.Because) < 3 || !slices.Contains(m.Because, "table.grow") {
		t.Errorf("bulk is stateful because of %v", m.Because)
	}
	if got, _, err := m.call(t, 1_000, "table_grow", MaxTable-8); err != nil || got[0] != 8 {
		t.Errorf("growing a table to the limit gives %v, %v", got, err)
	}
	if got, _, err := m.call(t, 1_000, "table_grow", 1); err != nil || got[0] != 1<<32-1 {
		t.Errorf("growing a table beyond the limit gives %v, %v", got, err)
	}
	for name, want := range map[string]string{"add": "func (i32, i32) -> i32", "swap": "func (i32, i64) -> (i64, i32)"} {
		i := slices.IndexFunc(rewritten(t, "arithmetic").Exports, func(e Extern) bool { return e.Name == name })
		if got := rewritten(t, "arithmetic").Exports[i].Type; got != want {
			t.Errorf("%s is a %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"arithmetic", "recursion", "vector"} {
		if m := rewritten(t, name); m.Stateful {
			t.Errorf("%s is stateful", name)
		}
	}
}

// module assembles a module from sections: number and content.
func module(sections ...any) []byte {
	out := append(slices.Clone(magic), version...)
	for i := 0; i < len(sections); i += 2 {
		content := []byte(sections[i+1].(string))
		out = append(appendU32(append(out, byte(sections[i].(int))), uint32(len(content))), content...)
	}
	return out
}

// body is a module with one function () -> () of that code and one global.
func body(code string) []byte {
	code = "\x00" + code
	return module(
		sectionType, "\x01\x60\x00\x00", sectionFunction, "\x01\x00", sectionMemory, "\x01\x00\x01",
		sectionGlobal, "\x01\x7e\x01\x42\x00\x0b", sectionExport, "\x01\x01f\x00\x00",
		sectionCode, "\x01"+string(appendU32(nil, uint32(len(code))))+code)
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		binary []byte
		want   string
	}{
		"nothing":           {nil, "no WebAssembly module"},
		"text":              {[]byte("(module)"), `doesn't begin with \0asm`},
		"component":         {[]byte("\x00asm\x0d\x00\x01\x00"), "a component, not a core module"},
		"version 2":         {[]byte("\x00asm\x02\x00\x00\x00"), "version 02 00 00 00"},
		"cut":               {body("\x0b")[:30], "bytes are announced"},
		"section unknown":   {module(14, ""), "a section 14 where it can't be"},
		"section twice":     {module(sectionType, "\x00", sectionType, "\x00"), "a section 1 where it can't be"},
		"section order":     {module(sectionExport, "\x00", sectionGlobal, "\x00"), "a section 6 where it can't be"},
		"section too long":  {module(sectionType, "\x00\x00"), "1 bytes too many in the section"},
		"tags":              {module(13, "\x00"), "a section 13 where it can't be"},
		"types by the lot":  {module(sectionType, "\xff\xff\xff\xff\x0f"), "4294967295 types, at most 10000"},
		"types from naught": {module(sectionType, "\x05\x60"), "5 types are announced in 1 bytes"},
		"recursive types":   {module(sectionType, "\x01\x4e\x01\x60\x00\x00"), "the form of a type is 0x4e"},
		"typed references":  {module(sectionType, "\x01\x60\x01\x64\x00\x00"), "unknown value type 0x64"},
		"long number":       {module(sectionType, "\x80\x80\x80\x80\x80\x00"), "a number of more than 32 bits"},
		"big number":        {module(sectionType, "\x80\x80\x80\x80\x10"), "a number of more than 32 bits"},
		"shared memory":     {module(sectionMemory, "\x01\x03\x01\x01"), "a shared memory is not supported"},
		"64-bit memory":     {module(sectionMemory, "\x01\x04\x01"), "a memory of 64 bits is not supported"},
		"two memories":      {module(sectionMemory, "\x02\x00\x01\x00\x01"), "2 memories, at most 1"},
		"big table":         {module(sectionTable, "\x01\x70\x00\x80\x80\x08"), "a table of 131072 entries"},
		"imported memory":   {module(sectionImport, "\x01\x03env\x01m\x02\x00\x01"), "only functions can be imported, not env.m memory"},
		"imported global":   {module(sectionImport, "\x01\x03env\x01g\x03\x7f\x01"), "not env.g global"},
		"imported table":    {module(sectionImport, "\x01\x03env\x01t\x01\x70\x00\x01"), "not env.t table"},
		"imported tag":      {module(sectionImport, "\x01\x03env\x01t\x04\x00\x00"), "unknown kind 4 of import"},
		"no UTF-8":          {module(sectionImport, "\x01\x01\xff\x01m\x02\x00\x01"), "a name that is no UTF-8"},
		"reserved export":   {module(sectionMemory, "\x01\x00\x01", sectionExport, "\x01\x09__dw_fuel\x02\x00"), `"__dw_fuel": names that begin with __dw_ are reserved`},
		"command":           {module(sectionType, "\x01\x60\x00\x00", sectionFunction, "\x01\x00", sectionExport, "\x01\x06_start\x00\x00", sectionCode, "\x01\x02\x00\x0b"), "a command module, it exports _start"},
		"the meter, exported": {
			module(sectionGlobal, "\x01\x7e\x01\x42\x00\x0b", sectionExport, "\x01\x01g\x03\x01"), "there is no global 1",
		},
		"the meter, read":         {body("\x23\x01\x1a\x0b"), "there is no global 1"},
		"the meter, written":      {body("\x42\x00\x24\x01\x0b"), "there is no global 1"},
		"the meter's local":       {body("\x42\x00\x21\x00\x0b"), "there is no local 0"},
		"a branch out of nothing": {body("\x0c\x01\x0b"), "a branch out of 2 blocks, of which there are 1"},
		"a table of branches":     {body("\x41\x00\x0e\x01\x00\x01\x0b"), "a branch out of 2 blocks, of which there are 1"},
		"the meter, in a segment": {module(sectionMemory, "\x01\x00\x01", sectionData, "\x01\x00\x23\x00\x0b\x00"), "there is no global 0"},
		"throw":                   {body("\x08\x00\x0b"), "unknown opcode 0x8"},
		"try_table":               {body("\x1f\x40\x00\x0b\x0b"), "unknown opcode 0x1f"},
		"tail call":               {body("\x12\x00\x0b"), "unknown opcode 0x12"},
		"call_ref":                {body("\x14\x00\x0b"), "unknown opcode 0x14"},
		"atomics":                 {body("\xfe\x03\x00\x0b"), "unknown opcode 0xfe"},
		"misc 18":                 {body("\xfc\x12\x0b"), "unknown opcode 0xfc 18"},
		"misc 256":                {body("\xfc\x80\x02\x0b"), "unknown opcode 0xfc 256"},
		"vector hole":             {body("\xfd\x9a\x01\x0b"), "unknown opcode 0xfd 0x9a"},
		"relaxed vector":          {body("\xfd\x80\x02\x0b"), "the second byte of a vector opcode is 0x2"},
		"long vector opcode":      {body("\xfd\x8c\x00\x0b"), "the second byte of a vector opcode is 0x0"},
		"another memory":          {body("\x3f\x01\x1a\x0b"), "the memory is 0x1"},
		"block of no type":        {body("\x02\x05\x0b\x0b"), "there is no type 5"},
		"block of what":           {body("\x02\x68\x0b\x0b"), "unknown type 0x68 of a block"},
		"code behind the end":     {body("\x0b\x01"), "1 bytes too many in the function"},
		"no end":                  {body("\x01"), "unexpected end"},
		"locals by the lot":       {module(sectionType, "\x01\x60\x00\x00", sectionFunction, "\x01\x00", sectionCode, "\x01\x08\x01\xff\xff\xff\xff\x0f\x7f\x0b"), "more than 50000 locals"},
		"function without code":   {module(sectionType, "\x01\x60\x00\x00", sectionFunction, "\x01\x00"), "1 functions without code"},
		"code without function":   {module(sectionCode, "\x01\x02\x00\x0b"), "0 functions, but 1 with code"},
		"data by the lot":         {module(sectionMemory, "\x01\x00\x01", sectionData, "\x01\x00\x41\x00\x0b\xff\xff\xff\xff\x0f"), "4294967295 bytes are announced, 0 are left"},
	} {
		_, err := Module(c.binary, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestImportErrorListsAll(t *testing.T) {
	_, err := Module(module(
		sectionType, "\x01\x60\x01\x7f\x01\x7e",
		sectionImport, "\x02\x03env\x01m\x02\x00\x01\x03env\x05abort\x00\x00"), 0)
	var imports *ImportError
	if !errors.As(err, &imports) || len(imports.Imports) != 2 || imports.Imports[1].String() != "env.abort func (i32) -> i64" {
		t.Errorf("got %v", err)
	}
}
