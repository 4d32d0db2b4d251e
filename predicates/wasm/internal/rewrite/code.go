package rewrite

// function is one function body under way.
type function struct {
	*rewriter
	*coder
	groups       int    // of locals
	declarations []byte // of the locals
	locals       uint32 // with params; the added ones follow
	// regions are the function's and its loops', in the order of their heads.
	regions []region
	// frames are the open blocks: the region that each belongs to.
	frames []int
	added  []byte        // the types of the locals that are added
	temps  [temps]uint32 // which of them is for what, counted from 1
	grows  bool          // it may grow the memory
	blocks uint64        // see divide
	joins  joins         // see join
	frame  frame
	exit   []byte // the type of a block that gives its results
}

// region is what is executed at most once for each passing of its head.
type region struct {
	head   int // where in the output it begins
	weight uint64
	memory uint64 // loads and stores, which the weight doesn't count
	depth  uint64 // in how many loops it is
}

func (r *rewriter) codeSection(c *coder) {
	n := c.count("functions with code", maxFuncs)
	if n != len(r.functions) && c.err == nil {
		c.fail("%d functions, but %d with code", len(r.functions), n)
	}
	if n == 0 {
		c.out = appendU32(c.out, 0)
		return
	}
	c.out = appendU32(c.out, uint32(n)+1)
	functions := make([]function, n)
	grows := false
	for i := range n {
		size := c.readU32()
		if size > maxBody {
			c.fail("a function of %d bytes, at most %d are allowed", size, maxBody)
		}
		at := c.base + c.pos
		body := &coder{base: at, in: c.readBytes(size)}
		if c.err != nil {
			return
		}
		f, t := &functions[i], r.types[r.functions[i]]
		*f = function{rewriter: r, coder: body, locals: uint32(t.params), exit: t.block}
		f.frame.values = uint64(t.params + len(t.results)) // there is room for them outside of registers
		f.rewrite()
		if body.err != nil {
			c.err = body.err
			return
		}
		grows = grows || f.grows
		if r.divide(c, i, f); c.err != nil {
			return
		}
	}
	price := uint64(weightMemory)
	if r.MinPages > smallMemory || grows && r.maxPages > smallMemory {
		price = weightFar
	}
	for i := range functions {
		code := functions[i].assemble(price)
		c.out = append(appendU32(c.out, uint32(len(code))), code...)
	}
	code := r.refill()
	c.out = append(appendU32(c.out, uint32(len(code))), code...)
}

// rewrite reads the function and writes its instructions.
func (f *function) rewrite() {
	f.groups = f.count("groups of locals", maxLocals)
	for range f.groups {
		n := f.copyU32()
		if uint64(f.locals)+uint64(n) > maxLocals {
			f.fail("more than %d locals", maxLocals)
			return
		}
		f.locals += n
		f.frame.wide = f.copyType() == typeV128 || f.frame.wide
	}
	f.temp(tempCheck)
	f.declarations = f.out
	f.out = make([]byte, 0, f.left()*3/2)
	f.regions, f.frames = []region{{}}, []int{0}
	for len(f.frames) > 0 && f.err == nil {
		f.instruction()
	}
	f.end("function")
}

// assemble returns the function's new code: with the locals, and with the charges
// of the regions at that price of a load or store.
func (f *function) assemble(price uint64) []byte {
	code := make([]byte, 0, len(f.out)+len(f.declarations)+32*len(f.regions)+16)
	code = append(appendU32(code, uint32(f.groups+len(f.added))), f.declarations...)
	for _, t := range f.added {
		code = append(code, 1, t)
	}
	words := f.frame.words(f.locals + uint32(len(f.added)))
	done := 0
	for i, region := range f.regions {
		code = append(code, f.out[done:region.head]...)
		done = region.head
		code = appendU32(append(code, opGlobalGet), f.globals)
		code = append(appendSigned(append(code, opI64Const), int64(region.weight+price*region.memory)), opI64Sub)
		code = f.appendCheck(code, f.globals)
		if i == 0 && f.frame.calls {
			code = appendU32(append(code, opGlobalGet), f.globals+1)
			code = append(appendSigned(append(code, opI64Const), words), opI64Sub)
			code = f.appendCheck(code, f.globals+1)
			// Whatever leaves the function leaves this block.
			code = append(append(code, opBlock), f.exit...)
		}
	}
	code = append(code, f.out[done:]...)
	if f.frame.calls {
		code = appendU32(append(code, opGlobalGet), f.globals+1)
		code = append(appendSigned(append(code, opI64Const), words), opI64Add)
		code = append(appendU32(append(code, opGlobalSet), f.globals+1), opEnd)
	}
	return code
}

