package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Prefix begins the names of exports that the rewriter adds; guests can't have
// exports of such names.
const Prefix = "__dw_"

// FuelExport is the name of the exported global that holds the fuel, a mutable
// i64.
const FuelExport = Prefix + "fuel"

// ReserveExport is the name of the exported global that holds the rest of the fuel, a
// mutable i64: SliceFuel at a time is moved to FuelExport once that is used up. What is
// left is the sum of both.
const ReserveExport = Prefix + "reserve"

// StackExport is the name of the exported global that holds the room left on the
// native stack, a mutable i64 in words of eight bytes. It is what it was after every
// call that returns, and below zero after one that was nested too deeply.
const StackExport = Prefix + "stack"

// WrittenExport is the name of the exported global that says which parts of the memory
// the module has written to, a mutable i64: see Rewritten.WrittenShift. It is right
// after every call that returns, and nobody but the caller sets it to 0.
const WrittenExport = Prefix + "written"

// WrittenSlack is how many bytes behind a unit a write may go that began in it.
const WrittenSlack = 15

// StartExport is the name under which a module's start function is exported. The
// rewritten module has none, so that whoever runs it can tell why it failed.
const StartExport = Prefix + "start"

// PageSize is the unit of memory sizes, in bytes.
const PageSize = 65536

// Rewritten is a module with a meter, and what is known of it.
type Rewritten struct {
	// Binary is the new module.
	Binary []byte
	// Imports and Exports are those of the original, in its order.
	Imports, Exports []Extern
	// Globals are the export names of the guest's mutable globals, in their order.
	Globals []string
	// Stateful says that calls can change what memory and Globals don't hold: table
	// entries, dropped segments, globals of other types than numbers.
	Stateful bool
	// Because names what makes it Stateful, each once.
	Because []string
	// MinPages is the memory's size at the start, 0 without a memory.
	MinPages uint32
	// WrittenShift says what the bits of WrittenExport are about: bit n about all bytes
	// whose address, shifted right by that, is n modulo 64. Host functions that write to
	// the memory aren't known of.
	WrittenShift int
	// HasStart says that the module has a start function, to be called as
	// StartExport before anything else.
	HasStart bool
}

// Extern is an import or export.
type Extern struct {
	// Module is empty for exports.
	Module, Name string
	// Type is "func (i32, i32) -> i64", "memory", "table" or "global".
	Type string
}

// String returns "module.name type".
func (e Extern) String() string {
	name := e.Name
	if e.Module != "" {
		name = e.Module + "." + name
	}
	return name + " " + e.Type
}

// ImportError says that a module imports more than functions.
type ImportError struct {
	// Imports are all imports of the module.
	Imports []Extern
}

// Error names the imports that aren't functions.
func (e *ImportError) Error() string {
	var names []string
	for _, i := range e.Imports {
		if !strings.HasPrefix(i.Type, "func ") {
			names = append(names, i.String())
		}
	}
	return "only functions can be imported, not " + strings.Join(names, ", ")
}

// Sections, in the order in which a module has them.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionDataCount = 12
	sectionCode      = 10
	sectionData      = 11
)

var sectionOrder = [...]byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
	sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
}

var (
	magic   = []byte("\x00asm")
	version = []byte{1, 0, 0, 0}
)

// rewriter is a module under way.
type rewriter struct {
	Rewritten
	fuel      int64
	types     []funcType
	functions []uint32                      // the type of each that isn't imported
	imported  []uint32                      // the type of each that is
	globals   uint32                        // the guest's
	mutable   []uint32                      // indices of Globals
	sections  [len(sectionOrder) + 1][]byte // by section number
	foreign   bool                          // there are imports of other things than functions
	exports   []byte                        // the guest's
	start     uint32
	nothing   uint32 // the type of functions that take and give nothing
	maxPages  uint32
	hasMemory bool
	squares   uint64 // see maxSquares
	joined    uint64 // see maxJoined
	walked    uint64 // see maxWalked
	// declared are the functions that code may make references to. The engine
	// checks that, but takes an exported start function for a declared one.
	declared map[uint32]bool
}

type funcType struct {
	params  int
	results []byte
	text    string
	// block is how a block is written that gives the results.
	block []byte
}

