package wasm

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/donewhen/donewhen/internal/racedetector"
)

// program makes modules that write to memory and globals at random.
type program struct {
	*rand.Rand
	pages int
	code  []byte
	depth int
}

func (p *program) emit(b ...byte) { p.code = append(p.code, b...) }

func (p *program) u32(v uint32) { p.code = binary.AppendUvarint(p.code, uint64(v)) }

// number pushes an i32.
func (p *program) number(v uint32) {
	p.emit(0x41)
	for n := int64(int32(v)); ; n >>= 7 {
		if rest := n >> 6; rest == 0 || rest == -1 {
			p.emit(byte(n & 0x7f))
			return
		}
		p.emit(byte(n&0x7f) | 0x80)
	}
}

// place is an address, mostly of a place that exists: near the edges of pages, of parts
// of them, and of the whole memory.
func (p *program) place() uint32 {
	size := p.pages * 65536
	switch p.IntN(40) {
	case 0:
		return p.Uint32()
	case 1:
		return uint32(size - p.IntN(20))
	case 2, 3, 4, 5:
		return uint32(min(p.IntN(p.pages)*65536+p.IntN(40), size-64))
	case 6, 7, 8, 9, 10, 11, 12, 13:
		return uint32(max(0, min(p.IntN(size)>>10<<10-p.IntN(20), size-64)))
	}
	return uint32(p.IntN(size - 64))
}

// address pushes one, which may depend on the function's argument.
func (p *program) address() {
	p.number(p.place())
	if p.IntN(3) == 0 {
		p.emit(0x20, 0, 0x6a) // + argument
		p.number(uint32(p.pages*65536 - 1))
		p.emit(0x70) // modulo
	}
}

// offset is that of a store.
func (p *program) offset() {
	switch p.IntN(30) {
	case 0:
		p.u32(1<<32 - 1 - uint32(p.IntN(70_000)))
	case 1, 2:
		p.u32(uint32(p.IntN(70_000)))
	case 3, 4, 5, 6, 7, 8, 9:
		p.u32(uint32(p.IntN(17)))
	default:
		p.u32(0)
	}
}

// value pushes one of that type.
func (p *program) value(op byte) {
	p.number(p.Uint32())
	switch op {
	case 0x37, 0x3c, 0x3d, 0x3e:
		p.emit(0xad) // i64.extend_i32_u
	case 0x38:
		p.emit(0xb3) // f32.convert_i32_u
	case 0x39:
		p.emit(0xb8) // f64.convert_i32_u
	case 0xfd:
		p.emit(0xfd, 0x11) // i32x4.splat
	}
}

// length pushes that of what is to be filled or copied.
func (p *program) length() {
	switch p.IntN(12) {
	case 0:
		p.number(0)
	case 1:
		p.number(uint32(p.IntN(p.pages * 65536)))
	case 2:
		p.number(uint32(p.pages * 65536))
	default:
		p.number(uint32(p.IntN(1_500)))
	}
}

func (p *program) statement() {
	switch kind := p.IntN(24); {
	case kind < 9:
		op := byte(0x36 + p.IntN(9))
		p.address()
		p.value(op)
		p.emit(op, 0)
		p.offset()
	case kind < 12:
		p.address()
		p.value(0xfd)
		if lane := p.IntN(5); lane == 4 {
			p.emit(0xfd, 0x0b, 0)
			p.offset()
		} else {
			p.emit(0xfd, 0x58+byte(lane), 0)
			p.offset()
			p.emit(byte(p.IntN(16 >> lane)))
		}
	case kind < 14:
		p.address()
		p.value(0)
		p.length()
		p.emit(0xfc, 0x0b, 0)
	case kind < 16:
		p.address()
		p.address()
		p.length()
		p.emit(0xfc, 0x0a, 0, 0)
	case kind == 16:
		p.address()
		p.number(uint32(p.IntN(20)))
		p.number(uint32(p.IntN(22)))
		p.emit(0xfc, 0x08, 1, 0) // of the passive segment
	case kind == 17:
		p.value(0)
		p.emit(0x24, 0)
	case kind == 18:
		p.value(0x37)
		p.emit(0x24, 1)
	case kind == 19 && p.IntN(8) == 0:
		p.number(uint32(p.IntN(3)))
		p.emit(0x40, 0, 0x1a) // memory.grow, drop
	case kind < 23 && p.depth < 3:
		p.depth++
		switch kind {
		case 20:
			p.emit(0x20, 0)
			p.number(uint32(1 + p.IntN(5)))
			p.emit(0x70, 0x04, 0x40) // if argument % n
		case 21:
			p.emit(0x02, 0x40) // block
		default:
			p.emit(0x03, 0x40) // loop
		}
		for range p.IntN(5) {
			p.statement()
		}
		if p.IntN(3) == 0 && kind == 22 {
			// Again, until the argument's bits are used up.
			p.emit(0x20, 0)
			p.number(1)
			p.emit(0x76, 0x22, 0, 0x0d, 0)
		}
		p.emit(0x0b)
		p.depth--
	case kind == 23 && p.IntN(20) == 0:
		p.emit(0x0f) // return
	}
}

