package rewrite

import "math/bits"

// leastShift is the size of the smallest unit of memory that is told apart, as a
// power of two: 64 of them are a page.
const leastShift = 10

// writtenShift returns the size of a unit, as a power of two, of which 64 are at
// least that many pages.
func writtenShift(pages uint32) int {
	return leastShift + bits.Len32(max(pages, 1)-1)
}

// Roles of the locals that are added to a function.
const (
	tempCheck   = iota // a meter's new value; what is needed for a moment
	tempLength         // how much memory.fill and its like work on
	tempAddress        // where
	tempI32            // what is written, by type
	tempI64
	tempF32
	tempF64
	tempV128
	temps
)

var tempTypes = [temps]byte{
	tempCheck: typeI64, tempLength: typeI32, tempAddress: typeI32,
	tempI32: typeI32, tempI64: typeI64, tempF32: typeF32, tempF64: typeF64, tempV128: typeV128,
}

// temp returns the index of an added local.
func (f *function) temp(role int) uint32 {
	if f.temps[role] == 0 {
		f.added = append(f.added, tempTypes[role])
		f.temps[role] = uint32(len(f.added))
	}
	return f.locals + f.temps[role] - 1
}

// storeTemp returns the local that keeps what a store writes.
func storeTemp(op byte) int {
	switch op {
	case 0x36, 0x3a, 0x3b:
		return tempI32
	case 0x38:
		return tempF32
	case 0x39:
		return tempF64
	}
	return tempI64
}

// emit appends an instruction with an index.
func (f *function) emit(op byte, index uint32) {
	f.out = appendU32(append(f.out, op), index)
}

// number appends a constant.
func (f *function) number(op byte, n int64) {
	f.out = appendSigned(append(f.out, op), n)
}

// beforeStore keeps the address and the value on the stack in locals, and leaves
// them there.
func (f *function) beforeStore(value int) {
	v := f.temp(value)
	f.emit(opLocalSet, v)
	f.emit(opLocalTee, f.temp(tempAddress))
	f.emit(opLocalGet, v)
}

// afterStore notes the unit that was written to. A write beyond its end is known of
// by whoever reads the units, who takes WrittenSlack bytes more. As the write has been
// done, its address can't have been so large that the sum with the offset wraps.
func (f *function) afterStore(offset uint32) {
	f.number(opI64Const, 1)
	f.unit(offset)
	f.out = append(f.out, opI64Shl) // by the number modulo 64
	f.note()
}

// unit puts the number of the unit of an address on the stack, as an i64.
func (f *function) unit(offset uint32) {
	f.emit(opLocalGet, f.temp(tempAddress))
	if offset != 0 {
		f.number(opI32Const, int64(int32(offset)))
		f.out = append(f.out, opI32Add)
	}
	f.number(opI32Const, int64(f.WrittenShift))
	f.out = append(f.out, opI32ShrU, opI64ExtendU)
}

// note adds the units on the stack to those that were written to. They are in a global
// and not in a local until the function ends: that would be quicker by nothing that
// could be measured, but each block of a large function had to hand it on, which made
// Go's guests take a quarter longer to compile.
func (f *function) note() {
	f.emit(opGlobalGet, f.globals+2)
	f.out = append(f.out, opI64Or)
	f.emit(opGlobalSet, f.globals+2)
	f.frame.instructions += 8
}

// beforeBulk is beforeStore for what works on a length, which is in its local.
func (f *function) beforeBulk() {
	v := f.temp(tempI32)
	f.out = append(f.out, opDrop)
	f.emit(opLocalSet, v)
	f.emit(opLocalTee, f.temp(tempAddress))
	f.emit(opLocalGet, v)
	f.emit(opLocalGet, f.temp(tempLength))
}

// afterBulk notes the units from the address to the end of the length, or one more:
// as many ones as there are units, 64 at most, turned to where the first is.
func (f *function) afterBulk() {
	check, shift := f.temp(tempCheck), int64(f.WrittenShift)
	f.number(opI64Const, -1)
	f.number(opI64Const, 63)
	f.emit(opLocalGet, f.temp(tempAddress))
	f.out = append(f.out, opI64ExtendU)
	f.number(opI64Const, 1<<shift-1)
	f.out = append(f.out, opI64And)
	f.emit(opLocalGet, f.temp(tempLength))
	f.out = append(f.out, opI64ExtendU, opI64Add)
	f.number(opI64Const, shift)
	f.out = append(f.out, opI64ShrU)
	f.emit(opLocalTee, check)
	f.number(opI64Const, 63)
	f.emit(opLocalGet, check)
	f.number(opI64Const, 63)
	f.out = append(f.out, opI64LtU, opSelect, opI64Sub, opI64ShrU)
	f.unit(0)
	f.out = append(f.out, opI64Rotl)
	f.note()
	f.frame.instructions += 16
}
