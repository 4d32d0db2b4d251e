// Package codecache keeps compiled modules on disk, so that a process that starts
// again needn't compile them again.
//
//	cache, err := codecache.Open("/var/cache/donewhen", "fuel 1000000000")
//	defer cache.Close(ctx)
//	runtime := wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cache.Engine()))
//	meta, compiled, err := cache.Compile(ctx, digest, rewriteIt, runtime.CompileModule)
//
// # What is believed
//
// An entry holds machine code, which nobody can check: whoever can write entries
// decides what this process does. So nothing is read from a directory or file that
// belongs to anybody but this user or root, or that others can write. An entry ends
// with the sha256 of all that is before it; one that is damaged, incomplete, of another
// rewriter, engine or Go version is none, and is made anew.
//
// The engine has a cache of its own, which believes what lies in its directory. It gets
// a directory of this process alone, which is there only as long as it is needed, with
// what was checked a moment ago. It lies in the cache, or, if that can only be read,
// among temporary files that nobody else can replace.
//
// # What a hit saves
//
// Rewriting and compiling. The engine still decodes and validates the rewritten
// module.
package codecache
