package rewrite

import "slices"

// frame estimates what a function needs of the native stack. The engine gives a
// place there to each value that doesn't fit into registers, and places aren't used
// again within a function. So there are at most as many as instructions give values,
// which are halved here as half of them at least take what the other half gave, and
// as blocks join: where a block ends or begins anew, each local that was set within
// it is a value of its own.
type frame struct {
	// calls says that it may call functions of the module: others are the last on
	// the stack.
	calls        bool
	wide         bool // there may be vectors, of two words
	instructions uint64
	values       uint64 // given by calls and blocks
	joined       uint64 // pairs of a block and a local that is set in it
	opened       []uint64
	last         map[uint32]uint64 // when each local was set last, in instructions
}

// call takes a call of a function of that type into account.
func (f *frame) call(types []funcType, t uint32) {
	f.calls = true
	if int64(t) < int64(len(types)) {
		f.results(types[t])
	}
}

// results are written beside the frame and then kept in it.
func (f *frame) results(t funcType) { f.values += 2 * uint64(len(t.results)) }

func (f *frame) openBlock() { f.opened = append(f.opened, f.instructions) }

func (f *frame) closeBlock() {
	if n := len(f.opened); n > 0 {
		f.opened = f.opened[:n-1]
	}
}

// set counts the open blocks in which the local wasn't set before. Those that were
// opened later come later in the list.
func (f *frame) set(local uint32) {
	if len(f.opened) == 0 {
		return
	}
	if f.last == nil {
		f.last = map[uint32]uint64{}
	}
	n, _ := slices.BinarySearch(f.opened, f.last[local])
	f.joined += uint64(len(f.opened) - n)
	f.last[local] = f.instructions
}

// words is how many words of eight bytes the function's frame counts for.
func (f *frame) words(locals uint32) int64 {
	n := uint64(locals) + f.instructions/2 + f.values + f.joined
	if f.wide {
		n *= 2
	}
	return int64(frameFixed + n)
}
