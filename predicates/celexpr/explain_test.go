package celexpr

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/donewhen/donewhen/predicates/explain"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// treeCases are expressions whose trees are in testdata/explain/trees.txt.
var treeCases = []string{
	"has(object.status.detail.publish_context) && object.status.state == 'Ready' && object.status.observedGeneration >= 4",
	"object.status.state == 'Ready' || object.status.state == 'Attached'",
	"object.?status.?state.orValue('') == params.role",
	"object.?status.?nope.x.orValue('') == 'x'",
	"!has(object.status.detial.x) && !(object.status.state in ['Attached', 'b'])",
	"has(object.x) ? object.x == 1 : isTrue(object, 'Ready')",
	"condition(object, 'Ready').status == 'False' && condition(object, 'Nope').status == 'True' && isTrue(object, 'Nope')",
	"variables.state == 'x' && variables.twice == 'AttachedAttached'",
	"variables.detail.capacity > 1",
	"object.status.state > 3",
	"object.status.conditions[params.bytes].x == object.spec['a']",
	"object.status.conditions[7].type == 'x'",
	"object.status.?state.optMap(s, s + 'x').orValue('') == 'y'",
	"quantity('1Gi').compareTo(params.size) > 0 && duration('1h') < params.after && params.names == ['b']",
	"object.metadata == {'a': 1} || object.status.detail == {}",
}

// loopCases are macros, whose elements are shown one by one.
var loopCases = []string{
	"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')",
	"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
	"object.status.conditions.exists(c, c.nope == 'x')",
	"object.status.conditions.all(c, c.status == 'True')",
	"object.status.conditions.all(c, has(c.type))",
	"object.status.conditions.exists_one(c, has(c.message) || c.type == 'Odd')",
	"object.status.conditions.filter(c, c.status == 'True').all(c, c.observedGeneration == 3)",
	"object.status.conditions.map(c, c.type) == ['Ready']",
	"object.status.conditions.map(c, c.type == 'Odd', c.reason).size() == 0",
	"object.status.conditions.exists(c, ['Ready', 'Synced'].all(t, c.type == t))",
	"object.metadata.all(k, v, k != 'name')",
	"object.spec.exists(k, k.startsWith('w'))",
	"object.spec.transformMap(k, v, k != 'role', v) == {}",
	"[].exists(x, x == object.spec.role)",
	"object.nope.exists(x, x == 1)",
	"object.status.state.exists(x, x == 1)",
}

// TestExplainTrees: what people read.
func TestExplainTrees(t *testing.T) { trees(t, "trees.txt", treeCases) }

// TestK50_MacrosAreExplainedPerElement: of exists, all, filter, map and nested ones,
// the elements that decided are shown, with their values.
func TestK50_MacrosAreExplainedPerElement(t *testing.T) { trees(t, "loops.txt", loopCases) }

func trees(t *testing.T, file string, expressions []string) {
	env := environment(t)
	params := testParams(t, env)
	object := parse(t, attached)
	var got bytes.Buffer
	for _, expression := range expressions {
		p := compile(t, env, expression, OutputBool)
		ev := env.Evaluation(context.Background(), object, params, Limits{})
		explainer := ev.Explainer()
		n := explainer.Explain(p)
		x := explain.Explanation{
			Rules:     []explain.Rule{{Name: expression, Outcome: n.Outcome, Condition: n}},
			Variables: explainer.Variables(),
		}
		agrees(t, p, ev, n)
		ev.Close()
		var text strings.Builder
		if err := x.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		_, tree, _ := strings.Cut(text.String(), "by\n")
		got.WriteString(tree)
		if reasons, more := n.Reasons(3); n.Outcome != explain.True {
			fmt.Fprintf(&got, "= %s; %d more\n", strings.Join(reasons, "; "), more)
		}
		got.WriteString("\n")
	}
	path := filepath.Join("testdata", "explain", file)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got), rewritten by -update:\n%s", diff)
	}
}

// agrees checks that an explanation is of what judging gives.
func agrees(t *testing.T, p *Program, ev *Evaluation, n *explain.Node) {
	t.Helper()
	holds, err := p.Bool(ev)
	want := explain.False
	switch {
	case err != nil && err.Kind == MissingData:
		want = explain.Missing
	case err != nil:
		want = explain.Error
	case holds:
		want = explain.True
	}
	if n.Outcome != want {
		t.Errorf("%s: explained as %s, judged %v, %v", p.Source(), n.Outcome, holds, err)
	}
}

