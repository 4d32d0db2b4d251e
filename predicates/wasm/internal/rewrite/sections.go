package rewrite

import (
	"strconv"
	"strings"
)

// Types of values.
const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeF32       = 0x7d
	typeF64       = 0x7c
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
)

func typeName(t byte) string {
	switch t {
	case typeI32:
		return "i32"
	case typeI64:
		return "i64"
	case typeF32:
		return "f32"
	case typeF64:
		return "f64"
	case typeV128:
		return "v128"
	case typeFuncref:
		return "funcref"
	case typeExternref:
		return "externref"
	}
	return ""
}

func isNumber(t byte) bool { return t >= typeF64 && t <= typeI32 }

// copyType copies a value type.
func (c *coder) copyType() byte {
	t := c.copyByte()
	if typeName(t) == "" {
		c.fail("unknown value type %#x", t)
	}
	return t
}

func (c *coder) copyRefType() byte {
	t := c.copyByte()
	if t != typeFuncref && t != typeExternref {
		c.fail("unknown reference type %#x", t)
	}
	return t
}

func (r *rewriter) typeSection(c *coder) {
	n := c.copyCount("types", maxTypes)
	for range n {
		c.copyExactly(0x60, "the form of a type")
		var text strings.Builder
		text.WriteString("func (")
		params := c.copyCount("params", maxParams)
		types(c, &text, params)
		text.WriteString(")")
		results := c.copyCount("results", maxParams)
		if results == 1 {
			text.WriteString(" -> ")
			types(c, &text, results)
		} else if results > 1 {
			text.WriteString(" -> (")
			types(c, &text, results)
			text.WriteString(")")
		}
		r.types = append(r.types, funcType{params: params, results: c.out[max(0, len(c.out)-results):], text: text.String()})
	}
	r.blockTypes(c, n)
}

// blockTypes adds the types of blocks that give what functions do, if that is more
// than one value; others need none.
func (r *rewriter) blockTypes(c *coder, n int) {
	if c.err != nil {
		return
	}
	added := map[string]int{}
	var more []byte
	for i := range r.types {
		t := &r.types[i]
		switch len(t.results) {
		case 0:
			t.block = []byte{blockEmpty}
		case 1:
			t.block = t.results
		default:
			index, ok := added[string(t.results)]
			if !ok {
				index = n + len(added)
				added[string(t.results)] = index
				more = append(appendU32(append(more, 0x60, 0), uint32(len(t.results))), t.results...)
			}
			t.block = appendSigned(nil, int64(index))
		}
	}
	// And one of functions that take and give nothing.
	r.nothing = uint32(n + len(added))
	more = append(more, 0x60, 0, 0)
	c.out = append(append(appendU32(nil, r.nothing+1), c.out[len(appendU32(nil, uint32(n))):]...), more...)
}

func types(c *coder, text *strings.Builder, n int) {
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(typeName(c.copyType()))
	}
}

// copyTypeIndex copies the index of a function type.
func (r *rewriter) copyTypeIndex(c *coder) uint32 {
	i := c.copyU32()
	if int64(i) >= int64(len(r.types)) {
		c.fail("there is no type %d", i)
		return 0
	}
	return i
}

func (r *rewriter) importSection(c *coder) {
	for range c.copyCount("imports", maxImports) {
		e := Extern{Module: c.copyName(), Name: c.copyName()}
		kind := c.copyByte()
		switch kind {
		case 0:
			if i := r.copyTypeIndex(c); c.err == nil {
				e.Type = r.types[i].text
				r.imported = append(r.imported, i)
			}
		case 1:
			e.Type = "table"
			r.table(c, false)
		case 2:
			e.Type = "memory"
			r.memory(c)
		case 3:
			e.Type = "global"
			c.copyType()
			c.copyByte()
		default:
			c.fail("unknown kind %d of import", kind)
		}
		r.foreign = r.foreign || kind != 0
		r.Imports = append(r.Imports, e)
	}
}

