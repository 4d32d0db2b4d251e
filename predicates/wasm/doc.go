// Package wasm runs WebAssembly modules that judge objects. A guest asks the host
// for the fields that it needs and returns a number: pending, done, failed, cannot
// judge. It can't do anything else: no files, no network, no clock, and no memory
// of earlier calls. How much it may compute is metered, so that it stops by itself.
//
//	rt, err := wasm.New()
//	defer rt.Close()
//	module, err := rt.Load(ctx, binary, "") // gzipped or not
//	guest, err := module.Guest(ctx, wasm.Use{Settings: settings})
//	err = guest.Validate(ctx, params) // once for each use
//	result, err := guest.Evaluate(ctx, &wasm.Document{Object: object, Params: params})
//
// Errors are of type *Error. A module that isn't closed is released when nothing
// refers to it and to its guests any longer.
package wasm
