//go:build !wasm

package dw

import "unsafe"

// Elsewhere the package compiles, so that editors and go vet understand a guest, but
// nothing answers it.
const noHost = "dw: there is no host; build the guest with GOOS=wasip1 GOARCH=wasm and test it with a Suite"

func hostGet(string, unsafe.Pointer, uint32) uint64 { panic(noHost) }

func hostResult(_, _ string) { panic(noHost) }

func hostLog(Level, string) { panic(noHost) }
