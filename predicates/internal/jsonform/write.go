package jsonform

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Any returns the value as encoding/json would decode its text, with whole numbers
// as int64: nil, bool, int64, float64, string, []any or map[string]any. Values that
// are of these types already aren't copied. An absent value is an error, as is one
// that has, or contains what has, no JSON form.
func (v Value) Any() (any, error) {
	switch v.kind {
	case Absent:
		return nil, fmt.Errorf("there is no value")
	case Invalid:
		return nil, v.Err()
	case Null:
		return nil, nil
	}
	if v.plan == nil && v.json != nil {
		return v.json, nil
	}
	switch v.kind {
	case Bool:
		return v.Bool(), nil
	case Int:
		return v.Int(), nil
	case Double:
		return v.Double(), nil
	case String:
		return v.Text(), nil
	case List:
		out := make([]any, 0, v.Len())
		for elem := range v.Elements() {
			x, err := elem.Any()
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", len(out), err)
			}
			out = append(out, x)
		}
		return out, nil
	}
	out := map[string]any{}
	for name, entry := range v.Entries() {
		x, err := entry.Any()
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		out[name] = x
	}
	return out, nil
}

// AppendJSON appends the value's text to dst: compact, names sorted, numbers as
// encoding/json writes them, so that equal values have equal texts whatever Go types
// they have. The errors are those of Any;
// dst is then returned as far as it was written.
func (v Value) AppendJSON(dst []byte) ([]byte, error) {
	switch v.kind {
	case Null:
		return append(dst, "null"...), nil
	case Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case Int:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case Double:
		text, err := json.Marshal(v.Double())
		return append(dst, text...), err
	case String:
		return appendText(dst, v.Text()), nil
	case List:
		dst = append(dst, '[')
		first := true
		for elem := range v.Elements() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			var err error
			if dst, err = elem.AppendJSON(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case Map:
		dst = append(dst, '{')
		first := true
		for name, entry := range v.Entries() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(appendText(dst, name), ':')
			var err error
			if dst, err = entry.AppendJSON(dst); err != nil {
				return dst, fmt.Errorf("field %s: %w", name, err)
			}
		}
		return append(dst, '}'), nil
	}
	_, err := v.Any()
	return dst, err
}

// appendText appends a text in quotes. Only what JSON demands is escaped, and each
// byte that is no part of a character becomes U+FFFD.
func appendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}