// body returns a function's code.
func (p *program) body(statements int, last ...byte) []byte {
	p.code = []byte{1, 1, 0x7f} // a local, where there is no argument
	for range statements {
		p.statement()
	}
	return append(append(p.code, last...), 0x0b)
}

// module returns a whole module: _initialize and work, which takes a number, write.
func (p *program) module() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	sized := func(to, content []byte) []byte {
		return append(binary.AppendUvarint(to, uint64(len(content))), content...)
	}
	section := func(id byte, content ...byte) { out = sized(append(out, id), content) }
	section(1, 3, 0x60, 0, 0, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7f, 0)
	section(3, 5, 0, 1, 0, 2, 2)
	section(5, 1, 0, byte(p.pages))
	section(6, 2, 0x7f, 1, 0x41, 5, 0x0b, 0x7e, 1, 0x42, 7, 0x0b)
	exports := []byte{5}
	for i, name := range []string{"dw_abi_v1", "dw_evaluate", "_initialize", "work"} {
		exports = append(sized(exports, []byte(name)), 0, byte(i))
	}
	section(7, append(sized(exports, []byte("memory")), 2, 0)...)
	section(12, 2)
	start := p.body(p.IntN(3), 0x41, 9, 0x10, 4) // which calls the last function with 9
	if p.IntN(3) == 0 {
		start = []byte{0, 0x0b}
	}
	code := []byte{5}
	for _, body := range [][]byte{{0, 0x0b}, {0, 0x41, 1, 0x0b}, start, p.body(1 + p.IntN(12)), p.body(p.IntN(4))} {
		code = sized(code, body)
	}
	section(10, code...)
	section(11, append([]byte{2, 0, 0x41, 3, 0x0b, 4, 'd', 'a', 't', 'a', 1, 20}, "abcdefghijklmnopqrst"...)...)
	return out
}

// state is what an instance has that calls can change.
func (i *instance) state() (globals []uint64, memory []byte) {
	for _, g := range i.globals {
		globals = append(globals, g.Get())
	}
	return append(globals, i.room.Get()), i.memory.buf
}

// TestResetIsLikeNew runs random programs: an instance that was put back has the same
// memory and globals as one that was started anew, and then does the same as it.
func TestResetIsLikeNew(t *testing.T) {
	programs := 150
	if racedetector.Enabled {
		programs = 20
	}
	resetIsLikeNew(t, 1, programs)
}

func resetIsLikeNew(t *testing.T, seed uint64, programs int) {
	rt := newRuntime(t)
	ctx := context.Background()
	random := rand.New(rand.NewPCG(seed, 5))
	resets, starts := 0, 0
	for n := range programs {
		p := &program{Rand: random, pages: 1 + random.IntN(3)}
		m, err := rt.Load(ctx, p.module(), "")
		if err != nil {
			t.Fatalf("program %d: %v", n, err)
		}
		pool := &m.pool
		var i *instance
		for range 6 {
			if i == nil {
				if i, err = pool.acquire(ctx, 0); ReasonOf(err) == Trap {
					break // where it starts
				} else if err != nil {
					t.Fatal(err)
				}
			}
			run := func(i *instance, argument uint64) error {
				i.call.begin(ctx, 0)
				i.memory.limit = DefaultMemory
				i.call.setFuel(DefaultFuel)
				_, err := i.module.ExportedFunction("work").Call(&i.call, argument)
				i.call.end()
				return err
			}
			equal := func(other *instance, when string) {
				t.Helper()
				globals, memory := i.state()
				g, m := other.state()
				if !slices.Equal(globals, g) || !bytes.Equal(memory, m) || i.call.fuelLeft() != other.call.fuelLeft() {
					t.Fatalf("program %d of seed %d: %s it is another than a new instance\n%x", n, seed, when, p.code)
				}
			}
			fresh, err := pool.instantiate(ctx, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			i.call.setFuel(0)
			fresh.call.setFuel(0)
			equal(fresh, "before the call")
			argument := uint64(random.Uint32() >> random.IntN(30))
			one, other := run(i, argument), run(fresh, argument)
			if (one == nil) != (other == nil) || one != nil && trapText(one) != trapText(other) {
				t.Fatalf("program %d of seed %d: %v; a new instance: %v", n, seed, one, other)
			}
			equal(fresh, "after the call")
			pool.discard(fresh)
			starts++
			if one != nil || !i.reset() {
				pool.release(i, false)
				i = nil
				continue
			}
			resets++
		}
		if i != nil {
			pool.release(i, true)
		}
		m.Close()
	}
	t.Logf("%d calls, %d instances put back", starts, resets)
	if resets < programs {
		t.Errorf("only %d of %d calls could be put back: the programs are too wild", resets, starts)
	}
}
