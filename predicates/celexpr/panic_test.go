package celexpr

import "testing"

// TestCompileOptionalElementOfAnyType: cel-go's check for lists of one type panics
// when an optional element is of type dyn, which the type check allows. A document
// must never end the process that loads it.
func TestCompileOptionalElementOfAnyType(t *testing.T) {
	for _, expression := range []string{
		"[?object.spec.name, 'b'].size() == 1",
		"{?'a': object.spec.name, 'b': 'c'}.size() == 1",
		"[1, ?object.a][0] == 1",
	} {
		env := environment(t)
		p, issues := env.Compile(expression, OutputBool)
		if issues != nil {
			t.Errorf("%s is refused: %v", expression, issues)
			continue
		}
		ev := env.Evaluation(t.Context(), map[string]any{}, nil, Limits{})
		if got, err := p.Bool(ev); err == nil {
			t.Errorf("%s is %v, want an error", expression, got)
		}
		ev.Close()
	}
	// What the check is for is refused all the same.
	if _, issues := environment(t).Compile("['a', 1].size() == 2", OutputBool); issues == nil {
		t.Error("a list of two types is accepted")
	}
}

// TestCompileSurvivesPanics: whatever else panics while an expression is compiled is
// an issue of that expression.
func TestCompileSurvivesPanics(t *testing.T) {
	env := environment(t)
	env.compiler.checkers.validators = append(env.compiler.checkers.validators, nil)
	_, issues := env.Compile("[1, 2].exists(x, x == 1)", OutputBool)
	if len(issues) != 1 {
		t.Fatalf("issues %v, want one", issues)
	}
	t.Log(issues[0])
}
