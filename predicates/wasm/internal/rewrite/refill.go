package rewrite

// SliceFuel is how much of its fuel a module burns at a stretch: then it goes by the
// host, which is when a garbage collection can begin. It is 9 ms of the worst loop
// known, and 0.4 of arithmetic.
const SliceFuel = 1 << 20

// refill returns the code of the function that is called when the fuel is below zero:
// it takes more of the reserve, or traps with what is missing in the fuel. That the
// memory grows by nothing is what goes by the host.
func (r *rewriter) refill() []byte {
	const total = 0
	fuel, reserve := r.globals, r.globals+3
	code := []byte{1, 1, typeI64}
	if r.hasMemory {
		code = append(code, opI32Const, 0, opMemoryGrow, 0, opDrop)
	}
	code = appendU32(append(code, opGlobalGet), fuel)
	code = appendU32(append(code, opGlobalGet), reserve)
	code = append(code, opI64Add, opLocalTee, total)
	code = appendU32(append(code, opGlobalSet), fuel)
	code = append(code, opI64Const, 0)
	code = appendU32(append(code, opGlobalSet), reserve)
	code = append(code, opLocalGet, total, opI64Const, 0, opI64LtS, opIf, blockEmpty, opUnreachable, opEnd)
	code = append(code, opLocalGet, total)
	code = append(appendSigned(append(code, opI64Const), SliceFuel), opI64GtS, opIf, blockEmpty)
	code = append(code, opLocalGet, total)
	code = append(appendSigned(append(code, opI64Const), SliceFuel), opI64Sub)
	code = appendU32(append(code, opGlobalSet), reserve)
	code = appendSigned(append(code, opI64Const), SliceFuel)
	code = appendU32(append(code, opGlobalSet), fuel)
	return append(code, opEnd, opEnd)
}