// current is the region of the innermost open block.
func (f *function) current() *region { return &f.regions[f.frames[len(f.frames)-1]] }

// instruction reads and writes one instruction with all that follows it.
func (f *function) instruction() {
	op := f.readByte()
	known := plain(op)
	if known.weight == 0 {
		if f.err == nil {
			f.pos--
			f.fail("unknown opcode %#x", op)
		}
		return
	}
	switch op {
	case opMisc:
		f.misc()
		return
	case opVector:
		f.current().weight += known.weight
		f.frame.instructions++
		f.vector()
		return
	}
	if known.immediate == immMemory {
		f.current().memory++
	} else {
		f.current().weight += known.weight
	}
	f.frame.instructions++
	if op == opReturn {
		f.out = appendU32(append(f.out, opBranch), uint32(len(f.frames)-1))
		return
	}
	if known.immediate == immMemory && op >= opFirstStore {
		f.store(op)
		return
	}
	f.out = append(f.out, op)
	switch known.immediate {
	case immBlock:
		f.block(op)
	case immIndex:
		if i := f.copyU32(); op == opCall {
			f.call(i)
		} else {
			f.label(i)
			f.blocks++
		}
	case immFunctionRef:
		if i := f.copyU32(); !f.declared[i] {
			f.fail("a reference to function %d, which is neither exported nor an element", i)
		}
	case immBrTable:
		labels := f.copyCount("labels", maxBody)
		f.blocks += uint64(labels)
		for range labels {
			f.label(f.copyU32())
		}
		f.label(f.copyU32())
	case immCallIndirect:
		f.frame.call(f.types, f.copyTypeIndex(f.coder))
		f.copyU32()
	case immSelect:
		f.copyExactly(1, "the number of types of a select")
		f.copyType()
	case immLocal:
		if i := f.copyU32(); i >= f.locals {
			f.fail("there is no local %d", i)
		} else if op == opLocalGet {
			f.joins.read(i)
		} else {
			f.frame.set(i)
		}
	case immGlobal:
		f.copyGlobalIndex(f.coder)
	case immTable:
		f.copyU32()
		if op == opTableSet {
			f.keeps("table.set")
		}
	case immMemory:
		f.copyU32()
		f.copyU32()
	case immMemoryIndex:
		f.copyExactly(0, "the memory")
		f.grows = f.grows || op == opMemoryGrow
	case immI32:
		f.copySigned(32)
	case immI64:
		f.copySigned(64)
	case immF32:
		f.copyBytes(4)
	case immF64:
		f.copyBytes(8)
	case immRefType:
		f.copyRefType()
	case immNone:
		if op == opEnd {
			f.frames = f.frames[:len(f.frames)-1]
			f.frame.closeBlock()
		}
	}
}

// store reads and writes a store.
func (f *function) store(op byte) {
	f.beforeStore(storeTemp(op))
	f.out = append(f.out, op)
	f.copyU32()
	f.afterStore(f.copyU32())
}

// label refuses a branch to a block that isn't there: the one that is put around
// the whole function would be found instead.
func (f *function) label(depth uint32) {
	if f.err == nil && uint64(depth) >= uint64(len(f.frames)) {
		f.fail("a branch out of %d blocks, of which there are %d", uint64(depth)+1, len(f.frames))
	}
}

// call takes the call of a function into account.
func (f *function) call(i uint32) {
	switch own := int64(i) - int64(len(f.Imports)); {
	case own >= int64(len(f.functions)):
		f.fail("there is no function %d", i)
	case own >= 0:
		f.frame.call(f.types, f.functions[own])
	case int64(i) < int64(len(f.imported)):
		f.frame.results(f.types[f.imported[i]])
	}
}

