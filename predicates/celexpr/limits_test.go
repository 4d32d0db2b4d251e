package celexpr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestBounds: which programs count their cost, and can be interrupted.
func TestBounds(t *testing.T) {
	env := environment(t)
	for expression, want := range map[string]bool{
		"object.status.state == 'x' && has(object.status.detail)":  false,
		"object.status.state in ['a', 'b']":                        false,
		"object.a + object.b == 2":                                 false,
		"[1, 2].exists(i, i == object.a)":                          false,
		"condition(object, 'Ready').status == 'True'":              false,
		"'a%s'.format([object.a]) == ''":                           false,
		"object.l.exists(c, c.a == 1)":                             true,
		"params.names.all(n, n != '')":                             true,
		"object.m.all(k, v, v == k)":                               true,
		"object.name.matches('^a+$')":                              true,
		"object.name.matches(params.role)":                         true,
		"object.l == [object.a + 'x', 'y']":                        false,
		"object.a.lowerAscii() == object.b.lowerAscii()":           false,
		"[1, 2].all(i, [3, 4].all(j, i < j))":                      false,
		"object.name.find('a') == ''":                              true,
		"object.name.replace('a', object.name) == ''":              true,
		"object.l.map(x, x).join(',') == ''":                       true,
		"[object.l.exists(x, x)].exists(i, i)":                     true,
		"object.m == object.m && object.a in object.l":             false,
		ten("i", ten("j", "object.m == object.m && i < j")):        true,
		ten("i", ten("j", "i < 3 || j == 4")):                      false,
		ten("i", ten("j", "!(i in object.l || j in object.l)")):    true,
		ten("i", ten("j", "object.a.size() > i")):                  true,
		ten("i", ten("j", "isTrue(object, 'x')")):                  false,
		ten("i", ten("j", "isTrue(object, 'x') || j == object.m")): true,
		strings.Repeat("object.l == object.l && ", 200) + "true":   true,
	} {
		if got := compile(t, env, expression, OutputBool).bounded; got != want {
			t.Errorf("%s: bounded is %v", expression, got)
		}
	}
	for expression, want := range map[string]bool{
		"object.a + 'x'": true, "1 + object.a": false, "object.a + object.b": true, "object.a - object.b": false,
	} {
		name := fmt.Sprintf("v%d", len(env.variables))
		if issues := env.AddVariable(name, expression); issues != nil {
			t.Fatal(issues)
		}
		if got := env.variables[len(env.variables)-1].program.bounded; got != want {
			t.Errorf("variable %s: bounded is %v", expression, got)
		}
	}
}

// ten is a loop of ten steps over a list that is written out.
func ten(variable, body string) string {
	return fmt.Sprintf("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(%s, %s)", variable, body)
}

// TestWrittenLoopsEnd: ten thousand comparisons of large maps end by the clock, though
// no list of the object is gone through by a loop.
func TestWrittenLoopsEnd(t *testing.T) {
	env := environment(t)
	m := map[string]any{}
	for i := range 20_000 {
		m[fmt.Sprint("k", i)] = int64(i)
	}
	p := compile(t, env, ten("a", ten("b", ten("c", ten("d", "object.m == object.m")))), OutputBool)
	ev := env.Evaluation(t.Context(), map[string]any{"m": m}, nil, Limits{Cost: 1e6, Timeout: time.Millisecond})
	defer ev.Close()
	if got, err := p.Bool(ev); err == nil || err.Kind != LimitExceeded {
		t.Errorf("%v, %v; want LimitExceeded", got, err)
	}
}

func bigObject(n int) map[string]any {
	l := make([]any, n)
	for i := range l {
		l[i] = int64(i)
	}
	return map[string]any{"l": l, "text": strings.Repeat("a", n)}
}

