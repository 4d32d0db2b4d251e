package document

import (
	"strings"
	"testing"
	"time"
)

// TestHostileFiles: a big file is read or refused in time that grows with its
// size only, whatever it holds.
func TestHostileFiles(t *testing.T) {
	for _, unit := range []string{
		"[", "{", "- ", "? ", ": ", "#\n", "\n", "\"a\n", "'", "a: ", "a: 1\n", "- a\n", "- - a\n", "a:\n", " a:\n", "{a: ", "[a, ",
		"&a ", "*a ", "- &a [*a]\n", "!a ", "|\n", "a: |\n", "\t", "\u2028", "a\n---\n", "...\n", "---\n", "%\n", "a: 'b' c\n", "é", "{}\n", "- {a: b}\n", "# a\n- b\n\n",
	} {
		data := []byte(strings.Repeat(unit, MaxBytes/4/len(unit)))
		start := time.Now()
		documents, findings := Read(NewText(data))
		for _, d := range documents {
			var v thing
			findings = append(findings, d.Decode(&v)...)
		}
		if len(findings) > 0 {
			NewText(data).Excerpt(findings[0].Line, findings[0].Column)
		}
		took := time.Since(start)
		t.Logf("%8v %d documents, %d findings of %q", took.Round(time.Millisecond), len(documents), len(findings), unit)
		if took > 20*time.Second {
			t.Errorf("%q took %v", unit, took)
		}
	}
}
