package rewrite

// Weights of instructions, in units of fuel: one is about half a nanosecond of
// arithmetic. A load that depends on the one before took 2 ns in 32 KiB, 8 in
// 256 KiB, 40 in 1 MiB and 200 in 8 MiB, on a machine whose caches others used too.
const (
	weightPlain  = 1
	weightMemory = 4  // a load or store
	weightFar    = 16 // the same in a module whose memory can be more than smallMemory
	weightSlow   = 8  // division, square root, indirect call; the fixed part of work on a length
	weightHost   = 256
)

// smallMemory is how many pages stay in the caches.
const smallMemory = 16

// immediate says what follows an opcode.
type immediate uint8

const (
	immNone immediate = iota
	immBlock
	immIndex // a label or function
	immFunctionRef
	immBrTable
	immCallIndirect
	immSelect
	immLocal
	immGlobal
	immTable
	immMemory // align and offset
	immMemoryIndex
	immI32
	immI64
	immF32
	immF64
	immRefType
	immMisc
	immVector
)

// instruction is what the rewriter knows of an opcode; without a weight it is
// unknown.
type instruction struct {
	immediate immediate
	weight    uint64
}

// Opcodes that the rewriter treats by name.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opEnd          = 0x0b
	opBranch       = 0x0c
	opReturn       = 0x0f
	opDrop         = 0x1a
	opSelect       = 0x1b
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opFirstStore   = 0x36
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI64LtS       = 0x53
	opI64LtU       = 0x54
	opI64GtS       = 0x55
	opI32Add       = 0x6a
	opI32ShrU      = 0x76
	opI64Add       = 0x7c
	opI64Sub       = 0x7d
	opI64And       = 0x83
	opI64Or        = 0x84
	opI64Shl       = 0x86
	opI64ShrU      = 0x88
	opI64Rotl      = 0x89
	opI64ExtendU   = 0xad
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opMisc         = 0xfc
	opVector       = 0xfd

	blockEmpty = 0x40

	miscMemoryInit = 0x08
	miscDataDrop   = 0x09
	miscMemoryCopy = 0x0a
	miscMemoryFill = 0x0b
	miscTableInit  = 0x0c
	miscElemDrop   = 0x0d
	miscTableCopy  = 0x0e
	miscTableGrow  = 0x0f
	miscTableSize  = 0x10
	miscTableFill  = 0x11

	vectorStore     = 0x0b
	vectorConst     = 0x0c
	vectorShuffle   = 0x0d
	vectorStoreLane = 0x58 // the first of four
)

// plain returns what is known of a one-byte opcode.
func plain(op byte) instruction {
	switch {
	case op == opBlock || op == opLoop || op == opIf:
		return instruction{immBlock, weightPlain}
	case op <= 0x01 || op == 0x05 || op == opEnd || op == 0x0f || op == 0x1a || op == 0x1b: // nop, else, end, return, drop, select
		return instruction{immNone, weightPlain}
	case op == 0x0c || op == 0x0d || op == 0x10: // br, br_if, call
		return instruction{immIndex, weightPlain}
	case op == 0x0e:
		return instruction{immBrTable, weightPlain}
	case op == 0x11:
		return instruction{immCallIndirect, weightSlow}
	case op == 0x1c:
		return instruction{immSelect, weightPlain}
	case op >= opLocalGet && op <= opLocalTee:
		return instruction{immLocal, weightPlain}
	case op == opGlobalGet || op == opGlobalSet:
		return instruction{immGlobal, weightPlain}
	case op == 0x25 || op == opTableSet:
		return instruction{immTable, weightSlow}
	case op >= 0x28 && op <= 0x3e: // loads and stores
		return instruction{immMemory, weightMemory}
	case op == 0x3f: // memory.size
		return instruction{immMemoryIndex, weightPlain}
	case op == opMemoryGrow:
		return instruction{immMemoryIndex, weightHost}
	case op >= opI32Const && op <= opF64Const:
		return instruction{immI32 + immediate(op-opI32Const), weightPlain}
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82, // integer division and remainder
		op == 0x91 || op == 0x9f, op == 0x95 || op == 0xa3: // float sqrt and division
		return instruction{immNone, weightSlow}
	case op >= 0x45 && op <= 0xc4:
		return instruction{immNone, weightPlain}
	case op == opRefNull:
		return instruction{immRefType, weightPlain}
	case op == 0xd1: // ref.is_null
		return instruction{immNone, weightPlain}
	case op == opRefFunc: // asks the host
		return instruction{immFunctionRef, weightHost}
	case op == opMisc:
		return instruction{immMisc, weightPlain}
	case op == opVector:
		return instruction{immVector, weightPlain}
	}
	return instruction{}
}

// Kinds of what follows a vector opcode.
const (
	vectorNone = iota
	vectorMemory
	vectorMemoryLane
	vectorLane
	vectorBytes // sixteen
)

// vector returns what follows a vector opcode and its weight, 0 if there is none
// of that number.
func vector(op byte) (kind int, weight uint64) {
	switch {
	case op <= 0x0b, op == 0x5c || op == 0x5d:
		return vectorMemory, weightMemory
	case op == vectorConst, op == vectorShuffle:
		return vectorBytes, weightPlain
	case op >= 0x15 && op <= 0x22:
		return vectorLane, weightPlain
	case op >= 0x54 && op <= 0x5b:
		return vectorMemoryLane, weightMemory
	case op == 0xe3 || op == 0xe7 || op == 0xef || op == 0xf3: // sqrt, div
		return vectorNone, 2 * weightSlow
	}
	switch op {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return 0, 0
	}
	// Some become a dozen machine instructions.
	return vectorNone, 2 * weightPlain
}