// TestLimits: hostile expressions end, by their cost or by the clock.
func TestLimits(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	last := "object.text"
	for i := range 40 {
		name := fmt.Sprintf("v%d", i)
		if issues := env.AddVariable(name, last+" + "+last); issues != nil {
			t.Fatal(issues)
		}
		last = "variables." + name
	}
	lists := "object.l"
	for i := range 40 {
		name := fmt.Sprintf("l%d", i)
		if issues := env.AddVariable(name, lists+" + "+lists); issues != nil {
			t.Fatal(issues)
		}
		lists = "variables." + name
	}
	params, err := env.BindParams(nil)
	if err != nil {
		t.Fatal(err)
	}
	const triple = "object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))"
	for _, c := range []struct {
		expression, want string
		limits           Limits
	}{
		{triple, "limit of 10000", Limits{Cost: 1e4}},
		{triple, "the predicate ran for more than 20ms", Limits{Timeout: 20 * time.Millisecond}},
		{"object.text.matches('(a|aa)+$') && " + triple, "limit of 10000", Limits{Cost: 1e4}},
		{"object.l.all(a, a in object.l)", "limit of 10000", Limits{Cost: 1e4}},
		{"object.text.replace('a', object.text) == '' && false", "limit of 10000", Limits{Cost: 1e4}},
		{lists + ".size() == 0", "limit of 10000", Limits{Cost: 1e4}},
		{last + " == 'x'", "limit of 10000", Limits{Cost: 1e4}},
	} {
		p := compile(t, env, c.expression, OutputBool)
		ev := env.Evaluation(context.Background(), bigObject(2000), params, c.limits)
		if _, err := p.Bool(ev); err == nil || err.Kind != LimitExceeded || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%.60s: got %v, want %s", c.expression, err, c.want)
		}
		ev.Close()
	}

	// An ordinary loop costs by its elements, also where it makes a list.
	ev := env.Evaluation(context.Background(), bigObject(2000), params, Limits{Cost: 100_000})
	if ok, err := compile(t, env, "object.l.filter(a, a >= 0).map(a, a + 1).size() == 2000", OutputBool).Bool(ev); err != nil || !ok {
		t.Errorf("got %v, %v", ok, err)
	}
	ev.Close()

	// One cost for all programs of an evaluation together.
	p := compile(t, env, "object.l.all(a, a >= 0)", OutputBool)
	ev = env.Evaluation(context.Background(), bigObject(1000), params, Limits{Cost: 10_000})
	for i := 0; ; i++ {
		if _, err := p.Bool(ev); err != nil {
			if i == 0 || err.Kind != LimitExceeded {
				t.Errorf("pass %d: %v", i, err)
			}
			break
		}
		if i == 10 {
			t.Error("the cost of earlier programs isn't counted")
			break
		}
	}
	ev.Close()

	// The caller's own context ends it too.
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("stopping"))
	ev = env.Evaluation(ctx, bigObject(10), params, Limits{Timeout: time.Minute})
	if _, err := p.Bool(ev); err == nil || err.Kind != LimitExceeded || err.Error() != "stopping" {
		t.Error(err)
	}
	ev.Close()
}

// TestPanic: a panic while evaluating is an error of the expression.
func TestPanic(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	params, _ := env.BindParams(nil)
	p := compile(t, env, "object.x in ['a']", OutputBool)
	// cel-go looks the value up in a Go map, and bytes can't be a key of one.
	ev := env.Evaluation(context.Background(), map[string]any{"x": []byte("a")}, params, Limits{})
	defer ev.Close()
	if _, err := p.Bool(ev); err == nil || err.Kind != EvaluationError || !strings.HasPrefix(err.Message, "internal error: ") {
		t.Errorf("got %v", err)
	}
}

// TestConcurrent is for the race detector: cel-go labels errors that all
// evaluations share.
func TestConcurrent(t *testing.T) {
	env := environment(t)
	params := testParams(t, env)
	object := parse(t, attached)
	expressions := []string{
		"object.status.state > 1", "variables.state > object.metadata.generation", "object.status.nope == 1",
		"variables.twice == 'AttachedAttached'", "variables.ready.current", "object.status.conditions.exists(c, c.type == 'Ready')",
		"params.size.isLessThan(quantity('1'))", "timestamp(object.metadata.generation + 9223372036854775800) > timestamp('2026-03-02T09:22:48Z')", "params.limits.cpu == quantity('1')",
	}
	var programs []*Program
	for _, e := range expressions {
		programs = append(programs, compile(t, env, e, OutputBool))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1e6, Timeout: time.Minute})
				for _, p := range programs {
					if _, err := p.Bool(ev); err != nil {
						_ = err.Missing(ev)
					}
				}
				ev.Close()
			}
		})
	}
	wg.Wait()
}
