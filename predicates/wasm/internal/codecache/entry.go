package codecache

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// Names of what is in the directory.
const (
	suffix     = ".module" // of entries
	workPrefix = "work-"   // of directories of processes that run
	newPrefix  = "new-"    // of entries that are being written
)

const (
	header = "donewhen compiled module 1\n"
	// maxEntry bounds an entry: of a module of 16 MiB that is full of code.
	maxEntry = 256 << 20
	// maxTotal bounds all entries; those not used for longest go.
	maxTotal = 512 << 20
	// abandoned is how old what is under way must be to be nobody's any more.
	abandoned = time.Hour
)

// entry is a module on disk: the header, the lengths of three parts (of 8 bytes each),
// the parts (this as JSON, the rewritten module, the engine's file), and the sha256 of
// all that.
type entry struct {
	Name string // of this file
	Meta rewrite.Rewritten
	File string // the name of the engine's file

	native []byte // its content
}

func (e *entry) encode() ([]byte, error) {
	head := *e
	head.Meta.Binary = nil
	meta, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	parts := [][]byte{meta, e.Meta.Binary, e.native}
	b.Grow(len(header) + 3*8 + len(meta) + len(e.Meta.Binary) + len(e.native) + sha256.Size)
	b.WriteString(header)
	for _, p := range parts {
		_ = binary.Write(&b, binary.LittleEndian, uint64(len(p)))
	}
	for _, p := range parts {
		b.Write(p)
	}
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	if b.Len() > maxEntry {
		return nil, fmt.Errorf("the compiled module has %d bytes, at most %d are kept", b.Len(), maxEntry)
	}
	return b.Bytes(), nil
}

var errDamaged = errors.New("the entry is damaged")

// decode reads what encode writes, if not a bit of it has changed.
func decode(data []byte) (*entry, error) {
	at := len(data) - sha256.Size
	if at < len(header)+3*8 || !bytes.HasPrefix(data, []byte(header)) {
		return nil, errDamaged
	}
	body, sum := data[:at], sha256.Sum256(data[:at])
	if !bytes.Equal(sum[:], data[at:]) {
		return nil, errDamaged
	}
	lengths, rest := body[len(header):len(header)+3*8], body[len(header)+3*8:]
	var parts [3][]byte
	for i := range parts {
		n := binary.LittleEndian.Uint64(lengths[8*i:])
		if n > uint64(len(rest)) {
			return nil, errDamaged
		}
		parts[i], rest = rest[:n:n], rest[n:]
	}
	if len(rest) != 0 {
		return nil, errDamaged
	}
	e := new(entry)
	if err := json.Unmarshal(parts[0], e); err != nil {
		return nil, errDamaged
	}
	e.Meta.Binary, e.native = parts[1], parts[2]
	return e, nil
}

// read reads an entry.
func (c *Cache) read(name string) (*entry, error) {
	file, err := c.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEntry {
		return nil, errDamaged
	}
	if err := trusted(info); err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, err
	}
	e, err := decode(data)
	if err != nil {
		return nil, err
	}
	if e.Name != name {
		return nil, errDamaged
	}
	now := time.Now()
	_ = c.root.Chtimes(name, now, now) // when it was used last; a directory may be read only
	return e, nil
}

// write keeps an entry; readers see all of it or nothing.
func (c *Cache) write(name string, e *entry) (err error) {
	e.Name = name
	data, err := e.encode()
	if err != nil {
		return err
	}
	temporary := newPrefix + rand.Text()
	file, err := c.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.root.Remove(temporary)
		}
	}()
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := c.root.Rename(temporary, name); err != nil {
		return err
	}
	c.shrink(name)
	return nil
}

// list returns what is in the directory.
func (c *Cache) list() []fs.FileInfo {
	dir, err := c.root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	all, _ := dir.Readdir(-1)
	return all
}

// shrink removes the entries not used for longest, until the rest is small enough. The
// new one stays.
func (c *Cache) shrink(but string) {
	all := slices.DeleteFunc(c.list(), func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), suffix) })
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var total int64
	for _, f := range all {
		if total += f.Size(); total > maxTotal && f.Name() != but {
			_ = c.root.Remove(f.Name())
		}
	}
}

// tidy removes what processes left that didn't end well.
func (c *Cache) tidy() {
	for _, f := range c.list() {
		if (strings.HasPrefix(f.Name(), workPrefix) || strings.HasPrefix(f.Name(), newPrefix)) && time.Since(f.ModTime()) > abandoned {
			_ = c.root.RemoveAll(f.Name())
		}
	}
}