// keeps notes what the module can change for good.
func (r *rewriter) keeps(what string) {
	r.Stateful = true
	if !slices.Contains(r.Because, what) {
		r.Because = append(r.Because, what)
	}
}

// Module rewrites a module, which may use that much fuel until somebody sets the
// fuel: it is what the start function gets. The binary isn't changed and not kept.
// Any input is either refused, with an error that says what and where, or gives a
// module that behaves like the original.
func Module(binary []byte, fuel int64) (*Rewritten, error) {
	r := &rewriter{fuel: fuel, declared: map[uint32]bool{}}
	r.WrittenShift = leastShift
	if err := r.read(binary); err != nil {
		return nil, err
	}
	if r.foreign {
		return nil, &ImportError{r.Imports}
	}
	r.Binary = append(append(make([]byte, 0, len(binary)*3/2), magic...), version...)
	r.sections[sectionExport] = r.exportAll()
	for _, id := range sectionOrder {
		if s := r.sections[id]; s != nil {
			r.Binary = append(appendU32(append(r.Binary, id), uint32(len(s))), s...)
		}
	}
	return &r.Rewritten, nil
}

// read goes through all sections.
func (r *rewriter) read(binary []byte) error {
	c := &coder{in: binary}
	if !bytes.Equal(c.readBytes(4), magic) {
		return errors.New("no WebAssembly module: it doesn't begin with \\0asm")
	}
	switch v := c.readBytes(4); {
	case c.err != nil:
		return c.err
	case v[0] == 0x0d || v[2] == 1:
		return errors.New("a component, not a core module: build a core module, without the component model")
	case !bytes.Equal(v, version):
		return fmt.Errorf("version % x of the WebAssembly format, only version 1 is known", v)
	}
	next := 0
	for c.err == nil && c.left() > 0 {
		id := c.readByte()
		size := c.readU32()
		at := c.pos
		section := &coder{base: at, in: c.readBytes(size)}
		if c.err != nil {
			break
		}
		if id == sectionCustom {
			continue
		}
		rank := bytes.IndexByte(sectionOrder[:], id)
		if rank < next {
			c.pos = at
			c.fail("a section %d where it can't be", id)
			break
		}
		r.absent(sectionOrder[next:rank])
		next = rank + 1
		if r.section(section, id); section.err != nil {
			return section.err
		}
		section.end("section")
		if section.err != nil {
			return section.err
		}
		if id != sectionStart {
			r.sections[id] = section.out
		}
	}
	if c.err == nil {
		r.absent(sectionOrder[next:])
		if len(r.functions) > 0 && r.sections[sectionCode] == nil {
			c.fail("%d functions without code", len(r.functions))
		}
	}
	return c.err
}

// absent makes the section that the module doesn't have, but needs.
func (r *rewriter) absent(ids []byte) {
	if bytes.IndexByte(ids, sectionGlobal) >= 0 {
		r.sections[sectionGlobal] = append([]byte{meterCount}, r.meters()...)
	}
}

// section reads and writes one section.
func (r *rewriter) section(c *coder, id byte) {
	switch id {
	case sectionType:
		r.typeSection(c)
	case sectionImport:
		r.importSection(c)
	case sectionFunction:
		r.functionSection(c)
	case sectionTable:
		for range c.copyCount("tables", maxTables) {
			r.table(c, true)
		}
	case sectionMemory:
		for range c.copyCount("memories", 1) {
			r.MinPages, r.maxPages = r.memory(c)
			r.hasMemory = true
		}
		r.WrittenShift = writtenShift(r.MinPages)
	case sectionGlobal:
		r.globalSection(c)
	case sectionExport:
		r.exportSection(c)
	case sectionStart:
		r.start, r.HasStart = c.copyU32(), true
		if t := r.functionType(r.start); t != "func ()" && c.err == nil {
			c.fail("the start function %d is a %q, not a func ()", r.start, t)
		}
	case sectionElement:
		for range c.copyCount("element segments", maxSegments) {
			r.element(c)
		}
	case sectionDataCount:
		c.copyU32()
	case sectionCode:
		r.codeSection(c)
	case sectionData:
		for range c.copyCount("data segments", maxSegments) {
			r.data(c)
		}
	}
}
