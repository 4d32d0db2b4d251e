package dw

import (
	"strconv"
	"strings"
	"unsafe"
)

// Type is what a value is.
type Type uint32

// Types of values.
const (
	TypeAbsent Type = iota
	TypeNull
	TypeBool
	TypeInt
	TypeFloat
	TypeString
	TypeArray
	TypeObject
)

// TypeOf returns the type of a field.
func TypeOf(path string) Type { return Type(hostGet(path, nil, 0) >> 32) }

// Has reports whether there is such a field. One that is null isn't there.
func Has(path string) bool { return TypeOf(path) > TypeNull }

// JSON returns a field as it comes: strings raw, bools true or false, numbers in
// decimal, arrays and objects as JSON.
func JSON(path string) (text string, t Type) {
	buf := make([]byte, 128)
	for {
		r := hostGet(path, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
		t, n := Type(r>>32), int(uint32(r))
		if n <= len(buf) {
			return unsafe.String(unsafe.SliceData(buf), n), t
		}
		buf = make([]byte, n)
	}
}

// String returns a string; false if the field is absent or something else.
func String(path string) (string, bool) {
	if text, t := JSON(path); t == TypeString {
		return text, true
	}
	return "", false
}

// Int returns an integer, exactly; false if the field is absent or something else.
func Int(path string) (int64, bool) {
	text, t := JSON(path)
	if t != TypeInt {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// Float returns a number of either type; false if the field is absent or something
// else.
func Float(path string) (float64, bool) {
	text, t := JSON(path)
	if t != TypeInt && t != TypeFloat {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// Bool returns true or false as value; ok is false if the field is absent or
// something else.
func Bool(path string) (value, ok bool) {
	text, t := JSON(path)
	return t == TypeBool && text == "true", t == TypeBool
}

// Escape writes a key as a segment of a path: "/" as "~1", "~" as "~0".
func Escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