// The explanation's own way to evaluate gives what judging gives, of every
// expression that other tests here have.
func TestExplainAgreesWithJudging(t *testing.T) {
	env := environment(t)
	params := testParams(t, env)
	objects := []map[string]any{
		parse(t, attached),
		{},
		parse(t, "{status: null}"), parse(t, "{status: {state: Attached, conditions: [{type: Ready, status: 'True'}]}}"),
		parse(t, "{status: {state: 5, conditions: {a: b}}, spec: [], metadata: {labels: {x: y}}}"),
	}
	var expressions []string
	expressions = append(append(expressions, treeCases...), loopCases...)
	expressions = append(expressions,
		"object.?a.orValue(object.b.c) == 1", "object.?status.or(object.?spec).hasValue()", "object.?status.?state.or(optional.of('x')).value() == 'x'",
		"optional.none().orValue(1) == 1", "[1, 2, 3].sum() == 6 && object.status.conditions.map(c, c.type).isSorted()",
		"object.status.state.matches('^A.*d$') && object.status.state.find('t+') == 'tt'",
		"dyn(object.status.state) == 'Attached' || type(object.status) == map", "object.metadata.labels[?'x'].orValue('') in ['y', 'z']",
		"object.status.conditions.map(c, [c.type, c.status]).exists(p, p[0] == 'Ready' && p[1] == 'True')",
		"false && object.nope", "true || object.nope", "object.nope ? true : false", "object.status.conditions.exists(c, c.type == 'Ready' || c.nope)",
		"cidr('10.0.0.0/8').containsIP('10.1.2.3') && url('https://a.b/c').getHost() == 'a.b' && isSemver('1.2.3')",
		"'%s-%d'.format([object.metadata.name, 3]) == 'x-3'", "sets.contains(['a', 'b'], [object.spec.role]) || lists.range(3).all(i, i < 3)",
	)
	for _, expression := range expressions {
		p := compile(t, env, expression, OutputBool)
		for _, object := range objects {
			ev := env.Evaluation(context.Background(), object, params, Limits{Timeout: time.Minute, Cost: 1e9})
			agrees(t, p, ev, ev.Explainer().Explain(p))
			ev.Close()
		}
	}
}

const secret = "hunter2-hunter2-hunter2" // 23 characters

// hostile are expressions that try to get a secret shown.
var hostile = []string{
	"object.data.token == 'x'", "'x' + object.data.token == 'y'", "object.data.token + object.data.token == 'y'",
	"object.data.token.size() == 3", "string(object.data.token.size()) == '3'", "object.data.token.size() * 2 == 3",
	"object.data == {}", "object == {}", "object.data.map(k, k) == []", "object.data.exists(k, v, v == 'x')",
	"object.data.transformList(k, v, v).join(',') == ''", "object.metadata.labels[object.data.token] == 'x'",
	"object[object.data.token].a == 1", "{'a': object.data.token}.a == 'x'", "[string(object.data.token), 'b'].exists(x, x == 'b')",
	"[object.data.token][0] == 'x'", "int(object.data.token) == 1", "duration(object.data.token) < duration('1s')", "timestamp(object.data.token) < timestamp('2026-01-01T00:00:00Z')",
	"object.data.?token.orValue('') == 'x'", "object.?data.?token.optMap(t, t + 'x').orValue('') == 'x'",
	"has(object.data.token) ? object.data.token == 'y' : false", "(has(object.spec) ? object.data.token : 'b') == 'c'",
	"object.data.token.split('-') == []", "object.data.token.split('-').exists(p, p == 'x')", "object.data.token.split('-').all(p, p == 'hunter2')",
	"['h', 'u'].filter(c, object.data.token.startsWith(c)) == []", "['g', 'h'].exists(c, object.data.token.startsWith(c))",
	"lists.range(50).exists(i, i == object.data.token.size())", "lists.range(50).filter(i, i == object.data.token.size()) == []",
	"object.spec.env.exists(e, e.value == 'x')", "object.spec.env.map(e, e.value) == []", "object.spec.env.filter(e, e.name == 'DB_PASSWORD')[0].value == 'x'",
	"object.spec.env[0].value == 'x'", "object.spec.env == []", "object.spec.secrets.a == 'x'", "object.spec.nested.deep.clientSecret == 'x'",
	"object.spec['secrets']['a'] == 'x'", "object.spec.plain == 'x'", "object.spec.list[0].pin == 'x'", "object.spec.list.exists(l, l.pin == 'x')",
	"object.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] == ''", "object.metadata.annotations == {}",
	"object.metadata == {}", "object.metadata.annotations.exists(k, v, v.contains('zzz'))",
	"params.key == 'x'", "params.key + 'x' == 'y'", "params.key.size() == 1", "[params.key] == []", "object.spec.env[params.key.size()].name == 'x'",
	"variables.token == 'x'", "variables.prefixed == 'x'", "variables.size == 1", "variables.all == {}", "variables.spec.secrets.a == 'x'", "variables.where[variables.token] == 1",
	"variables.spec.env.map(e, e.value)[0] == 'x'", "variables.fromParam == 'x'", "variables.broken == 1", "object.metadata.labels[variables.token] == 'a'",
	"condition(object, 'Ready').message == 'x'", "condition(object, object.data.token).status == 'x'", "quantity(object.data.token).isGreaterThan(quantity('1'))",
	"object.spec.env.map(e, e.value + 'x').join('') == 'x'", "object.spec.env.exists_one(e, e.value.contains('zz'))", "object.data.token.find('h.*') == 'x'",
	"object.data.token > 5", "object.data.token.nope == 1", "object.spec.env.exists(e, e.value > 5)", "object.spec.env.transformMap(i, e, e.value) == {}",
	"optional.of(object.data.token).orValue('') == 'x'", "dyn(object.data.token) == 'x'", "(object.data.token == 'x' ? 'a' : '23') == 'b'",
	"object.spec.list.map(l, l.pin).exists(p, p == 'x')", "object.stringData.x == ''", "object.binaryData.x == ''", "object.status.wrapped.secrets == ''",
}

