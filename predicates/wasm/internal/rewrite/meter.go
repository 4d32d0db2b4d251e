package rewrite

// appendCheck stores what is on top of the stack in a meter, and traps if it is
// below zero; but there may be more of the fuel. It is stored first, so that whoever
// called can see why.
func (f *function) appendCheck(code []byte, meter uint32) []byte {
	code = appendU32(append(code, opLocalTee), f.temp(tempCheck))
	code = appendU32(append(code, opGlobalSet), meter)
	code = appendU32(append(code, opLocalGet), f.temp(tempCheck))
	code = append(code, opI64Const, 0, opI64LtS, opIf, blockEmpty)
	if meter == f.globals {
		code = appendU32(append(code, opCall), uint32(len(f.Imports)+len(f.functions)))
	} else {
		code = append(code, opUnreachable)
	}
	return append(code, opEnd)
}

// chargeLength subtracts the i32 on top of the stack, shifted right, and leaves it
// there.
func (f *function) chargeLength(shift int64) {
	length := f.temp(tempLength)
	f.blocks += blocksOfLength
	code := appendU32(append(f.out, opLocalTee), length)
	code = appendU32(append(code, opGlobalGet), f.globals)
	code = appendU32(append(code, opLocalGet), length)
	code = append(code, opI64ExtendU)
	if shift > 0 {
		code = append(appendSigned(append(code, opI64Const), shift), opI64ShrU)
	}
	f.out = f.appendCheck(append(code, opI64Sub), f.globals)
}
