package rewrite

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// coder reads a part of a module and writes it anew. After the first error all
// reads give zero and nothing is written that matters.
type coder struct {
	in  []byte
	pos int
	// base is where in begins in the module, for errors.
	base int
	out  []byte
	err  error
}

// fail keeps the first error.
func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at byte %#x: %s", c.base+c.pos, fmt.Sprintf(format, args...))
	}
	c.pos = len(c.in)
}

// left returns how many bytes haven't been read.
func (c *coder) left() int { return len(c.in) - c.pos }

// end fails if something is left.
func (c *coder) end(what string) {
	if c.err == nil && c.left() > 0 {
		c.fail("%d bytes too many in the %s", c.left(), what)
	}
}

// readByte reads without writing.
func (c *coder) readByte() byte {
	if c.left() == 0 {
		c.fail("unexpected end")
		return 0
	}
	b := c.in[c.pos]
	c.pos++
	return b
}

// readBytes reads n bytes without writing them.
func (c *coder) readBytes(n uint32) []byte {
	if uint64(n) > uint64(c.left()) {
		c.fail("%d bytes are announced, %d are left", n, c.left())
		return nil
	}
	b := c.in[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// readU32 reads an unsigned number without writing it.
func (c *coder) readU32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.readByte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	c.fail("a number of more than 32 bits")
	return 0
}

// readSigned reads a signed number of that many bits without writing it.
func (c *coder) readSigned(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := c.readByte()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if used := bits - shift; used < 7 {
			// What is above the number's own bits must repeat its sign.
			if top := int8(b<<1) >> used; top != 0 && top != -1 {
				break
			}
		} else if shift+7 < 64 && b&0x40 != 0 {
			v |= -1 << (shift + 7)
		}
		if bits < 64 {
			v = v << (64 - bits) >> (64 - bits)
		}
		return v
	}
	c.fail("a number of more than %d bits", bits)
	return 0
}

// count reads how many things follow that take at least one byte each.
func (c *coder) count(what string, most int) int {
	n := c.readU32()
	if uint64(n) > uint64(most) {
		c.fail("%d %s, at most %d are allowed", n, what, most)
		return 0
	}
	if int(n) > c.left() {
		c.fail("%d %s are announced in %d bytes", n, what, c.left())
		return 0
	}
	return int(n)
}

func (c *coder) copyByte() byte {
	b := c.readByte()
	c.out = append(c.out, b)
	return b
}

func (c *coder) copyU32() uint32 {
	v := c.readU32()
	c.out = appendU32(c.out, v)
	return v
}

func (c *coder) copySigned(bits int) int64 {
	v := c.readSigned(bits)
	c.out = appendSigned(c.out, v)
	return v
}

func (c *coder) copyBytes(n uint32) {
	c.out = append(c.out, c.readBytes(n)...)
}

func (c *coder) copyCount(what string, most int) int {
	n := c.count(what, most)
	c.out = appendU32(c.out, uint32(n))
	return n
}

func (c *coder) copyName() string {
	n := c.readU32()
	if n > maxName {
		c.fail("a name of %d bytes", n)
		return ""
	}
	name := string(c.readBytes(n))
	if !utf8.ValidString(name) {
		c.fail("a name that is no UTF-8")
	}
	c.out = appendName(c.out, name)
	return name
}

// copyExactly copies a byte that must have that value.
func (c *coder) copyExactly(want byte, what string) {
	if b := c.copyByte(); b != want && c.err == nil {
		c.fail("%s is %#x, not %#x", what, b, want)
	}
}

func appendU32(out []byte, v uint32) []byte { return binary.AppendUvarint(out, uint64(v)) }

func appendSigned(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func appendName(out []byte, name string) []byte {
	return append(appendU32(out, uint32(len(name))), name...)
}