// block opens a block; a loop begins a region of its own.
func (f *function) block(op byte) {
	t := f.copySigned(33)
	if t < 0 && t != -64 && (t < -64 || typeName(byte(t&0x7f)) == "") {
		f.fail("unknown type %#x of a block", byte(t&0x7f))
		return
	}
	if t >= int64(len(f.types)) {
		f.fail("there is no type %d", t)
		return
	}
	current := f.frames[len(f.frames)-1]
	if op == opLoop {
		depth := f.regions[current].depth + 1
		current = len(f.regions)
		f.regions = append(f.regions, region{head: len(f.out), weight: weightPlain, depth: depth})
		f.joins.depth = max(f.joins.depth, depth)
	}
	f.frames = append(f.frames, current)
	f.blocks += blocksOfBlock
	f.frame.openBlock()
	switch {
	case t >= 0:
		values := uint64(f.types[t].params + len(f.types[t].results))
		f.frame.values += values
		f.joins.values = max(f.joins.values, values)
	case t != -64:
		f.frame.values++
	}
}

// keeping are the operations whose effect can't be put back.
var keeping = map[uint32]string{
	miscDataDrop: "data.drop", miscElemDrop: "elem.drop", miscTableInit: "table.init",
	miscTableCopy: "table.copy", miscTableGrow: "table.grow", miscTableFill: "table.fill",
}

// misc reads and writes what follows the prefix of conversions and bulk
// operations.
func (f *function) misc() {
	op := f.readU32()
	weight := uint64(weightPlain)
	switch op {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		weight = weightSlow
		f.chargeLength(3)
	case miscTableInit, miscTableCopy, miscTableFill:
		weight = weightSlow
		f.chargeLength(0) // an entry has eight bytes
	case miscTableGrow:
		weight = weightHost
	case miscTableSize, miscDataDrop, miscElemDrop:
		weight = weightSlow
	}
	f.current().weight += weight
	writes := op == miscMemoryInit || op == miscMemoryCopy || op == miscMemoryFill
	if writes {
		f.beforeBulk()
		defer f.afterBulk()
	}
	f.out = appendU32(append(f.out, opMisc), op)
	switch op {
	case miscMemoryInit:
		f.copyU32()
		f.copyExactly(0, "the memory")
	case miscMemoryCopy:
		f.copyExactly(0, "the memory")
		f.copyExactly(0, "the memory")
	case miscMemoryFill:
		f.copyExactly(0, "the memory")
	case miscTableInit, miscTableCopy:
		f.copyU32()
		f.copyU32()
	case miscDataDrop, miscElemDrop, miscTableGrow, miscTableSize, miscTableFill:
		f.copyU32()
	default:
		if op > 7 {
			f.fail("unknown opcode 0xfc %d", op)
		}
	}
	if name := keeping[op]; name != "" {
		f.keeps(name)
	}
}

// vector reads and writes what follows the prefix of vector instructions.
func (f *function) vector() {
	op := f.readByte()
	f.frame.wide = true
	if op == vectorStore || op >= vectorStoreLane && op < vectorStoreLane+4 {
		f.current().memory++
		f.vectorStore(op)
		return
	}
	f.out = append(f.out, opVector, op)
	// The engine takes the opcode for a byte and the second byte of its number for
	// a nop, so that only the shortest form means the same to everybody.
	if op >= 0x80 {
		f.copyExactly(1, "the second byte of a vector opcode")
	}
	kind, weight := vector(op)
	if weight == 0 {
		f.fail("unknown opcode 0xfd %#x", op)
	}
	if kind != vectorMemory && kind != vectorMemoryLane {
		f.current().weight += weight
	}
	switch kind {
	case vectorMemory, vectorMemoryLane:
		f.current().memory++
		f.copyU32()
		f.copyU32()
	case vectorBytes:
		f.copyBytes(16)
	}
	if kind == vectorLane || kind == vectorMemoryLane {
		f.copyByte()
	}
}

// vectorStore reads and writes the store of a vector, or of a lane of one.
func (f *function) vectorStore(op byte) {
	f.beforeStore(tempV128)
	f.out = append(f.out, opVector, op)
	f.copyU32()
	offset := f.copyU32()
	if op != vectorStore {
		f.copyByte()
	}
	f.afterStore(offset)
}
