package celexpr

import (
	"context"
	"strings"
	"testing"
)

// One call must not take minutes or all memory, however large the object is:
// neither its cost nor the clock is looked at while it runs.
func TestOneCallIsBounded(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	params, err := env.BindParams(nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]any, 20_000)
	for i := range texts {
		texts[i] = "x"
	}
	object := bigObject(20_000)
	object["texts"], object["big"], object["small"] = texts, strings.Repeat("a", 1<<20), []any{"a", "b"}
	for expression, refused := range map[string]bool{
		"sets.contains(object.l, object.l)":                       true,
		"sets.equivalent(object.l, object.l)":                     true,
		"sets.intersects(object.l, object.texts)":                 true,
		"object.l.distinct().size() > 0":                          true,
		"object.big.replace('a', object.big).size() > 0":          true,
		"object.big.replace('a', object.big, -1).size() > 0":      true,
		"object.texts.join(object.big).size() > 0":                true,
		"object.big.replace('a', object.big, 2).size() > 0":       false,
		"object.big.replace('a', '').size() == 0":                 false,
		"object.small.join(object.big).size() > 0":                false,
		"object.small.join() == 'ab'":                             false,
		"object.small.distinct() == ['a', 'b']":                   false,
		"sets.contains(object.small, ['a'])":                      false,
		"sets.equivalent(object.small, ['b', 'a'])":               false,
		"sets.intersects(object.l, [5])":                          false,
		"'aXbXc'.replace('X', '-', 1) == 'a-bXc'":                 false,
		"'aXbXc'.replace('X', '--') == 'a--b--c'":                 false,
		"object.big.replace('', object.small[0]).size() > 100000": false,
	} {
		program := compile(t, env, expression, OutputBool)
		// Without a cost limit only the guard can refuse it.
		ev := env.Evaluation(context.Background(), object, params, Limits{})
		holds, evalErr := program.Bool(ev)
		ev.Close()
		switch {
		case refused && (evalErr == nil || evalErr.Kind != LimitExceeded):
			t.Errorf("%s: %v, %v; want LimitExceeded", expression, holds, evalErr)
		case !refused && (evalErr != nil || !holds):
			t.Errorf("%s: %v, %v; want true", expression, holds, evalErr)
		}
	}
}
