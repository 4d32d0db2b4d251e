package dw

import "unsafe"

//go:wasmimport dw get
//go:noescape
func hostGet(path string, buf unsafe.Pointer, room uint32) uint64

//go:wasmimport dw result
//go:noescape
func hostResult(code, message string)

//go:wasmimport dw log
//go:noescape
func hostLog(level Level, text string)

// abi marks the module as one that speaks version 1 of the contract.
//
//go:wasmexport dw_abi_v1
func abi() {}
