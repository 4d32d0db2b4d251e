package wasm

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"

	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// Version is the version of the contract that guests must speak: they export
// dw_abi_v1.
const Version = 1

// Names of exports.
const (
	exportMemory     = "memory"
	exportEvaluate   = "dw_evaluate"
	exportValidate   = "dw_validate"
	exportInitialize = "_initialize"
)

// Module is a loaded module. It is safe for concurrent use.
type Module struct {
	*code
	released *atomic.Bool
	cleanup  runtime.Cleanup
}

// Extern is an import or export of a module.
type Extern struct {
	// Module is empty for exports.
	Module, Name, Type string
}

// code is a compiled module, which all that load the same share.
type code struct {
	rt       *Runtime
	digest   string
	size     int
	meta     *rewrite.Rewritten
	compiled wazero.CompiledModule
	engine   wazero.Runtime // that compiled it
	pool     pool
	lines    *guestLog

	ready chan struct{} // closed when it is compiled
	err   error         // why it couldn't be
	users int           // held under rt.mu
}

// Load compiles a module, which may be gzipped. If pin isn't empty it is the sha256
// of the module, unzipped, in hex, and another module is refused. The same module
// is compiled once, however often it is loaded. The binary isn't kept.
func (r *Runtime) Load(ctx context.Context, binary []byte, pin string) (*Module, error) {
	binary, err := r.unzip(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(binary)
	digest := hex.EncodeToString(sum[:])
	if pin != "" && !strings.EqualFold(pin, digest) {
		return nil, newError(ModuleInvalid, "the module's sha256 is %s, but it is pinned to %s", digest, pin)
	}
	r.mu.Lock()
	c, ok := r.modules[digest]
	if !ok {
		c = &code{rt: r, digest: digest, size: len(binary), lines: newGuestLog(r.clock, digest), ready: make(chan struct{})}
		c.pool.init(c)
		r.modules[digest] = c
	}
	c.users++
	r.mu.Unlock()
	if ok {
		select {
		case <-c.ready:
		case <-ctx.Done():
			c.release()
			return nil, ctx.Err()
		}
	} else {
		c.err = c.compile(context.WithoutCancel(ctx), binary)
		close(c.ready)
	}
	if c.err != nil {
		c.release()
		return nil, c.err
	}
	m := &Module{code: c, released: new(atomic.Bool)}
	m.cleanup = runtime.AddCleanup(m, func(release func()) { release() }, m.releaser())
	return m, nil
}

// releaser returns a function that gives the use of the code up once. It doesn't
// refer to m.
func (m *Module) releaser() func() {
	c, released := m.code, m.released
	return func() {
		if released.CompareAndSwap(false, true) {
			c.release()
		}
	}
}

// Close releases the module. Its guests must not be used any more. It may be called
// more than once.
func (m *Module) Close() {
	m.cleanup.Stop()
	m.releaser()()
}

// Digest returns the sha256 of the module, unzipped, in hex.
func (m *Module) Digest() string { return m.digest }

// Size returns the size of the module, unzipped, in bytes.
func (m *Module) Size() int { return m.size }

// Stateful reports whether every evaluation needs an instance of its own, because
// the module can change what can't be put back.
func (m *Module) Stateful() bool { return m.meta.Stateful }

// Because names the operations and globals that make the module Stateful.
func (m *Module) Because() []string { return slices.Clone(m.meta.Because) }

// StartMemory returns how much linear memory the module declares to start with, in
// bytes.
func (m *Module) StartMemory() int64 { return int64(m.meta.MinPages) * rewrite.PageSize }

// Dropped returns how many lines of the module's log weren't written, because it logs too
// much.
func (m *Module) Dropped() int { return m.lines.count() }

// Imports returns what the module imports.
func (m *Module) Imports() []Extern { return externs(m.meta.Imports) }

// Exports returns what the module exports.
func (m *Module) Exports() []Extern { return externs(m.meta.Exports) }

func externs(list []rewrite.Extern) []Extern {
	out := make([]Extern, len(list))
	for i, e := range list {
		out[i] = Extern(e)
	}
	return out
}

// release gives one use up; with the last one the code goes.
func (c *code) release() {
	c.rt.mu.Lock()
	c.users--
	last := c.users == 0
	if last && c.rt.modules[c.digest] == c {
		delete(c.rt.modules, c.digest)
	}
	c.rt.mu.Unlock()
	if last {
		c.pool.close()
	}
}

// unzip returns the module's own bytes.
func (r *Runtime) unzip(binary []byte) ([]byte, error) {
	tooBig := newError(ModuleInvalid, "the module has more than %d bytes; strip it (-s, --strip-all), or allow more", r.moduleSize)
	if !bytes.HasPrefix(binary, []byte{0x1f, 0x8b}) {
		if int64(len(binary)) > r.moduleSize {
			return nil, tooBig
		}
		return binary, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(binary))
	if err != nil {
		return nil, newError(ModuleInvalid, "unzip the module: %v", err)
	}
	data, err := io.ReadAll(io.LimitReader(z, r.moduleSize+1))
	switch {
	case err != nil:
		return nil, newError(ModuleInvalid, "unzip the module: %v", err)
	case int64(len(data)) > r.moduleSize:
		return nil, tooBig
	}
	return data, nil
}

// compile checks the module and compiles it with a meter in it.
func (c *code) compile(ctx context.Context, binary []byte) error {
	meta, compiled, engine, err := c.rt.build(ctx, c.digest, func() (*rewrite.Rewritten, error) { return metered(binary) })
	if err != nil {
		return err
	}
	c.meta, c.compiled, c.engine = meta, compiled, engine
	if err := contract(meta); err != nil { // what comes from a cache was checked by another build
		c.closeCode()
		return err
	}
	return nil
}

// metered checks the module and puts a meter into it.
func metered(binary []byte) (*rewrite.Rewritten, error) {
	meta, err := rewrite.Module(binary, StartFuel)
	if imports, ok := errors.AsType[*rewrite.ImportError](err); ok {
		return nil, deniedImports(imports.Imports)
	}
	if err != nil {
		return nil, newError(ModuleInvalid, "%v", err)
	}
	if err := contract(meta); err != nil {
		return nil, err
	}
	return meta, nil
}

// contract holds the module against the contract.
func contract(meta *rewrite.Rewritten) error {
	if err := deniedImports(meta.Imports); err != nil {
		return err
	}
	if err := checkExports(meta.Exports); err != nil {
		return err
	}
	if pages := uint64(meta.MinPages); pages > MaxMemory/rewrite.PageSize {
		return newError(MemoryLimit, "the module starts with %d KiB of memory, at most %d KiB are allowed", pages*rewrite.PageSize>>10, MaxMemory>>10)
	}
	return nil
}

// deniedImports returns an error that names every import that there isn't.
func deniedImports(imports []rewrite.Extern) error {
	var denied []string
	for _, i := range imports {
		name := i.Module + "." + i.Name
		switch want, ok := importTypes[name]; {
		case !ok:
			denied = append(denied, i.String())
		case want != i.Type:
			denied = append(denied, i.String()+", which is a "+want)
		}
	}
	if len(denied) == 0 {
		return nil
	}
	return newError(ImportDenied, "the module imports what a predicate can't have: %s; allowed are %s",
		strings.Join(denied, "; "), strings.Join(allowedImports(), ", "))
}

var abiForm = regexp.MustCompile(`^dw_abi_v([0-9]{1,9})$`)

// checkExports holds the exports against the contract.
func checkExports(exports []rewrite.Extern) error {
	types := map[string]string{}
	latest := 0
	for _, e := range exports {
		types[e.Name] = e.Type
		if m := abiForm.FindStringSubmatch(e.Name); m != nil {
			n, _ := strconv.Atoi(m[1])
			latest = max(latest, n)
		}
	}
	marker := "dw_abi_v" + strconv.Itoa(Version)
	switch _, ok := types[marker]; {
	case latest == 0:
		return newError(AbiMismatch, "the module exports no %s, so it is no predicate; build it with one of the SDKs", marker)
	case !ok:
		return newError(AbiMismatch, "module speaks dw_abi_v%d, this build knows v%d", latest, Version)
	}
	for _, want := range []struct {
		name, typ string
		optional  bool
	}{
		{marker, "func ()", false},
		{exportMemory, "memory", false},
		{exportEvaluate, "func () -> i32", false},
		{exportValidate, "func () -> i32", true},
		{exportInitialize, "func ()", true},
	} {
		switch got, ok := types[want.name]; {
		case !ok && !want.optional:
			return newError(AbiMismatch, "the module exports no %s (%s)", want.name, want.typ)
		case ok && got != want.typ:
			return newError(AbiMismatch, "the module's export %s is a %s, not a %s", want.name, got, want.typ)
		}
	}
	return nil
}

// allowedImports returns the names of the imports of the contract.
func allowedImports() []string {
	var names []string
	var once sync.Once
	for name := range importTypes {
		if strings.HasPrefix(name, "dw.") {
			names = append(names, name)
		} else {
			once.Do(func() { names = append(names, "wasi_snapshot_preview1 as far as Go needs it") })
		}
	}
	slices.Sort(names)
	return names
}
