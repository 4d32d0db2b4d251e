package wasm

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// instance is a module with memory of its own. One goroutine uses it at a time.
type instance struct {
	code     *code
	module   api.Module
	memory   *memory
	evaluate api.Function
	validate api.Function // nil if there is none
	fuel     api.MutableGlobal
	room     api.Global // on the native stack
	globals  []api.MutableGlobal
	call     call
	stack    [1]uint64
	// from is what it begins each call with, nil if it is good for one only.
	from *snapshot
	// idleSince is the sweep after which it became idle.
	idleSince uint64
}

// snapshot is the state that a module's instances have before each call.
type snapshot struct {
	memory  []byte
	parts   []part
	globals []uint64
}

// part is a piece of a snapshot's memory. Most of it is zero as a rule, which is
// quicker to write than to copy.
type part struct {
	from, to int
	zero     bool
}

// partSize is the size of the smallest part.
const partSize = 1024

// partsOf returns the memory in parts as long as possible.
func partsOf(memory []byte) []part {
	var parts []part
	var zeros [partSize]byte
	for at := 0; at < len(memory); at += partSize {
		to := min(at+partSize, len(memory))
		zero := bytes.Equal(memory[at:to], zeros[:to-at])
		if n := len(parts); n > 0 && parts[n-1].zero == zero {
			parts[n-1].to = to
			continue
		}
		parts = append(parts, part{at, to, zero})
	}
	return parts
}

// newInstance makes an instance. What it starts with must fit the budget, which the
// caller has reserved. If there is a snapshot it is taken over and the guest's own
// initialization isn't run: it would give the same.
func (c *code) newInstance(ctx context.Context, mem *memory, from *snapshot) (_ *instance, err error) {
	i := &instance{code: c, memory: mem}
	i.call.rt, i.call.memory, i.call.lines = c.rt, mem, c.lines
	i.call.begin(experimental.WithMemoryAllocator(ctx, mem), 0)
	i.call.starting = true
	defer func() {
		if err != nil {
			err = i.failure("start the module", err)
			i.close()
		}
	}()
	mem.limit = MaxMemory
	// The empty name is that of any number of instances.
	i.module, err = c.engine.InstantiateModule(&i.call, c.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	i.call.starting = false
	i.fuel = i.module.ExportedGlobal(rewrite.FuelExport).(api.MutableGlobal)
	i.call.fuel = i.fuel
	i.room = i.module.ExportedGlobal(rewrite.StackExport)
	for _, name := range c.meta.Globals {
		i.globals = append(i.globals, i.module.ExportedGlobal(name).(api.MutableGlobal))
	}
	i.evaluate = i.module.ExportedFunction(exportEvaluate)
	i.validate = i.module.ExportedFunction(exportValidate)
	if i.from = from; from != nil {
		return i, i.takeOver()
	}
	for _, name := range []string{rewrite.StartExport, exportInitialize} {
		if f := i.module.ExportedFunction(name); f != nil {
			i.fuel.Set(StartFuel)
			if err := f.CallWithStack(&i.call, nil); err != nil {
				return nil, err
			}
		}
	}
	return i, nil
}

// takeOver puts the snapshot of another instance in force.
func (i *instance) takeOver() error {
	s := i.from
	mem := i.module.Memory()
	if more := uint32(len(s.memory)) - mem.Size(); more > 0 {
		if _, ok := mem.Grow(more / rewrite.PageSize); !ok {
			return newError(MemoryLimit, "no room for the %d bytes of memory that the module starts with: %s is reached", len(s.memory), i.memory.denied)
		}
	}
	i.reset()
	return nil
}

// save returns the instance's state.
func (i *instance) save() *snapshot {
	s := &snapshot{memory: bytes.Clone(i.memory.buf), globals: make([]uint64, len(i.globals))}
	s.parts = partsOf(s.memory)
	for n, g := range i.globals {
		s.globals[n] = g.Get()
	}
	return s
}

// reset puts the state back, after which the instance knows nothing of any call.
// It reports whether that can be done: not if the memory has grown.
func (i *instance) reset() bool {
	s := i.from
	if len(i.memory.buf) != len(s.memory) {
		return false
	}
	for _, p := range s.parts {
		if p.zero {
			clear(i.memory.buf[p.from:p.to])
		} else {
			copy(i.memory.buf[p.from:p.to], s.memory[p.from:p.to])
		}
	}
	for n, g := range i.globals {
		g.Set(s.globals[n])
	}
	return true
}

// run calls a function that returns an i32.
func (i *instance) run(f api.Function, what string, fuel int64) (int32, *Error) {
	i.fuel.Set(uint64(fuel))
	i.memory.denied = ""
	if err := f.CallWithStack(&i.call, i.stack[:]); err != nil {
		return 0, i.failure(what, err)
	}
	return int32(uint32(i.stack[0])), nil
}

// fuelUsed returns what the last call used of its fuel.
func (i *instance) fuelUsed(of int64) int64 { return of - int64(i.fuel.Get()) }

// failure says what the engine's error is, with what the guest wrote.
func (i *instance) failure(what string, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e != errOutOfFuel:
		return &Error{Reason: e.Reason, Message: e.Message + i.call.written()}
	case ok, i.outOfFuel():
		return newError(FuelExhausted, "%s: the fuel is used up%s", what, i.call.written())
	case i.room != nil && int64(i.room.Get()) < 0:
		return newError(Trap, "%s: calls are nested too deeply%s", what, i.call.written())
	case i.memory.denied != "":
		return newError(MemoryLimit, "%s: no memory could be added to the %d KiB, %s is reached: %s%s", what, len(i.memory.buf)>>10, i.memory.denied, trapText(err), i.call.written())
	}
	return newError(Trap, "%s: %s%s", what, trapText(err), i.call.written())
}

func (i *instance) outOfFuel() bool { return i.fuel != nil && int64(i.fuel.Get()) < 0 }

// trapText returns the engine's word for a trap, without the stack, in which
// functions have no names.
func trapText(err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// close lets the instance and its memory go.
func (i *instance) close() {
	if i.module != nil {
		_ = i.module.Close(context.Background()) // nothing of it is open
	}
	i.memory.Free()
}