// functionSection copies the types of the functions, and adds that of refill.
func (r *rewriter) functionSection(c *coder) {
	n := c.count("functions", maxFuncs)
	if n == 0 {
		c.out = appendU32(c.out, 0)
		return // and no code
	}
	c.out = appendU32(c.out, uint32(n)+1)
	for range n {
		r.functions = append(r.functions, r.copyTypeIndex(c))
	}
	c.out = appendU32(c.out, r.nothing)
}

// table copies a table's type, with a maximum.
func (r *rewriter) table(c *coder, own bool) {
	c.copyRefType()
	flag := c.readByte()
	if flag > 1 {
		c.fail("unknown limits %#x of a table", flag)
	}
	least, most := c.readU32(), uint32(MaxTable)
	if flag == 1 {
		if most = c.readU32(); most < least {
			c.fail("a table of at least %d and at most %d entries", least, most)
		}
	}
	if own && least > MaxTable {
		c.fail("a table of %d entries, at most %d are allowed", least, MaxTable)
	}
	c.out = appendU32(appendU32(append(c.out, 1), least), min(most, MaxTable))
}

// memory copies a memory's type and returns its least and its greatest size.
func (r *rewriter) memory(c *coder) (least, most uint32) {
	switch flag := c.copyByte(); {
	case flag&^7 != 0:
		c.fail("unknown limits %#x of a memory", flag)
	case flag&4 != 0:
		c.fail("a memory of 64 bits is not supported; build for wasm32")
	case flag&2 != 0:
		c.fail("a shared memory is not supported; build without threads")
	case flag == 1:
		least = c.copyU32()
		if most = c.copyU32(); most < least || most > PageSize {
			c.fail("a memory of at least %d and at most %d pages", least, most)
		}
		return least, most
	}
	least = c.copyU32()
	if least > PageSize {
		c.fail("a memory of %d pages", least)
	}
	return least, PageSize
}

// globalSection copies the guest's globals and adds the meters behind them.
func (r *rewriter) globalSection(c *coder) {
	n := c.count("globals", maxGlobals)
	c.out = appendU32(c.out, uint32(n)+meterCount)
	r.globals = uint32(n)
	for i := range n {
		t := c.copyType()
		mutable := c.copyByte()
		if mutable > 1 {
			c.fail("a global that is neither mutable nor not: %#x", mutable)
		}
		switch {
		case mutable == 1 && isNumber(t):
			r.mutable = append(r.mutable, uint32(i))
			r.Globals = append(r.Globals, Prefix+"global_"+strconv.Itoa(i))
		case mutable == 1:
			r.keeps("a mutable global of type " + typeName(t))
		}
		r.constant(c)
	}
	c.out = append(c.out, r.meters()...)
}

// meterCount is how many globals are added: the first holds the fuel, the second the
// room on the stack, the third what was written to, the fourth the rest of the fuel.
const meterCount = 4

// meters are the globals that are added.
func (r *rewriter) meters() []byte {
	fuel := append(appendSigned([]byte{typeI64, 1, opI64Const}, r.fuel), opEnd)
	stack := append(appendSigned(append(fuel, typeI64, 1, opI64Const), StackWords), opEnd)
	return append(stack, typeI64, 1, opI64Const, 0, opEnd, typeI64, 1, opI64Const, 0, opEnd)
}

// constant copies a constant expression.
func (r *rewriter) constant(c *coder) {
	for c.err == nil {
		op := c.copyByte()
		switch op {
		case opI32Const:
			c.copySigned(32)
		case opI64Const:
			c.copySigned(64)
		case opF32Const:
			c.copyBytes(4)
		case opF64Const:
			c.copyBytes(8)
		case opGlobalGet:
			r.copyGlobalIndex(c)
		case opRefNull:
			c.copyRefType()
		case opRefFunc:
			r.declare(c)
		case opVector:
			c.copyExactly(vectorConst, "the vector instruction of a constant")
			c.copyBytes(16)
		case opEnd:
			return
		default:
			c.fail("opcode %#x in a constant", op)
		}
	}
}

