package rewrite

import (
	"cmp"
	"strings"
	"testing"
)

// What each branch of joined is decided by: the lowest bit of the first local.
const decide = "\x20\x00\xa7"

// joined is a module with one function of that many i64 locals and n loops or blocks of
// that shape.
func joined(shape string, n, locals int) string {
	add := func(i int) string { // one to a local
		index := string(appendU32(nil, uint32(i%locals)))
		return "\x20" + index + "\x42\x01\x7c\x21" + index
	}
	var all, each strings.Builder
	for i := range locals {
		all.WriteString(add(i))
	}
	again := decide + "\x0d\x00\x0b" // the end of a loop
	var code string
	switch shape {
	case "loops in each other":
		code = strings.Repeat("\x03\x40", n) + all.String() + strings.Repeat(again, n)
	case "loops in each other, each with a local of its own":
		for i := range n {
			each.WriteString("\x03\x40" + add(i))
		}
		code = each.String() + strings.Repeat(again, n)
	case "loops one after the other":
		code = strings.Repeat("\x03\x40"+again, n) + all.String()
	case "loops in a loop":
		for i := range n {
			each.WriteString("\x03\x40" + add(i) + again)
		}
		code = "\x03\x40" + each.String() + all.String() + again
	case "conditions in each other":
		for i := range n {
			each.WriteString(decide + "\x04\x40" + add(i))
		}
		code = each.String() + strings.Repeat("\x0b", n) + all.String()
	case "branches":
		for i := range n {
			each.WriteString(add(i) + decide + "\x0d\x00")
		}
		code = "\x02\x40" + each.String() + "\x0b" + all.String()
	}
	body := "\x01" + string(appendU32(nil, uint32(locals))) + "\x7e" + code + "\x0b"
	return string(module(sectionType, "\x01\x60\x00\x00", sectionFunction, "\x01\x00",
		sectionCode, "\x01"+string(appendU32(nil, uint32(len(body))))+body))
}

// TestTimeToJoinIsBounded: functions in which many values meet at many places are
// refused once the engine would take seconds for them, and not before.
func TestTimeToJoinIsBounded(t *testing.T) {
	for _, test := range []struct {
		shape   string
		locals  int // as many as loops or blocks, if 0
		refused int // loops or blocks
	}{
		{"loops in each other", 0, 140},
		{"loops in each other, each with a local of its own", 0, 140},
		{"loops one after the other", 0, 518},
		{"loops in a loop", 0, 470},
		{"conditions in each other", 0, 808},
		{"branches", 0, 1018},
		{"branches", 50, 12_166},
	} {
		for n, refused := range map[int]bool{test.refused - 1: false, test.refused: true} {
			_, err := Module([]byte(joined(test.shape, n, cmp.Or(test.locals, n))), ample)
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), "too much to compile: function 0 ") {
				t.Errorf("%d %s: %v", n, test.shape, err)
			}
		}
	}
}
