package rewrite

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

func goList(module string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	return string(out), err
}

// script is one file of the core spec's test-suite, in wabt's JSON form.
type script struct {
	Commands []struct {
		Type, Filename, Name string
		Line                 int
		Action               struct {
			Type, Field, Module string
			Args                []value
		}
	}
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    json.RawMessage
}

// words returns the value as the engine takes it.
func (v value) words(t *testing.T) []uint64 {
	if v.Type != "v128" {
		var s string
		if err := json.Unmarshal(v.Value, &s); err != nil {
			t.Fatal(err)
		}
		if s == "null" {
			return []uint64{0}
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if v.Type == "externref" {
			n++
		}
		return []uint64{n}
	}
	var lanes []string
	if err := json.Unmarshal(v.Value, &lanes); err != nil {
		t.Fatal(err)
	}
	words, bits := make([]uint64, 2), 128/len(lanes)
	for i, lane := range lanes {
		n, err := strconv.ParseUint(lane, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		words[i*bits/64] |= n << (i * bits % 64)
	}
	return words
}

// TestSpecModules runs the core spec's modules plain and rewritten: what the
// engine accepts it accepts of both, and every call gives the same.
func TestSpecModules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(specDir(t), "v[12]", "testdata", "*.json"))
	if err != nil || len(files) < 200 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var total counts
	for _, file := range files {
		total.add(runScript(t, file))
	}
	t.Logf("%+v", total)
	// As many as of the version in go.mod; a decoder that refuses what it should
	// know lowers them.
	if total.modules < 2_000 || total.calls < 60_000 || total.refused > 250 {
		t.Errorf("too little was compared: %+v", total)
	}
}

// counts says how much was compared: modules that run, those that the rewriter
// refuses though the engine doesn't (imports of other things than functions), and
// calls.
type counts struct{ modules, refused, invalid, calls, traps int }

func (c *counts) add(d counts) {
	c.modules += d.modules
	c.refused += d.refused
	c.invalid += d.invalid
	c.calls += d.calls
	c.traps += d.traps
}

func runScript(t *testing.T, file string) (n counts) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	plain, metered := engine(t), engine(t)
	named := map[string]twin{}
	var current twin
	for _, c := range s.Commands {
		at := filepath.Base(file) + ":" + strconv.Itoa(c.Line)
		switch c.Type {
		case "module", "assert_invalid", "assert_malformed", "assert_uninstantiable":
			current = twin{}
			if filepath.Ext(c.Filename) != ".wasm" {
				continue
			}
			binary, err := os.ReadFile(filepath.Join(filepath.Dir(file), c.Filename))
			if err != nil {
				t.Fatal(err)
			}
			rewritten, err := Module(binary, ample)
			if err != nil {
				if c.Type == "module" {
					n.refused++
				}
				continue
			}
			current = startTwin(t, at, plain, metered, withoutCustom(binary), rewritten)
			if current.plain == nil {
				n.invalid++
				continue
			}
			n.modules++
			if c.Name != "" {
				named[c.Name] = current
			}
		case "assert_return", "assert_trap", "action":
			m := current
			if c.Action.Module != "" {
				m = named[c.Action.Module]
			}
			if m.plain == nil || c.Action.Type != "invoke" {
				continue
			}
			var args []uint64
			for _, a := range c.Action.Args {
				args = append(args, a.words(t)...)
			}
			if m.call(t, at, c.Action.Field, args) {
				n.traps++
			}
			n.calls++
		}
	}
	return n
}

// startTwin starts both; without modules if neither can be started.
func startTwin(t testing.TB, at string, plain, metered wazero.Runtime, binary []byte, rewritten *Rewritten) twin {
	t.Helper()
	a, compilesA, errA := start(plain, binary)
	b, compilesB, errB := start(metered, rewritten.Binary)
	if compilesA != compilesB || (errA == nil) != (errB == nil) {
		t.Fatalf("%s: plain gives %v, rewritten %v", at, errA, errB)
	}
	p := twin{a, b, rewritten.WrittenShift}
	if errA != nil {
		if compilesA && cause(errA) != cause(errB) {
			t.Fatalf("%s: plain starts with %v, rewritten with %v", at, errA, errB)
		}
		return twin{}
	}
	p.same(t, at)
	return p
}

// call calls a function of both and reports whether it trapped.
func (p twin) call(t testing.TB, at, name string, args []uint64) bool {
	t.Helper()
	ctx := context.Background()
	f, g := p.plain.ExportedFunction(name), p.metered.ExportedFunction(name)
	if f == nil || g == nil {
		t.Fatalf("%s: plain has %s: %t, rewritten: %t", at, name, f != nil, g != nil)
	}
	types := f.Definition().ResultTypes()
	x, errX := f.Call(ctx, args...)
	p.metered.ExportedGlobal(FuelExport).(api.MutableGlobal).Set(ample)
	room := p.metered.ExportedGlobal(StackExport).(api.MutableGlobal)
	room.Set(StackWords) // which a trap leaves where it is
	before := p.beforeCall()
	y, errY := g.Call(ctx, args...)
	if errY == nil {
		p.noted(t, at, before)
	}
	if errY == nil && room.Get() != StackWords {
		t.Fatalf("%s: %s%v returns with room for %d words on the stack", at, name, args, int64(room.Get()))
	}
	if a, b := outcome(x, types, errX), outcome(y, types, errY); a != b {
		t.Fatalf("%s: %s%v gives %s plain, %s rewritten", at, name, args, a, b)
	}
	p.same(t, at)
	return errX != nil
}
