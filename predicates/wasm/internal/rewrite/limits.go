package rewrite

// Bounds of a module. Programs are far below them; they keep a small file from
// making the engine allocate or compile for long.
const (
	maxTypes    = 10_000
	maxParams   = 1_000 // of one function type, and as many results
	maxImports  = 1_000
	maxFuncs    = 100_000
	maxTables   = 8
	maxGlobals  = 10_000
	maxExports  = 10_000
	maxSegments = 100_000
	maxLocals   = 50_000  // of one function, with its params
	maxBody     = 1 << 20 // bytes of one function
	maxName     = 4_096   // bytes
)

// StackWords is how much room calls have on the native stack, in words of eight
// bytes.
const StackWords = 1 << 19

// frameFixed is what each frame has: the return address and saved registers.
const frameFixed = 8

// MaxTable is how many entries a table may have: the module's own maximum is cut
// to it, as a table is memory that no memory limit counts.
const MaxTable = 1 << 16