// declare copies the index of one of the guest's functions, of which there may be
// references then.
func (r *rewriter) declare(c *coder) {
	i := c.copyU32()
	if uint64(i) >= uint64(len(r.Imports)+len(r.functions)) {
		c.fail("there is no function %d", i)
	}
	r.declared[i] = true
}

// copyGlobalIndex copies the index of one of the guest's own globals.
func (r *rewriter) copyGlobalIndex(c *coder) {
	if i := c.copyU32(); i >= r.globals {
		c.fail("there is no global %d", i)
	}
}

func (r *rewriter) exportSection(c *coder) {
	for range c.count("exports", maxExports) {
		e := Extern{Name: c.copyName()}
		if strings.HasPrefix(e.Name, Prefix) {
			c.fail("the export %q: names that begin with %s are reserved", e.Name, Prefix)
		}
		switch kind := c.copyByte(); kind {
		case 0:
			i := c.copyU32()
			if e.Type = r.functionType(i); e.Type == "" {
				c.fail("the export %q is of no function", e.Name)
			}
			r.declared[i] = true
		case 1:
			e.Type = "table"
			c.copyU32()
		case 2:
			e.Type = "memory"
			c.copyU32()
		case 3:
			e.Type = "global"
			r.copyGlobalIndex(c)
		default:
			c.fail("unknown kind %d of export", kind)
		}
		if e.Name == "_start" && c.err == nil {
			c.fail("a command module, it exports _start: build a reactor, which exports functions to call")
		}
		r.Exports = append(r.Exports, e)
	}
	r.exports = c.out
}

// functionType returns a function's type, "" if there is none of that index.
func (r *rewriter) functionType(index uint32) string {
	i := int64(index)
	if i < int64(len(r.Imports)) {
		return r.Imports[i].Type
	}
	if i -= int64(len(r.Imports)); i >= int64(len(r.functions)) {
		return ""
	}
	return r.types[r.functions[i]].text
}

// exportAll returns the content of the export section: the guest's exports, its
// mutable globals, its start function and the meters.
func (r *rewriter) exportAll() []byte {
	n := len(r.Exports) + len(r.mutable) + meterCount
	if r.HasStart {
		n++
	}
	out := append(appendU32(nil, uint32(n)), r.exports...)
	for i, name := range r.Globals {
		out = appendU32(append(appendName(out, name), 3), r.mutable[i])
	}
	if r.HasStart {
		out = appendU32(append(appendName(out, StartExport), 0), r.start)
	}
	out = appendU32(append(appendName(out, FuelExport), 3), r.globals)
	out = appendU32(append(appendName(out, StackExport), 3), r.globals+1)
	out = appendU32(append(appendName(out, WrittenExport), 3), r.globals+2)
	return appendU32(append(appendName(out, ReserveExport), 3), r.globals+3)
}

// element copies an element segment.
func (r *rewriter) element(c *coder) {
	kind := c.copyU32()
	if kind > 7 {
		c.fail("unknown kind %d of element segment", kind)
		return
	}
	passive, indexed, expressions := kind&1 != 0, kind&2 != 0, kind&4 != 0
	if !passive {
		if indexed {
			c.copyU32()
		}
		r.constant(c)
	}
	if passive || indexed {
		if expressions {
			c.copyRefType()
		} else {
			c.copyExactly(0, "the kind of elements")
		}
	}
	for range c.copyCount("elements", MaxTable) {
		if expressions {
			r.constant(c)
		} else {
			r.declare(c)
		}
	}
}

// data copies a data segment.
func (r *rewriter) data(c *coder) {
	switch kind := c.copyU32(); kind {
	case 0:
		r.constant(c)
	case 1:
	case 2:
		c.copyExactly(0, "the memory of a data segment")
		r.constant(c)
	default:
		c.fail("unknown kind %d of data segment", kind)
	}
	c.copyBytes(c.copyU32())
}
