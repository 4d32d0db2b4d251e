package wasm

import (
	"strconv"

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
func get(c *call, stack []uint64) {
	pathLen, buf, room := uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if c.gets++; c.gets > maxGets {
		panic(newError(TooManyCalls, "more than %d fields were asked for", maxGets))
	}
	if pathLen > maxPath {
		panic(newError(BadPointer, "get: a path of %d bytes, at most %d are allowed", pathLen, maxPath))
	}
	p := c.paths.find(c.view("get", uint32(stack[0]), pathLen))
	out := c.view("get", buf, room)
	units := uint64(priceCall)
	kind, text := c.value(p, &units)
	if n := len(text); n > 0 && n <= len(out) {
		units += uint64(n) >> copiedShift
		c.charge(units)
		copy(out, text)
		c.wrote(buf, n)
	} else {
		c.charge(units)
	}
	stack[0] = uint64(kind)<<32 | uint64(uint32(len(text)))
}

// value finds the value at a path. Its text is good until the next call. What is to
// be paid for it is added to units.
func (c *call) value(p *path, units *uint64) (kind int, text string) {
	var v any
	switch {
	case p.root == rootAll:
		return c.subtree(p, jsonform.Value{}, typeObject, units)
	case p.root == rootObject && c.objectMap == nil:
		return c.typed(p, 0, c.object, units)
	case p.root == rootObject:
		v = c.objectMap
	case p.root == rootParams && c.params != nil:
		v = c.params
	case p.root == rootSettings && c.settings != nil:
		v = c.settings
	default:
		return typeAbsent, ""
	}
	// What encoding/json has decoded, which is most of what there is, is read without
	// views.
	for i := range p.steps {
		s, ok := &p.steps[i], false
		switch x := v.(type) {
		case map[string]any:
			v, ok = x[s.name]
		case []any:
			v, ok = c.listed(x, s)
		case string, int64, bool, float64, nil:
		default: // other Go types, which programs put there by mistake
			return c.typed(p, i, jsonform.Decoded(v), units)
		}
		if *units += priceSegment; !ok {
			return typeAbsent, ""
		}
	}
	switch x := v.(type) {
	case string:
		return typeString, c.given(x)
	case int64:
		c.scratch = strconv.AppendInt(c.scratch[:0], x, 10)
		return typeInt, c.fresh(units)
	case bool:
		c.scratch = strconv.AppendBool(c.scratch[:0], x)
		return typeBool, c.fresh(units)
	case nil:
		return typeNull, ""
	}
	return c.typed(p, len(p.steps), jsonform.Decoded(v), units)
}

// listed returns the element of a list that a step means.
func (c *call) listed(list []any, s *step) (any, bool) {
	if !s.search {
		if uint(s.index) >= uint(len(list)) {
			return nil, false
		}
		return list[s.index], true
	}
	for _, e := range list {
		c.charge(priceElement)
		if m, ok := e.(map[string]any); ok {
			f, there := m[s.key]
			if text, ok := f.(string); ok || !there {
				if ok && text == s.value {
					return e, true
				}
				continue
			}
		}
		if s.matches(jsonform.Decoded(e)) {
			return e, true
		}
	}
	return nil, false
}

// matches reports whether an element is one that the step looks for.
func (s *step) matches(e jsonform.Value) bool {
	f := e.Field(s.key)
	return f.Kind() == jsonform.String && f.Text() == s.value
}

// typed is value from a step on, from a view.
func (c *call) typed(p *path, from int, v jsonform.Value, units *uint64) (kind int, text string) {
	for i := from; i < len(p.steps) && v.Kind() != jsonform.Absent; i++ {
		*units += priceSegment
		v = c.step(v, &p.steps[i])
	}
	switch v.Kind() {
	case jsonform.Absent:
		return typeAbsent, ""
	case jsonform.Null:
		return typeNull, ""
	case jsonform.Bool:
		c.scratch = strconv.AppendBool(c.scratch[:0], v.Bool())
		return typeBool, c.fresh(units)
	case jsonform.Int:
		c.scratch = strconv.AppendInt(c.scratch[:0], v.Int(), 10)
		return typeInt, c.fresh(units)
	case jsonform.Double:
		c.scratch = c.encode(v, c.scratch[:0])
		return typeFloat, c.fresh(units)
	case jsonform.String:
		return typeString, c.given(v.Text())
	case jsonform.List:
		return c.subtree(p, v, typeArray, units)
	}
	return c.subtree(p, v, typeObject, units)
}

// step goes into a value by one segment.
func (c *call) step(v jsonform.Value, s *step) jsonform.Value {
	switch {
	case v.Kind() != jsonform.List:
		return v.Field(s.name)
	case !s.search:
		return v.Index(s.index)
	}
	for i := range v.Len() {
		c.charge(priceElement)
		if e := v.Index(i); s.matches(e) {
			return e
		}
	}
	return jsonform.Value{}
}

// subtree encodes a value, or the whole document if there is no path; once for each
// path and evaluation.
func (c *call) subtree(p *path, v jsonform.Value, kind int, units *uint64) (int, string) {
	text, ok := c.subtrees[string(p.raw)]
	if !ok {
		if p.root == rootAll {
			text = c.document()
		} else {
			text = c.encode(v, nil)
		}
		c.count(len(text), units)
		if c.subtrees == nil {
			c.subtrees = map[string][]byte{}
		}
		c.subtrees[string(p.raw)] = text
	}
	return kind, asString(text)
}

// document encodes all that the guest may see.
func (c *call) document() []byte {
	object := c.object
	if c.objectMap != nil {
		object = jsonform.Decoded(c.objectMap)
	}
	out := []byte{'{'}
	for _, member := range []struct {
		name  string
		there bool
		value jsonform.Value
	}{
		{"object", object.Kind() != jsonform.Absent, object},
		{"params", c.params != nil, jsonform.Decoded(c.params)},
		{"settings", c.settings != nil, jsonform.Decoded(c.settings)},
	} {
		if !member.there {
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

// given counts a text that is there already.
func (c *call) given(text string) string {
	c.encoded += len(text)
	c.checkEncoded()
	return text
}

// fresh counts what is in scratch, and returns it.
func (c *call) fresh(units *uint64) string {
	c.count(len(c.scratch), units)
	return asString(c.scratch)
}

// count counts what was encoded, which costs more than what is there.
func (c *call) count(n int, units *uint64) {
	c.encoded += n
	c.checkEncoded()
	*units += uint64(n) * priceEncoded
}

func (c *call) checkEncoded() {
	if c.encoded > maxEncoded {
		panic(newError(TooManyCalls, "fields of more than %d MiB in all were asked for", maxEncoded>>20))
	}
}
