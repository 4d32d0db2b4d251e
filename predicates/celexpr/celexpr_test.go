package celexpr

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// environment is what most tests here compile in.
func environment(t testing.TB) *Environment {
	t.Helper()
	env, err := NewEnvironment([]Param{
		{"role", "string"},
		{"bytes", "int"},
		{"ratio", "double"},
		{"force", "bool"},
		{"after", "duration"},
		{"size", "quantity"},
		{"names", "list(string)"},
		{"limits", "map(string, quantity)"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{
		{"state", "object.?status.?state.orValue('')"},
		{"detail", "object.status.detail"},
		{"ready", "condition(object, 'Ready')"},
		{"twice", "variables.state + variables.state"},
		{"lit", "{'a': {'b': 1}}"},
	} {
		if issues := env.AddVariable(v[0], v[1]); issues != nil {
			t.Fatalf("variable %s: %v", v[0], issues)
		}
	}
	return env
}

func testParams(t testing.TB, env *Environment) *Params {
	t.Helper()
	params, err := env.BindParams(map[string]any{
		"role": "Primary", "bytes": int64(1 << 60), "ratio": 0.5, "force": true, "after": 90 * time.Second,
		"size": resource.MustParse("10Gi"), "names": []any{"a", "b"}, "limits": map[string]any{"cpu": "100m"},
		"undeclared": 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return params
}

func compile(t testing.TB, env *Environment, expression string, want Output) *Program {
	t.Helper()
	p, issues := env.Compile(expression, want)
	if issues != nil {
		t.Fatalf("%s: %v", expression, issues)
	}
	return p
}

// parse reads an object as an informer would have it: whole numbers are int64.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const attached = `
apiVersion: disk.csi.azure.com/v1beta2
kind: AzVolumeAttachment
metadata: {name: x, generation: 3, labels: {a/b: c}, finalizers: [f]}
spec: {volumeName: v, role: Primary, weird-key: 1}
status:
  observedGeneration: 3
  state: Attached
  detail: {publish_context: {LUN: "3"}, capacity_bytes: 1152921504606846977}
  error: null
  conditions:
  - {type: Ready, status: "True", reason: Good, message: all well, observedGeneration: 2}
  - {type: Synced, status: "True", observedGeneration: 3}
  - {type: Odd, status: true, reason: 5}
`

// TestBool evaluates conditions that have a value.
func TestBool(t *testing.T) {
	env := environment(t)
	params := testParams(t, env)
	object := parse(t, attached)
	for _, expression := range []string{
		"object.kind == 'AzVolumeAttachment'",
		"has(object.status) && has(object.status.detail) && !has(object.status.nope)",
		"has(object.status.error)", // true on an explicit null
		"object.status.error == null",
		"object.metadata.labels['a/b'] == 'c' && object.metadata.labels[?'a/b'].hasValue() && object.metadata.labels.`a/b` == 'c'",
		"object.?status.?state.orValue('') == 'Attached'",
		"object.?nope.?state.orValue('none') == 'none'",
		"object.status.?detail.?publish_context[?'LUN'].orValue('') == '3'",

		// int64 exactly: both would be equal as floating-point numbers
		"object.status.detail.capacity_bytes == 1152921504606846977",
		"object.status.detail.capacity_bytes != 1152921504606846976",
		"object.status.detail.capacity_bytes > params.bytes",
		"object.metadata.generation + 1 == 4",
		"object.metadata.generation == 3.0 && object.metadata.generation < 3.5",

		"params.role == object.spec.role && params.force && params.ratio < 1",
		"params.after > duration('1m') && params.after == duration('90s')",
		"params.size.isGreaterThan(quantity('1Gi')) && params.limits['cpu'] == quantity('0.1')",
		"'b' in params.names && params.names.size() == 2 && params.names.exists(n, n == 'a')",

		// dotted roots unwrap chained optionals; a map named variables would not
		"variables.state == 'Attached' && variables.twice == 'AttachedAttached'",
		"variables.detail.?publish_context.?LUN.orValue('') == '3'",
		"variables.detail.?nope.?LUN.orValue('absent') == 'absent'",
		"variables.lit.?a.?b.orValue(0) == 1 && variables.lit[?'z'].?b.orValue(7) == 7",
		"params.limits[?'cpu'].hasValue() && !params.limits.?memory.hasValue()",

		"variables.ready.present && variables.ready.status == 'True' && variables.ready.reason == 'Good' && variables.ready.message == 'all well'",
		"variables.ready.observedGeneration == 2 && !variables.ready.current && has(variables.ready.reason)",
		"!isTrue(object, 'Ready') && isTrue(object, 'Synced')",
		"condition(object, 'Nope') == condition(object, 'Neither') && condition(object, 'Nope').status == 'Unknown' && !condition(object, 'Nope').present",
		"condition(object, 'Odd').present && condition(object, 'Odd').status == 'Unknown' && condition(object, 'Odd').reason == ''",
		"[condition(object, 'Ready')].all(c, c.status == 'True') && dyn(condition(object, 'Ready')).status == 'True'",
		"condition({'status': {'conditions': [{'type': 'A', 'status': 'True'}]}}, 'A').present",

		// libraries
		"'aXb'.lowerAscii() == 'axb' && 'a,b'.split(',').join('-') == 'a-b' && '%s=%d'.format(['a', 1]) == 'a=1'",
		"sets.contains([1, 2], [2]) && [3, 1].sort() == [1, 3] && [1, 2].sum() == 3 && [1, 2].isSorted()",
		"'a1'.find('[0-9]') == '1' && 'a1'.matches('^a')",
		"url('https://h:1/p').getHost() == 'h:1' && isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
		"semver('1.2.3').major() == 1 && isQuantity('1Gi') && !format.dns1123Label().validate('a').hasValue()",
		"{'a': 1}.all(k, v, k == 'a' && v == 1) && [1, 2].transformList(i, v, i + v) == [1, 3]",
		"timestamp('2026-03-02T09:22:48Z').getHours() == 9",
	} {
		p, issues := env.Compile(expression, OutputBool)
		if issues != nil {
			t.Errorf("%s: %v", expression, issues)
			continue
		}
		ev := env.Evaluation(context.Background(), object, params, Limits{Timeout: time.Minute, Cost: 1e6})
		if got, err := p.Bool(ev); err != nil || !got {
			t.Errorf("%s: got %v, %v", expression, got, err)
		}
		ev.Close()
	}
}

// TestConditionIsTotal feeds condition() objects of every shape.
func TestConditionIsTotal(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := compile(t, env, "'%s %s %d %s'.format([condition(object, 'A').present, condition(object, 'A').status, condition(object, 'A').observedGeneration, condition(object, 'A').current])", OutputString)
	is := compile(t, env, "isTrue(object, 'A')", OutputBool)
	params, err := env.BindParams(nil)
	if err != nil {
		t.Fatal(err)
	}
	for object, want := range map[string]string{
		`{}`:                                   "false Unknown 0 true",
		`{status: null}`:                       "false Unknown 0 true",
		`{status: text}`:                       "false Unknown 0 true",
		`{status: {conditions: null}}`:         "false Unknown 0 true",
		`{status: {conditions: {A: x}}}`:       "false Unknown 0 true",
		`{status: {conditions: [null, 1, A]}}`: "false Unknown 0 true",
		`{status: {conditions: [{type: 5}, {status: "True"}, {type: A}]}}`:                                       "true Unknown 0 true",
		`{status: {conditions: [{type: A, status: "False"}, {type: A, status: "True"}]}}`:                        "true False 0 true",
		`{metadata: text, status: {conditions: [{type: A, status: "True", observedGeneration: x}]}}`:             "true True 0 true",
		`{metadata: {generation: 2}, status: {conditions: [{type: A, status: "True", observedGeneration: 1}]}}`:  "true True 1 false",
		`{metadata: {generation: 2}, status: {conditions: [{type: A, status: "True", observedGeneration: 2}]}}`:  "true True 2 true",
		`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: A, status: "True"}]}}`:  "true True 0 false",
		`{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: A, status: "False"}]}}`: "true False 0 true",
		`{metadata: {generation: 2}, status: {observedGeneration: 1}}`:                                           "false Unknown 0 false",
	} {
		ev := env.Evaluation(context.Background(), parse(t, object), params, Limits{})
		got, evalErr := p.Text(ev)
		if evalErr != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", object, got, evalErr, want)
		}
		if got, err := is.Bool(ev); err != nil || got != strings.Contains(want, "true True") && strings.HasSuffix(want, "true") {
			t.Errorf("%s: isTrue is %v, %v", object, got, err)
		}
		ev.Close()
	}
}

// TestErrors holds cel-go's texts, which missing() reads, and our classification.
func TestErrors(t *testing.T) {
	env := environment(t)
	if issues := env.AddVariable("broken", "object.spec.role > 1"); issues != nil {
		t.Fatal(issues)
	}
	if issues := env.AddVariable("deep", "variables.detail.nope.deeper"); issues != nil {
		t.Fatal(issues)
	}
	params := testParams(t, env)
	object := parse(t, attached)
	for _, c := range []struct {
		expression string
		kind       Kind
		want       string
	}{
		{"object.status.nope == 1", MissingData, "object.status.nope (no such key: nope)"},
		{"object.nope.deeper.yet == 1", MissingData, "object.nope (no such key: nope)"},
		{"has(object.nope.deeper)", MissingData, "object.nope (no such key: nope)"},
		{"object.status.detail.detail == 1", MissingData, "object.status.detail.detail (no such key: detail)"},
		{"object.status.error.code == ''", MissingData, "object.status.error.code (no such key: code)"}, // through null
		{"object.status.state.code == ''", MissingData, "object.status.state.code (no such key: code)"}, // through a scalar
		{"object.metadata.labels['x/y'] == ''", MissingData, "object.metadata.labels['x/y'] (no such key: x/y)"},
		{"object.metadata.finalizers[2] == ''", MissingData, "object.metadata.finalizers[2] (no such element: 2)"},
		{"object.metadata.labels[params.role] == ''", MissingData, "object.metadata.labels[…] (no such key: Primary)"},
		{"[1, 2][object.metadata.generation] == 1", MissingData, "no such element: 3"},
		{"object.metadata.finalizers.map(f, f)[5] == ''", MissingData, "no such element: 5"},
		{"params.limits['memory'] == quantity('1')", MissingData, "params.limits.memory (no such key: memory)"},
		{"object.?nope.?deeper.value() == 1", MissingData, "object.nope (no value)"},
		{"variables.detail.nope == 1", MissingData, "variables.detail.nope (no such key: nope)"},
		{"variables.deep == 1", MissingData, "variables.detail.nope (no such key: nope)"},
		{"object.status.conditions.exists(c, c.nope == 1)", MissingData, "c.nope (no such key: nope)"},
		{"true && object.status.nope", MissingData, "object.status.nope (no such key: nope)"},

		{"object.status.state > 1", EvaluationError, "no such overload"},
		{"variables.broken", EvaluationError, "variables.broken: no such overload"},
		{"1 / (object.metadata.generation - 3) == 0", EvaluationError, "division by zero"},
		{"int(object.status.state) == 0", EvaluationError, "type conversion error from 'string' to 'int'"},
		{"object.status.state.substring(100) == ''", EvaluationError, "index out of range: 100"},
		{"quantity(object.status.state).isInteger()", EvaluationError, "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{"object.metadata.generation", EvaluationError, "the expression's value is of type int, want bool"},
		{"object.status.detail", EvaluationError, "the expression's value is of type map, want bool"},
		{"dyn(object.?status.?state)", EvaluationError, "the expression's value is of type optional_type, want bool"},
	} {
		ev := env.Evaluation(context.Background(), object, params, Limits{Timeout: time.Minute, Cost: 1e6})
		_, err := compile(t, env, c.expression, OutputBool).Bool(ev)
		switch {
		case err == nil:
			t.Errorf("%s: no error", c.expression)
		case err.Kind != c.kind || err.Missing(ev) != c.want:
			t.Errorf("%s: got %d %q, want %d %q", c.expression, err.Kind, err.Missing(ev), c.kind, c.want)
		}
		ev.Close()
	}
}

// TestVariablesAreEvaluatedOnce counts by way of the evaluation's memory.
func TestVariablesAreEvaluatedOnce(t *testing.T) {
	env := environment(t)
	params := testParams(t, env)
	p := compile(t, env, "variables.twice == 'AttachedAttached' && variables.state == 'Attached'", OutputBool)
	ev := env.Evaluation(context.Background(), parse(t, attached), params, Limits{})
	defer ev.Close()
	for range 2 {
		if ok, err := p.Bool(ev); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	var known []string
	for i, v := range ev.memo {
		if v != nil {
			known = append(known, env.variables[i].name)
		}
	}
	if got := fmt.Sprint(known); got != "[state twice]" {
		t.Errorf("evaluated %v; detail and the others weren't needed", got)
	}
	// A changed object shows that it is memory that answers.
	ev.object = map[string]any{}
	if ok, err := p.Bool(ev); err != nil || !ok {
		t.Errorf("evaluated again: %v, %v", ok, err)
	}
}

func TestParams(t *testing.T) {
	for _, typ := range []string{"", "integer", "list", "list()", "list(int", "map(int, string)", "map(string)", "timestamp", "list(list(list(list(list(list(list(list(list(int)))))))))"} {
		if _, err := NewEnvironment([]Param{{"a", typ}}); err == nil {
			t.Errorf("type %q is accepted", typ)
		}
	}
	for _, name := range []string{"", "a-b", "1a", "a.b", "true", "in", "ä"} {
		if _, err := NewEnvironment([]Param{{name, "int"}}); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	if _, err := NewEnvironment([]Param{{"a", "int"}, {"a", "int"}}); err == nil {
		t.Error("a param is declared twice")
	}
	// Words that CEL reserves can be names: they are only used behind a dot.
	for _, name := range []string{"namespace", "if", "for", "as", "package", "function", "return", "var", "import", "while", "let", "loop", "const", "break", "continue", "else", "void", "_x", "A1"} {
		env, err := NewEnvironment([]Param{{name, "int"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if issues := env.AddVariable(name, "params."+name+" + 1"); issues != nil {
			t.Errorf("%s: %v", name, issues)
		}
		compile(t, env, "variables."+name+" == 2 && object.x.exists(x, x == params."+name+")", OutputBool)
	}
	good := map[string][]any{
		"string":                    {"x"},
		"int":                       {int64(1), 1, 1.0},
		"double":                    {1.5, 1, int64(2)},
		"bool":                      {true},
		"duration":                  {time.Second, "1m"},
		"quantity":                  {"1Gi", resource.MustParse("1"), int64(5)},
		"list(map(string, int))":    {[]any{map[string]any{"a": 1}}, []map[string]int64{{"a": 1}}, []any{}},
		"map(string, list(double))": {map[string]any{"a": []any{1.5}}, map[string][]float64{}},
	}
	bad := map[string][]any{
		"string": {1, nil, true}, "int": {"1", 1.5, 1e300, nil}, "double": {"1"}, "bool": {"true"}, "duration": {1, "x"},
		"quantity": {"x", 1.5, (*resource.Quantity)(nil)}, "list(int)": {1, []any{"a"}, nil}, "map(string, int)": {[]any{}, map[int]any{1: 1}, map[string]any{"a": "b"}},
	}
	for typ, values := range good {
		env, err := NewEnvironment([]Param{{"a", typ}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if _, err := env.BindParams(map[string]any{"a": v}); err != nil {
				t.Errorf("%s from %#v: %v", typ, v, err)
			}
		}
	}
	for typ, values := range bad {
		env, err := NewEnvironment([]Param{{"a", typ}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if _, err := env.BindParams(map[string]any{"a": v}); err == nil || !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("%s from %#v: %v", typ, v, err)
			}
		}
		if _, err := env.BindParams(nil); err == nil {
			t.Error("a param without a value is accepted")
		}
	}
}

// TestFunctions holds the list of functions; the diff against Kubernetes' own
// environment needs more modules than this one should have.
func TestFunctions(t *testing.T) {
	c, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	functions := c.base.Functions()
	var absent []string
	for _, name := range []string{
		"condition", "isTrue",
		"quantity", "isQuantity", "isInteger", "asInteger", "asApproximateFloat", "compareTo", "isGreaterThan", "isLessThan", "sign", "add", "sub",
		"find", "findAll", "matches",
		"isSorted", "sum", "min", "max", "indexOf", "lastIndexOf", "slice", "flatten", "sort", "distinct", "first", "last", "lists.range", "includes",
		"url", "isURL", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery",
		"ip", "isIP", "ip.isCanonical", "family", "isLoopback", "cidr", "isCIDR", "containsIP", "containsCIDR", "masked", "prefixLength",
		"semver", "isSemver", "major", "minor", "patch",
		"format.named", "format.dns1123Label", "validate",
		"charAt", "format", "join", "lowerAscii", "upperAscii", "replace", "split", "strings.quote", "substring", "trim",
		"sets.contains", "sets.equivalent", "sets.intersects",
		"optional.of", "optional.none", "orValue", "or", "value", "hasValue",
	} {
		if _, ok := functions[name]; !ok {
			absent = append(absent, name)
		}
	}
	sort.Strings(absent)
	if absent != nil {
		t.Errorf("absent: %v", absent)
	}
	for _, name := range []string{"authorizer", "check", "jsonpatch.escapeKey"} {
		if _, ok := functions[name]; ok {
			t.Errorf("%s doesn't belong here", name)
		}
	}
}
