package celexpr

import (
	"context"
	"testing"

	"github.com/google/cel-go/cel"
)

// TestDottedRoots holds why params and variables are dotted roots of their own: in
// cel-go v0.29.2 an optional is only unwrapped at the root of a path. As entries of a
// map, variables.detail.?x is empty whatever detail holds, without an error. If the
// first part of this test fails, cel-go has changed, and the second may be all that is
// left of the reason.
func TestDottedRoots(t *testing.T) {
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)), cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{"status": map[string]any{"x": "y", "deep": map[string]any{"z": int64(1)}}}
	for _, expression := range []string{"variables.detail.?x.hasValue()", "variables.detail.?deep.?z.hasValue()", "variables.detail.?x.orValue('') == 'y'"} {
		checked, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(checked)
		if err != nil {
			t.Fatal(err)
		}
		detail, _, err := mustProgram(t, env, "object.?status").Eval(map[string]any{"object": object})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := program.Eval(map[string]any{"object": object, "variables": map[string]any{"detail": detail}})
		if err != nil || out.Value() != false {
			t.Errorf("cel-go: %s is %v, %v; it was silently empty", expression, out, err)
		}
	}

	for _, unfused := range []bool{false, true} {
		compiler, err := NewCompiler()
		if err != nil {
			t.Fatal(err)
		}
		compiler.unfused = unfused
		ours, err := NewEnvironment([]Param{{"limits", "map(string, string)"}}, WithCompiler(compiler))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range [][2]string{{"detail", "object.?status"}, {"plain", "object.status"}, {"none", "object.?nope"}} {
			if issues := ours.AddVariable(v[0], v[1]); issues != nil {
				t.Fatal(issues)
			}
		}
		params, err := ours.BindParams(map[string]any{"limits": map[string]any{"x": "y"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range []string{
			"variables.detail.?x.hasValue() && variables.detail.?x.orValue('') == 'y'",
			"variables.detail.?deep.?z.orValue(0) == 1 && variables.detail.deep.z == optional.of(1)",
			"variables.plain.?x.orValue('') == 'y' && variables.plain.?deep.?z.orValue(0) == 1 && variables.plain[?'x'].hasValue()",
			"!variables.none.?x.hasValue() && variables.none.?x.?y.orValue('absent') == 'absent'",
			"params.limits.?x.orValue('') == 'y' && !params.limits[?'z'].hasValue()",
		} {
			ev := ours.Evaluation(context.Background(), object, params, Limits{})
			if ok, err := compile(t, ours, expression, OutputBool).Bool(ev); err != nil || !ok {
				t.Errorf("%s, unfused %v: %v, %v", expression, unfused, ok, err)
			}
			ev.Close()
		}
	}
}

func mustProgram(t *testing.T, env *cel.Env, expression string) cel.Program {
	t.Helper()
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(checked)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
