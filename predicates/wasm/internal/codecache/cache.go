package codecache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// Cache is a directory of compiled modules. Several processes may have the same, and it
// is safe for concurrent use.
type Cache struct {
	root   *os.Root
	engine wazero.CompilationCache
	salt   string // what makes other entries of the same modules

	mu sync.Mutex // held while the engine works on what is in work
	// work is a directory of this process alone, which exists only while it is needed;
	// own is where the engine looks in it.
	work, own string
	inside    bool // work is in the directory itself
}

// Open opens the directory, or makes it, with the mode 0700. Whoever else can write
// there is an error; that this process can't isn't. What is kept for another salt isn't
// found.
func Open(dir, salt string) (_ *Cache, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	c := &Cache{root: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(context.Background()))
		}
	}()
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	if err := trusted(info); err != nil {
		return nil, err
	}
	c.tidy()
	if err := c.choose(); err != nil {
		return nil, err
	}
	defer c.clear()
	if c.engine, err = wazero.NewCompilationCacheWithDir(c.work); err != nil {
		return nil, err
	}
	// The engine's directory is named after its version and the machine's kind.
	made, err := os.ReadDir(c.work)
	if err != nil {
		return nil, err
	}
	if len(made) != 1 {
		return nil, fmt.Errorf("the engine made %d directories in %s, not one", len(made), c.work)
	}
	c.own = filepath.Join(c.work, made[0].Name())
	version, err := engineVersion(made[0].Name())
	if err != nil {
		return nil, err
	}
	c.salt = fmt.Sprintf("%s, %s, rewriter %d, %s", version, runtime.Version(), rewrite.Version, salt)
	return c, nil
}

// choose makes a directory that is this process's alone: in the cache, where nobody else
// can put another in its place, or, where that can only be read, among the system's
// temporary files, if that is so there too.
func (c *Cache) choose() error {
	name := workPrefix + rand.Text()
	c.work = filepath.Join(c.root.Name(), name)
	inside := c.root.Mkdir(name, 0o700)
	if inside == nil {
		c.inside = true
		return c.same()
	}
	info, err := os.Stat(os.TempDir())
	if err == nil {
		err = trustedPlace(info)
	}
	if err == nil {
		c.work, err = os.MkdirTemp("", "donewhen-wasm-")
	}
	if err != nil {
		return fmt.Errorf("make a directory for what is under way: %w, nor in %s: %w", inside, os.TempDir(), err)
	}
	return nil
}

// same reports whether the name of the work directory leads where it did.
func (c *Cache) same() error {
	here, err := c.root.Stat(filepath.Base(c.work))
	if err != nil {
		return err
	}
	there, err := os.Stat(c.work)
	if err != nil {
		return err
	}
	if !os.SameFile(here, there) {
		return fmt.Errorf("%s was replaced while it was in use", c.root.Name())
	}
	return nil
}

// prepare makes the engine's directory. Nobody can have put anything there.
func (c *Cache) prepare() error {
	if c.inside {
		if err := errors.Join(c.root.Mkdir(filepath.Base(c.work), 0o700), c.same()); err != nil {
			return err
		}
	} else if err := os.Mkdir(c.work, 0o700); err != nil {
		return err
	}
	return os.Mkdir(c.own, 0o700)
}

// clear removes the engine's directory.
func (c *Cache) clear() {
	if c.inside {
		_ = c.root.RemoveAll(filepath.Base(c.work)) // prepare says so
		return
	}
	_ = os.RemoveAll(c.work)
}

// engineVersion returns what tells engines apart. A program that was built so that the
// engine doesn't know its version is told by the whole program.
func engineVersion(name string) (string, error) {
	if !strings.HasPrefix(name, "wazero-dev-") {
		return name, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("tell the engine's version: %w", err)
	}
	file, err := os.Open(self)
	if err != nil {
		return "", fmt.Errorf("tell the engine's version: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("tell the engine's version: %w", err)
	}
	return name + " in " + hex.EncodeToString(sum.Sum(nil)), nil
}

// Engine returns the engine's cache, to be part of the runtime's configuration.
func (c *Cache) Engine() wazero.CompilationCache { return c.engine }

// Compile returns the module with that digest, rewritten and compiled: from the cache,
// or by the functions, and keeps it then. Kept is why it can't be kept; the module is
// returned all the same. Its Binary is nil.
func (c *Cache) Compile(ctx context.Context, digest string,
	rewritten func() (*rewrite.Rewritten, error), compile func(ctx context.Context, binary []byte) (wazero.CompiledModule, error),
) (_ *rewrite.Rewritten, _ wazero.CompiledModule, kept, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.prepare(); err != nil {
		return nil, nil, nil, err
	}
	defer c.clear()
	name := c.name(digest)
	e, err := c.read(name)
	if err == nil {
		err = c.offer(e)
	}
	if err != nil { // there is none, as good as none, or it is of no use
		m, err := rewritten()
		if err != nil {
			return nil, nil, nil, err
		}
		e = &entry{Meta: *m}
	}
	compiled, err := compile(ctx, e.Meta.Binary)
	if err != nil {
		return nil, nil, nil, err
	}
	if made := c.taken(e); made != nil {
		kept = c.write(name, made)
	}
	meta := e.Meta
	meta.Binary = nil
	return &meta, compiled, kept, nil
}

// name returns the name of a module's entry.
func (c *Cache) name(digest string) string {
	sum := sha256.Sum256([]byte(c.salt))
	return digest + "-" + hex.EncodeToString(sum[:8]) + suffix
}

// offeredAt is the time of a file that the engine was offered, which none has that it
// makes.
var offeredAt = time.Unix(1, 0)

// offer puts the entry's machine code where the engine looks for it.
func (c *Cache) offer(e *entry) error {
	if filepath.Base(e.File) != e.File {
		return fmt.Errorf("%q is no file's name", e.File)
	}
	path := filepath.Join(c.own, e.File)
	if err := os.WriteFile(path, e.native, 0o600); err != nil {
		return err
	}
	return os.Chtimes(path, offeredAt, offeredAt)
}

// taken returns an entry with what the engine made, nil if it made nothing but took
// what it was offered. On another processor the same module has another file; what it
// could make nothing of, it replaces.
func (c *Cache) taken(of *entry) *entry {
	files, err := os.ReadDir(c.own)
	if err != nil {
		return nil
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !info.Mode().IsRegular() || info.ModTime().Equal(offeredAt) {
			continue
		}
		native, err := os.ReadFile(filepath.Join(c.own, f.Name()))
		if err != nil {
			return nil
		}
		return &entry{Meta: of.Meta, File: f.Name(), native: native}
	}
	return nil
}

// Close closes the cache. What was compiled with it can't run any more.
func (c *Cache) Close(ctx context.Context) error {
	var errs []error
	if c.engine != nil {
		errs = append(errs, c.engine.Close(ctx))
	}
	return errors.Join(append(errs, c.root.Close())...)
}
