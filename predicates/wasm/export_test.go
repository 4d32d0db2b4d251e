package wasm

// Loaded returns how many modules are compiled now.
func (r *Runtime) Loaded() int { return r.loaded() }
