package celexpr

import (
	"context"
	"fmt"
	"testing"
)

// TestK51_AnEvaluationNeverCompiles: nothing that parses, checks or, after the first
// time, plans is even there, and programs are evaluated all the same.
func TestK51_AnEvaluationNeverCompiles(t *testing.T) {
	for _, unfused := range []bool{false, true} {
		compiler, err := NewCompiler()
		if err != nil {
			t.Fatal(err)
		}
		compiler.unfused = unfused
		env, err := NewEnvironment([]Param{{"min", "int"}}, WithCompiler(compiler))
		if err != nil {
			t.Fatal(err)
		}
		if issues := env.AddVariable("big", "object.l.filter(x, x > params.min)"); issues != nil {
			t.Fatal(render(issues))
		}
		var programs []*Program
		for _, expression := range []string{
			"has(object.a) && object.a == 'x1'", "object.l.exists(x, x == 3)", "variables.big.size() > 1",
			"object.a.matches('^x[0-9]+$')", "object.?b.orValue('') == '' && condition(object, 'Ready').status == 'Unknown'",
		} {
			programs = append(programs, compile(t, env, expression, OutputBool))
		}
		text := compile(t, env, "'n' + string(variables.big.size())", OutputString)
		compiler.checkers = nil // what is called of it from now on panics
		evaluate := func(i int) {
			params, err := env.BindParams(map[string]any{"min": i % 5})
			if err != nil {
				t.Fatal(err)
			}
			object := map[string]any{"a": fmt.Sprintf("x%d", i), "l": []any{int64(i), int64(3), int64(9)}}
			ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1000})
			defer ev.Close()
			for _, p := range programs {
				if _, err := p.Bool(ev); err != nil {
					t.Errorf("%s: %v", p.Source(), err)
				}
			}
			if got, err := text.Text(ev); err != nil || len(got) < 2 {
				t.Errorf("%q, %v", got, err)
			}
		}
		evaluate(0) // plans
		for _, p := range append(programs, text, env.Variable("big")) {
			p.cel, p.ast = nil, nil
		}
		for i := range 100 {
			evaluate(i)
		}
	}
}
