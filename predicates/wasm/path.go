package wasm

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// path is a path that a guest asks for, taken apart.
type path struct {
	raw   []byte
	text  []byte // the names of the steps one after the other, without escapes
	root  root
	steps []step
}

// root is the member of the document that a path begins with.
type root uint8

const (
	rootNone root = iota // there is no such member
	rootAll              // the whole document
	rootObject
	rootParams
	rootSettings
)

// step is one segment of a path: a field, an index, or the first element of a list
// that has a text as a field.
type step struct {
	name  string // without escapes
	index int    // -1 if it is none
	// search says that in a list it means [key=value].
	search     bool
	key, value string
}

// paths are the paths that an instance's guest asked for last. Guests have a few,
// which they ask for in every evaluation; they are found by what they say, as the
// place where they stand may say something else the next time. What is kept of all
// of them is less than 128 KiB.
type paths struct {
	kept    [64]*path
	scratch path // for the long ones
}

// How many bytes and steps a path may have to be kept.
const (
	longestKept = 256
	mostKept    = 16
)

// find returns the path that those bytes say, which aren't kept. It is good until
// the next call.
func (p *paths) find(raw []byte) *path {
	if len(raw) > longestKept {
		p.scratch.parse(raw)
		return &p.scratch
	}
	at := &p.kept[slotOf(raw)]
	if *at == nil {
		*at = &path{}
	} else if bytes.Equal((*at).raw, raw) {
		return *at
	}
	(*at).parse(raw)
	if cap((*at).steps) > mostKept {
		p.scratch, *at = **at, nil
		return &p.scratch
	}
	return *at
}

// slotOf returns where a path is kept. Most paths of a guest differ in their last
// bytes or in their length.
func slotOf(raw []byte) uint64 {
	n := len(raw)
	var last uint64
	if n >= 8 {
		last = binary.LittleEndian.Uint64(raw[n-8:])
	}
	return (last + uint64(n)) * 0x9e3779b97f4a7c15 >> 58
}

// parse takes a path apart. It panics with an *Error if it is none, and then is the
// whole document's.
func (p *path) parse(raw []byte) {
	p.raw, p.text, p.steps = p.raw[:0], p.text[:0], p.steps[:0]
	p.root = rootAll
	if len(raw) == 0 {
		return
	}
	if raw[0] != '/' || !utf8.Valid(raw) {
		panic(newError(BadPointer, "get: %q is no JSON Pointer; it begins with /object, /params or /settings", raw))
	}
	p.raw = append(p.raw, raw...)
	// Names refer to text, which mustn't move from here on.
	p.text = append(p.text, raw...)[:0]
	name, rest := segment(p.raw[1:])
	switch string(name) {
	case "object":
		p.root = rootObject
	case "params":
		p.root = rootParams
	case "settings":
		p.root = rootSettings
	default:
		p.root = rootNone
	}
	for rest != nil {
		name, rest = segment(rest[1:])
		p.steps = append(p.steps, p.step(name))
	}
}

// step reads one segment.
func (p *path) step(name []byte) step {
	from := len(p.text)
	for i := 0; i < len(name); i++ {
		b := name[i]
		if b == '~' && i+1 < len(name) && (name[i+1] == '0' || name[i+1] == '1') {
			i++
			b = "~/"[name[i]-'0']
		}
		p.text = append(p.text, b)
	}
	s := step{name: asString(p.text[from:]), index: index(name)}
	if n := len(name); n > 2 && name[0] == '[' && name[n-1] == ']' {
		key, value, ok := bytes.Cut(name[1:n-1], []byte("="))
		if s.search = true; ok {
			s.key, s.value = asString(key), asString(value)
		} else {
			s.search, s.index = false, -1
		}
	}
	return s
}

// asString returns bytes that stay as they are as a string.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

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

// index reads an array index as JSON Pointers have it, -1 if it is none.
func index(name []byte) int {
	if len(name) == 0 || len(name) > 9 || name[0] == '0' && len(name) > 1 || name[0] == '+' || name[0] == '-' {
		return -1
	}
	n, err := strconv.Atoi(asString(name))
	if err != nil {
		return -1
	}
	return n
}
