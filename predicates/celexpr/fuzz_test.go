package celexpr

import (
	"testing"
	"unicode/utf8"
)

// FuzzCompile: any text gives a program or issues within the text, never both,
// never a panic.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"object.status.state == 'x'", "params.rol", "has(", "object.?a[?'b'].orValue('')", "x.all(y, y", "'", "\"", "`", "😀",
		"condition(object, 'Ready').statuz", "int('abc')", "object.a.find('(')", "-9223372036854775808", "{}", "[[[[[[[[", "a\n\n//",
		"!!!!!!!!!!", "b'\\xff'", "1 ? 2 : 3 ? 4 : 5", "object.`a", "has(object.a) && \t\x00", "variables", "\xff\xfe", "donewhen.Condition{status: 'x'}",
	} {
		f.Add(seed)
	}
	env, err := NewEnvironment([]Param{{"role", "string"}})
	if err != nil {
		f.Fatal(err)
	}
	if issues := env.AddVariable("state", "object.status.state"); issues != nil {
		f.Fatal(issues)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		for _, want := range []Output{OutputBool, OutputString} {
			p, issues := env.Compile(expression, want)
			if (p == nil) == (len(issues) == 0) {
				t.Fatalf("program %v, issues %v", p != nil, issues)
			}
			lines, runes := 1, utf8.RuneCountInString(expression)
			for _, r := range expression {
				if r == '\n' {
					lines++
				}
			}
			for _, i := range issues {
				if i.Line < 1 || i.Line > lines || i.Column < 1 || i.Column > runes+1 || i.Message == "" {
					t.Fatalf("issue %+v of %q", i, expression)
				}
			}
		}
	})
}
