package wasm

import (
	"bytes"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/tetratelabs/wazero/api"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// Types of values, as get returns them.
const (
	typeAbsent = iota
	typeNull
	typeBool
	typeInt
	typeFloat
	typeString
	typeArray
	typeObject
)

// get is the host function of that name: it finds the value at a path, writes it
// into the guest's buffer if it fits, and returns its type and length.
func get(c *call, m api.Module, stack []uint64) {
	pathLen, buf, room := uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if c.gets++; c.gets > maxGets {
		panic(newError(TooManyCalls, "more than %d fields were asked for", maxGets))
	}
	if pathLen > maxPath {
		panic(newError(BadPointer, "get: a path of %d bytes, at most %d are allowed", pathLen, maxPath))
	}
	// The path is copied, so that nothing that is kept of it changes with the
	// guest's memory.
	path := c.path[:copy(c.path[:], c.view(m, "get", uint32(stack[0]), pathLen))]
	out := c.view(m, "get", buf, room)
	kind, text, length := c.value(m, path)
	if length > 0 && length <= len(out) {
		c.charge(m, uint64(length)>>copiedShift)
		if text != "" {
			copy(out, text)
		} else {
			copy(out, c.scratch)
		}
	}
	stack[0] = uint64(kind)<<32 | uint64(uint32(length))
}

// value finds the value at a path. Its text is the string returned, or in scratch
// if that is empty.
func (c *call) value(m api.Module, path []byte) (kind int, text string, length int) {
	if len(path) == 0 {
		return c.subtree(m, path, jsonform.Value{}, typeObject)
	}
	if path[0] != '/' || !utf8.Valid(path) {
		panic(newError(BadPointer, "get: %q is no JSON Pointer; it begins with /object, /params or /settings", path))
	}
	name, rest := segment(path[1:])
	var v jsonform.Value
	switch string(name) {
	case "object":
		v = c.object
	case "params":
		v = c.params
	case "settings":
		v = c.settings
	}
	for rest != nil && v.Kind() != jsonform.Absent {
		name, rest = segment(rest[1:])
		c.charge(m, priceSegment)
		v = c.step(m, v, name)
	}
	switch v.Kind() {
	case jsonform.Absent:
		return typeAbsent, "", 0
	case jsonform.Null:
		return typeNull, "", 0
	case jsonform.Bool:
		c.scratch = strconv.AppendBool(c.scratch[:0], v.Bool())
		return typeBool, "", c.count(m, len(c.scratch))
	case jsonform.Int:
		c.scratch = strconv.AppendInt(c.scratch[:0], v.Int(), 10)
		return typeInt, "", c.count(m, len(c.scratch))
	case jsonform.Double:
		c.scratch = c.encode(v, c.scratch[:0])
		return typeFloat, "", c.count(m, len(c.scratch))
	case jsonform.String:
		text := v.Text()
		c.scratch = c.scratch[:0]
		c.encoded += len(text)
		c.checkEncoded()
		return typeString, text, len(text)
	case jsonform.List:
		return c.subtree(m, path, v, typeArray)
	}
	return c.subtree(m, path, v, typeObject)
}

// segment returns the first segment of a path, and what follows it: nil, or
// something that begins with a slash. A slash within brackets is no end.
func segment(path []byte) (name, rest []byte) {
	if len(path) > 0 && path[0] == '[' {
		for end, b := range path {
			if b == ']' && (end+1 == len(path) || path[end+1] == '/') {
				return path[:end+1], tail(path, end+1)
			}
		}
	}
	if end := bytes.IndexByte(path, '/'); end >= 0 {
		return path[:end], path[end:]
	}
	return path, nil
}

func tail(path []byte, at int) []byte {
	if at == len(path) {
		return nil
	}
	return path[at:]
}

// step goes into a value by one segment: a field, an index, or [key=value], which
// is the first element of a list that has this text.
func (c *call) step(m api.Module, v jsonform.Value, name []byte) jsonform.Value {
	if v.Kind() == jsonform.List {
		if n := len(name); n > 2 && name[0] == '[' && name[n-1] == ']' {
			key, want, ok := bytes.Cut(name[1:n-1], []byte("="))
			if !ok {
				return jsonform.Value{}
			}
			return c.element(m, v, key, want)
		}
		return v.Index(index(name))
	}
	if bytes.IndexByte(name, '~') >= 0 {
		name = unescape(name)
	}
	// Nothing keeps the name: it is looked up.
	return v.Field(unsafe.String(unsafe.SliceData(name), len(name)))
}

// element returns the first element of a list whose field is that text.
func (c *call) element(m api.Module, list jsonform.Value, key, want []byte) jsonform.Value {
	field := unsafe.String(unsafe.SliceData(key), len(key))
	for i := range list.Len() {
		c.charge(m, priceElement)
		e := list.Index(i)
		if f := e.Field(field); f.Kind() == jsonform.String && f.Text() == string(want) {
			return e
		}
	}
	return jsonform.Value{}
}

// index reads an array index as JSON Pointers have it, -1 if it is none.
func index(name []byte) int {
	if len(name) == 0 || len(name) > 9 || name[0] == '0' && len(name) > 1 {
		return -1
	}
	n := 0
	for _, b := range name {
		if b < '0' || b > '9' {
			return -1
		}
		n = 10*n + int(b-'0')
	}
	return n
}

// unescape gives ~1 and ~0 their meaning.
func unescape(name []byte) []byte {
	out := bytes.ReplaceAll(name, []byte("~1"), []byte("/"))
	return bytes.ReplaceAll(out, []byte("~0"), []byte("~"))
}

// subtree encodes a value, or the whole document if there is no path; once for each
// path and evaluation.
func (c *call) subtree(m api.Module, path []byte, v jsonform.Value, kind int) (int, string, int) {
	text, ok := c.subtrees[string(path)]
	if !ok {
		if len(path) == 0 {
			text = c.document()
		} else {
			text = c.encode(v, nil)
		}
		c.count(m, len(text))
		if c.subtrees == nil {
			c.subtrees = map[string][]byte{}
		}
		c.subtrees[string(path)] = text
	}
	return kind, unsafe.String(unsafe.SliceData(text), len(text)), len(text)
}

// document encodes all that the guest may see.
func (c *call) document() []byte {
	out := []byte{'{'}
	for _, member := range []struct {
		name  string
		value jsonform.Value
	}{{"object", c.object}, {"params", c.params}, {"settings", c.settings}} {
		if member.value.Kind() == jsonform.Absent {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, `"`+member.name+`":`...)
		out = c.encode(member.value, out)
	}
	return append(out, '}')
}

// encode appends a value's JSON.
func (c *call) encode(v jsonform.Value, out []byte) []byte {
	out, err := v.AppendJSON(out)
	if err != nil {
		panic(newError(GuestError, "get: the value has no JSON form: %v", err))
	}
	return out
}

// count pays for what was encoded and returns its length.
func (c *call) count(m api.Module, n int) int {
	c.encoded += n
	c.checkEncoded()
	c.charge(m, uint64(n)*priceEncoded)
	return n
}

func (c *call) checkEncoded() {
	if c.encoded > maxEncoded {
		panic(newError(TooManyCalls, "fields of more than %d MiB in all were asked for", maxEncoded>>20))
	}
}