// TestExplainIsBounded: however large what an expression works on, explaining it
// ends, and what it says is short.
func TestExplainIsBounded(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	params, err := env.BindParams(nil)
	if err != nil {
		t.Fatal(err)
	}
	object := bigObject(3000)
	object["m"] = map[string]any{}
	for i := range 3000 {
		object["m"].(map[string]any)[fmt.Sprintf("%05d", i)] = strings.Repeat("x", 100)
	}
	for _, expression := range []string{
		"object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))",
		"object.l.exists(a, object.l.exists(b, a + b < 0))",
		"object.l.exists(a, a < 0)", "object.l.all(a, a >= 0)", "object.m.exists(k, v, v == k)", "object.m.all(k, v, v != k)",
		"object.text.matches('(a*)*b') || object.text == ''",
		"object.l == []", "object.m == {}", "object.l.map(a, object.text) == []",
		"[1, 2, 3, 4, 5].exists(a, [1, 2, 3, 4, 5].exists(b, [1, 2, 3, 4, 5].exists(c, [1, 2, 3, 4, 5].exists(d, a + b + c + d < 0))))",
		strings.Repeat("object.a == 'x' && ", 800) + "true",
		strings.Repeat("(", 40) + "object.a" + strings.Repeat(" + 1)", 40) + " == 1",
	} {
		p := compile(t, env, expression, OutputBool)
		ev := env.Evaluation(context.Background(), object, params, Limits{Timeout: time.Second, Cost: 1e6})
		start := time.Now()
		explainer := ev.Explainer()
		n := explainer.Explain(p)
		took := time.Since(start)
		ev.Close()
		var text bytes.Buffer
		x := explain.Explanation{Rules: []explain.Rule{{Name: "done[0]", Condition: n}}}
		if err := x.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		// The deadline is looked at often, but this machine may be busy.
		if took > 20*time.Second {
			t.Errorf("%.60s: took %v", expression, took)
		}
		if text.Len() > 700_000 || explainer.nodes > maxNodes+1 && !strings.Contains(text.String(), "more than can be shown") {
			t.Errorf("%.60s: %d bytes of %d nodes", expression, text.Len(), explainer.nodes)
		}
	}
	// With 3,000 elements, three are shown and the others counted.
	p := compile(t, env, "object.l.exists(a, a < 0)", OutputBool)
	ev := env.Evaluation(context.Background(), object, params, Limits{})
	defer ev.Close()
	if e := ev.Explainer().Explain(p).Elements; e.Count != 3000 || len(e.Shown) != 3 || e.More != 2997 {
		t.Errorf("%+v", e)
	}
}

// An explanation that runs out of time says so, and what it knows by then.
func TestExplainStopsAtTheDeadline(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	params, _ := env.BindParams(nil)
	p := compile(t, env, "object.text == 'b' && object.l.all(a, object.l.all(b, a + b >= 0))", OutputBool)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("the predicate ran for more than 50ms"))
	ev := env.Evaluation(ctx, bigObject(3000), params, Limits{})
	defer ev.Close()
	n := ev.Explainer().Explain(p)
	if n.Outcome != explain.Error || n.Note != "the predicate ran for more than 50ms" {
		t.Errorf("%s: %s", n.Outcome, n.Note)
	}
	if len(n.Operands) == 0 || n.Operands[0].Outcome != explain.False {
		t.Errorf("what was evaluated before isn't there: %+v", n.Operands)
	}
}

// One program may be explained by many at once.
func TestExplainConcurrently(t *testing.T) {
	env := environment(t)
	params := testParams(t, env)
	object := parse(t, attached)
	p := compile(t, env, "object.status.conditions.exists(c, c.status == 'x') || variables.twice == '' || object.status > 4", OutputBool)
	explained := func() string {
		ev := env.Evaluation(context.Background(), object, params, Limits{Timeout: time.Minute})
		defer ev.Close()
		reasons, _ := ev.Explainer().Explain(p).Reasons(9)
		return strings.Join(reasons, "; ")
	}
	var wait sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		wait.Go(func() {
			for range 50 {
				got[i] = explained()
			}
		})
	}
	wait.Wait()
	for _, g := range got {
		if g != explained() {
			t.Errorf("got %s, want %s", g, explained())
		}
	}
}
