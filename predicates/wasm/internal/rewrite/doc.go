// Package rewrite makes a WebAssembly module stop by itself: it puts a meter into
// every function, so that whoever runs the module decides how much it may do.
//
//	m, err := rewrite.Module(binary, 1_000_000) // the start function may use a million units
//	compiled, err := runtime.CompileModule(ctx, m.Binary)
//	instance.ExportedGlobal(rewrite.FuelExport).(api.MutableGlobal).Set(20_000_000)
//	_, err = instance.ExportedFunction("f").Call(ctx) // after StartExport; below zero now? then it ran dry
//
// # The transformation
//
// One mutable i64 global is added behind the module's own, so that no index
// shifts; it holds the fuel and is exported as FuelExport. A region is what can be
// executed at most once without passing its head: a function without the bodies of
// its loops, or the body of a loop without those of the loops in it. Each function
// entry and each loop head subtracts the weight of its whole region, stores the
// result and traps if that is below zero and there is no more. As only a loop head can be jumped back
// to, no instruction runs twice for one charge; branches not taken are paid for as
// well. Weights are units of time, not of instructions (see weights.go): a guest
// that spins holds up every garbage collection of the process, so the fuel must
// bound how long it can. That is why loads weigh more in a module whose memory can
// be larger than the caches.
//
// Instructions that work on a length (memory.fill, memory.copy, memory.init,
// table.fill, table.copy, table.init) pay for it before they run: the length is on
// top of the stack, local.tee keeps it in an added local, and an eighth of its
// bytes is subtracted in 64 bits, where it can't overflow. Growing pays a fixed
// price for the way to the host and back; its length is bounded by the limits of
// memory and tables, which never shrink.
//
// A garbage collection waits for code of the engine's that runs, so the fuel is given
// out in slices of SliceFuel. A charge that finds less than nothing calls a function
// that is added behind the module's own: it has the memory grow by nothing, for which
// the engine returns to the host for a moment, and takes the next slice from another
// global, exported as ReserveExport; without one it traps. The fuel is the sum of both.
//
// A further global, exported as WrittenExport, says which parts of the memory have been
// written to, so that whoever puts the memory back need copy only these: each store
// sets the bit of the unit of memory at its address, and what fills, copies or
// initializes sets those of all units from its address to its end. Where there are more
// units than bits, those that are 64 apart share one. Rewritten.WrittenShift is the size
// of a unit: a sixty-fourth of the memory that the module starts with.
//
// In the same pass every mutable global of a number type is exported under Prefix,
// so that its value can be saved and put back; the start function is exported as
// StartExport and no longer called by the engine, which would hide why it failed;
// custom sections are dropped, and the maximum size of tables is cut to MaxTable.
//
// # Nested calls
//
// The engine lets the native stack grow to 400 MB. A second global, exported as
// StackExport, is the room that is left: a function that calls functions of the module
// subtracts the estimate of its frame (see frame.go) when it is entered, traps if the
// rest is below zero, and adds it again when it is left. Its body is put into a block
// that gives what the function gives, and each return becomes a branch out of it, so
// that there is one way out. So the room is the same before and after each call that
// ends well, and nobody need set it. A function that calls none of the module's is the
// last on the stack and isn't counted.
//
// # Invariants
//
//   - The guest can't name what was added. An index of a local, global or function
//     beyond the guest's own is refused, as is an export that begins with Prefix.
//   - The reader and the engine behind can't disagree on where an instruction
//     begins: everything is decoded and encoded anew in the one shortest form,
//     nothing is copied that wasn't understood. What the engine then makes of the
//     types is its own business: it validates the result.
//   - With enough fuel, and calls not nested deeper than StackWords, the result
//     behaves as the original does. An original that the engine refuses is refused
//     by the engine or here.
//   - After each call that returns, what has no bit set in WrittenExport and lies more
//     than WrittenSlack bytes behind what has one, is as it was before the bits were
//     cleared, but for what host functions have written.
//   - Numbers of things are bounded by the bytes that are there to describe them,
//     and by the constants of limits.go, before anything is allocated for them: the
//     engine behind believes what it reads.
//
// # What is refused
//
// Components and other versions of the format, opcodes, types and flags that the
// engine doesn't have on by default, memories that are imported, shared, of 64
// bits or more than one, imports of anything but functions (as *ImportError, which
// lists all of them), command modules (an export _start), exports under Prefix,
// functions of so many blocks, or of so many locals in loops in each other, that the
// engine would compile them for long (see maxSquares, maxJoined, maxWalked), and whatever is not well-formed.
package rewrite
