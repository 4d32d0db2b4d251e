//go:build linux

package celexpr

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/racedetector"
)

// hostileObject has what makes expressions dear: a text of 1.5 MB, a list of
// 20,000 texts, a map as large, and a list in a list in a list.
func hostileObject() map[string]any {
	l, m := make([]any, 20_000), map[string]any{}
	for i := range l {
		l[i] = fmt.Sprint("x", i%7)
		m[fmt.Sprint("k", i)] = int64(i)
	}
	nested := any("x")
	for range 5_000 {
		nested = []any{nested}
	}
	return map[string]any{"big": strings.Repeat("a", 1_500_000), "l": l, "m": m, "nested": nested}
}

// cpu is the processor time of this thread: the machine may be busy with others.
func cpu(t *testing.T) time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Whatever an expression tries, it ends soon and takes little memory: refused at
// load, by its cost, by the clock, or because it is harmless after all. Processor
// time is compared with that of a loop over 2,000 elements.
func TestHostileExpressions(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	env, err := NewEnvironment([]Param{{Name: "pattern", Type: "string"}, {Name: "patterns", Type: "list(string)"}, {Name: "size", Type: "string"}})
	if err != nil {
		t.Fatal(err)
	}
	params, err := env.BindParams(map[string]any{
		"pattern": strings.Repeat("(a|aa)*", 200), "patterns": []string{"(x+x+)+y", "(a{300}|b){2}"}, "size": "1e2000000000",
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, last := 0, "object.big"; i < 30; i++ {
		for _, v := range []struct{ name, expression string }{
			{fmt.Sprintf("text%d", i), last + " + " + last},
			{fmt.Sprintf("flag%d", i), strings.ReplaceAll(last, "text", "flag") + " == '' && " + strings.ReplaceAll(last, "text", "flag") + " != ''"},
		} {
			if i > 0 && strings.HasPrefix(v.name, "flag") {
				v.expression = fmt.Sprintf("variables.flag%d && variables.flag%[1]d", i-1)
			}
			if issues := env.AddVariable(v.name, v.expression); issues != nil {
				t.Fatal(issues)
			}
		}
		last = fmt.Sprintf("variables.text%d", i)
	}
	object := hostileObject()
	run := func(expression string, timeout time.Duration) (taken time.Duration, bytes uint64, outcome string) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cpu(t)
		p, issues := env.Compile(expression, OutputBool)
		if issues != nil {
			outcome = "refused: " + issues[0].Message
		} else {
			p.Lint(true)
			FormOf(p)
			LintPaths([]*Program{p})
			ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1e6, Timeout: timeout})
			_, err := p.Bool(ev)
			outcome = "ends"
			if err != nil {
				_ = err.Missing(ev)
				outcome = "error: " + err.Error()
				if err.Kind == LimitExceeded {
					outcome = "limit: " + err.Error()
				}
			}
			ev.Close()
		}
		taken = cpu(t) - start
		runtime.ReadMemStats(&after)
		return taken, after.TotalAlloc - before.TotalAlloc, outcome
	}
	const ordinary = "object.l.slice(0, 2000).all(a, a != '')"
	run(ordinary, time.Minute)
	unit, _, outcome := run(ordinary, time.Minute)
	if outcome != "ends" {
		t.Fatal(outcome)
	}
	// An ordinary loop takes some 10 ms. What is allocated isn't all held at once.
	const mostUnits, mostBytes = 400, 512 << 20
	numbers := "[" + strings.Repeat("1,", 1_300) + "1]"
	for _, c := range []struct{ expression, outcome string }{
		{"object.l.all(a, object.l.all(b, object.l.all(c, a + b + c != '')))", "limit"},
		{numbers + ".all(a, " + numbers + ".all(b, " + numbers + ".all(c, a + b + c > 0)))", "limit"},
		{"object.m.all(k, object.m.all(j, k != j || true))", "limit"},

		// regular expressions
		{"object.big.matches('(a|aa)+$')", "ends"},
		{"object.big.matches('(a{300}|b){2}(x+x+)+y')", "limit"},
		{"object.big.matches('" + strings.Repeat("(.*)", 100) + "b$')", "limit"},
		{"object.big.find('" + strings.Repeat(".*", 100) + "b$') != ''", "limit"},
		{"object.big.findAll('').size() > 0", "limit"},
		{"object.big.matches('" + strings.Repeat("a{1000}", 1000) + "')", "refused"},
		{"object.big.matches('((((((a{10}){10}){10}){10}){10}){10}')", "refused"},
		{"object.big.matches(object.big)", "refused"},
		{"object.l.exists(x, object.big.matches(x))", "refused"},
		{"object.big.matches(variables.text0)", "refused"},
		{"object.big.matches(params.pattern)", "limit"},
		{"params.patterns.exists(p, object.big.matches(p))", "limit"},
		{"object.big.find(params.pattern) != ''", "limit"},
		{"'short'.matches(params.pattern)", "ends"},

		// texts
		{"variables.text29 == ''", "limit"},
		{"variables.flag29", "ends"},
		{strings.Repeat("object.big + ", 200) + "'' == ''", "limit"},
		{strings.Repeat("object.big + ", 1_100) + "'' == ''", "refused"},
		{"(" + strings.Repeat("object.big.lowerAscii() == '' || ", 200) + "false)", "limit"},
		{"object.big.split('').size() > 0", "ends"},
		{"object.big.replace('a', object.big).size() > 0", "limit"},
		{"object.l.join(object.big).size() > 0", "limit"},
		{"object.l.map(x, object.big.lowerAscii()).size() > 0", "limit"},
		{"object.l.map(x, object.big.reverse()).size() > 0", "error"},
		{"object.l.map(x, object.big.charAt(3)).size() > 0", "limit"},
		{"object.l.map(x, object.big.substring(3)).size() > 0", "limit"},
		{"object.l.map(x, object.big.split('')).size() > 0", "limit"},
		{"object.l.map(x, bytes(object.big)).size() > 0", "limit"},
		{"object.l.map(x, x + object.big).size() > 0", "limit"},
		{"object.l.map(x, '%s'.format([object.l])).size() > 0", "limit"},
		{"object.l.map(x, '%s'.format([object.big])).size() > 0", "limit"},
		{"'%.100000000f'.format([1.0]).size() > 0", "ends"},

		// lists
		{"object.l.sort().size() > 0", "ends"},
		{"object.l.distinct().size() > 0", "limit"},
		{"sets.contains(object.l, object.l)", "limit"},
		{"lists.range(2000000000).size() > 0", "error"},
		{"object.l.map(x, lists.range(100000)).size() > 0", "limit"},
		{"object.l.map(x, object.l.sort()).size() > 0", "limit"},
		{"object.l.map(x, object.l.sortBy(y, y)).size() > 0", "limit"},
		{"object.l.map(x, object.l.distinct()).size() > 0", "limit"},
		{"object.l.map(x, object.l + object.l).size() > 0", "limit"},
		{"object.l.map(x, object.l.flatten()).size() > 0", "limit"},
		{"object.l.map(x, object.l.reverse()).size() > 0", "limit"},
		{"object.l.map(x, object.m.map(k, k)).size() > 0", "limit"},
		{"object.l.map(x, x in object.l).size() > 0", "limit"},
		{"object.nested.flatten(5000).size() > 0", "ends"},

		// numbers
		{"quantity('1e2000000000').isGreaterThan(quantity('1e-2000000000'))", "refused"},
		{"isQuantity('1e99999999999')", "refused"},
		{"quantity(params.size).isGreaterThan(quantity('1'))", "error"},

		// sources
		{strings.Repeat("(", 8_000) + "true" + strings.Repeat(")", 8_000), "refused"},
		{strings.Repeat("[", 16_000), "refused"},
		{strings.Repeat("!", 16_000) + "true", "ends"},
		{strings.Repeat("-", 16_000) + "1 == 1", "ends"},
		{strings.Repeat("true ? true : ", 1_100) + "true", "refused"},
		{strings.Repeat("true && ", 2_000) + "true", "ends"},
		{strings.Repeat("object.a == '' || ", 900) + "true", "ends"},
		{"object" + strings.Repeat(".a", 8_000) + " == 1", "refused"},
		{"object" + strings.Repeat(".?a", 200) + ".orValue('') != 'x'", "ends"},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200) + " == []", "ends"},
		{numbers + ".size() > 0", "ends"},
		{strings.Repeat("'\"`{}", 3_000), "refused"},
	} {
		taken, bytes, outcome := run(c.expression, time.Second)
		// On a busy machine the clock may end what else would end by itself.
		if !strings.HasPrefix(outcome, c.outcome) && !strings.HasPrefix(outcome, "limit: the predicate ran for more than") {
			t.Errorf("%.80s: %.200s, want %s", c.expression, outcome, c.outcome)
		}
		if taken > mostUnits*unit {
			t.Errorf("%.80s: %v of CPU, %d times an ordinary loop (%v), want %d at most; %.80s", c.expression, taken, taken/unit, unit, mostUnits, outcome)
		}
		if bytes > mostBytes && !racedetector.Enabled {
			t.Errorf("%.80s: %d MiB allocated, want %d at most; %.80s", c.expression, bytes>>20, mostBytes>>20, outcome)
		}
		t.Logf("%.60s: %v (%d×), %d KiB, %.80s", c.expression, taken.Round(time.Millisecond), taken/unit, bytes>>10, outcome)
	}
}
