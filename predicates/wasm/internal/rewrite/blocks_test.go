package rewrite

import (
	"strings"
	"testing"
)

// TestTimeToCompileIsBounded: whatever a mebibyte of code is full of that the engine
// takes long for, it is refused, and what programs have isn't.
func TestTimeToCompileIsBounded(t *testing.T) {
	for name, unit := range map[string]string{
		"blocks":      "\x02\x40\x0b",
		"loops":       "\x03\x40\x0b",
		"conditions":  "\x20\x00\x04\x40\x0b",
		"branches":    "\x20\x00\x0d\x00",
		"tables":      "\x02\x40\x20\x00\x0e\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b",
		"fills":       "\x20\x00\x20\x00\x20\x00\xfc\x0b\x00",
		"copies":      "\x20\x00\x20\x00\x20\x00\xfc\x0a\x00\x00",
		"small loops": "", // in many functions
	} {
		make := func(size int) []byte {
			functions, unit := 1, unit
			if unit == "" {
				functions, unit = 64, "\x03\x40\x0b"
			}
			code := "\x00" + strings.Repeat(unit, size/functions/len(unit)) + "\x0b"
			code = string(appendU32(nil, uint32(len(code)))) + code
			n := string(appendU32(nil, uint32(functions)))
			return module(
				sectionType, "\x01\x60\x01\x7f\x00", sectionFunction, n+strings.Repeat("\x00", functions),
				sectionMemory, "\x01\x00\x01", sectionCode, n+strings.Repeat(code, functions))
		}
		if _, err := Module(make(1<<20-64), ample); err == nil || !strings.Contains(err.Error(), "too much to compile") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Module(make(10_000), ample); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
