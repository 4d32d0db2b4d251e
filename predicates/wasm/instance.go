package wasm

import (
	"bytes"
	"context"
	"errors"
	"math/bits"
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
	room     api.Global   // on the native stack
	written  api.MutableGlobal
	globals  []api.MutableGlobal
	call     call
	stack    [1]uint64
	// from is what it begins each call with, nil if it is good for one only.
	from *snapshot
	// idleSince is the sweep after which it became idle.
	idleSince uint64
	// broken: a call didn't return, so that what isn't in the snapshot is anything.
	broken bool
}

// snapshot is the state that a module's instances have before each call.
type snapshot struct {
	memory  []byte
	globals []uint64
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
	i.call.fuel = i.module.ExportedGlobal(rewrite.FuelExport).(api.MutableGlobal)
	i.call.reserve = i.module.ExportedGlobal(rewrite.ReserveExport).(api.MutableGlobal)
	i.room = i.module.ExportedGlobal(rewrite.StackExport)
	i.written = i.module.ExportedGlobal(rewrite.WrittenExport).(api.MutableGlobal)
	i.call.writtenShift = c.meta.WrittenShift
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
			i.call.setFuel(StartFuel)
			if err := f.CallWithStack(&i.call, nil); err != nil {
				return nil, err
			}
		}
	}
	if mem.short { // all later instances would begin with less than it wanted
		return nil, i.shortage("start the module")
	}
	i.call.end() // it may have asked for the document, when there was none
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
	i.call.written = ^uint64(0)
	i.reset()
	return nil
}

// save returns the instance's state, to which it can be reset from then on.
func (i *instance) save() *snapshot {
	s := &snapshot{memory: bytes.Clone(i.memory.buf), globals: make([]uint64, len(i.globals))}
	for n, g := range i.globals {
		s.globals[n] = g.Get()
	}
	i.written.Set(0)
	i.call.written = 0
	return s
}

// reset puts the state back, after which the instance knows nothing of any call.
// It reports whether that can be done: not if the memory has grown. What neither the
// guest nor a host function has written to is as it was.
func (i *instance) reset() bool {
	s, buf := i.from, i.memory.buf
	if len(buf) != len(s.memory) {
		return false
	}
	units := i.written.Get() | i.call.written
	i.written.Set(0)
	i.call.written = 0
	shift := i.call.writtenShift
	// A unit has a namesake in each of the parts of 64 units.
	for part := 0; part < len(buf); part += 64 << shift {
		for left := units; left != 0; {
			first := bits.TrailingZeros64(left)
			n := bits.TrailingZeros64(^(left >> first))
			from := part + first<<shift
			if from >= len(buf) {
				break
			}
			to := min(from+n<<shift+rewrite.WrittenSlack, len(buf))
			copy(buf[from:to], s.memory[from:to])
			left &^= (1<<n - 1) << first
		}
	}
	for n, g := range i.globals {
		g.Set(s.globals[n])
	}
	return true
}

// run calls a function that returns an i32.
func (i *instance) run(f api.Function, what string, fuel int64) (int32, *Error) {
	i.call.setFuel(fuel)
	i.memory.denied, i.memory.short = "", false
	if err := f.CallWithStack(&i.call, i.stack[:]); err != nil {
		i.broken = true
		return 0, i.failure(what, err)
	}
	if i.memory.short {
		return 0, i.shortage(what)
	}
	return int32(uint32(i.stack[0])), nil
}

// fuelUsed returns what the last call used of its fuel.
func (i *instance) fuelUsed(of int64) int64 { return of - i.call.fuelLeft() }

// failure says what the engine's error is, with what the guest wrote.
func (i *instance) failure(what string, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e != errOutOfFuel:
		return &Error{Reason: e.Reason, Message: e.Message + i.call.output()}
	case ok, i.outOfFuel():
		return newError(FuelExhausted, "%s: the fuel is used up%s", what, i.call.output())
	case i.room != nil && int64(i.room.Get()) < 0:
		return newError(Trap, "%s: calls are nested too deeply%s", what, i.call.output())
	case i.memory.short: // with the memory that others had it might not have trapped
		return newError(MemoryLimit, "%s: no memory could be added to the %d KiB, %s is reached: %s%s", what, len(i.memory.buf)>>10, limitOfAll, trapText(err), i.call.output())
	case i.memory.denied != "":
		return newError(MemoryLimit, "%s: no memory could be added to the %d KiB, %s is reached: %s%s", what, len(i.memory.buf)>>10, i.memory.denied, trapText(err), i.call.output())
	}
	return newError(Trap, "%s: %s%s", what, trapText(err), i.call.output())
}

// shortage says that the guest went on without memory that others had: what it returns
// then isn't what it returns at other times.
func (i *instance) shortage(what string) *Error {
	return newError(MemoryLimit, "%s: no memory could be added to the %d KiB, %s is reached", what, len(i.memory.buf)>>10, limitOfAll)
}

func (i *instance) outOfFuel() bool { return i.call.fuel != nil && int64(i.call.fuel.Get()) < 0 }

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
