package celexpr

import (
	"fmt"
	"strings"
	"testing"
)

// TestIssues holds what a user reads for each usual mistake: position, message
// and hint. It also pins the messages of cel-go that issues.go reads.
func TestIssues(t *testing.T) {
	env := environment(t)
	for _, c := range []struct {
		expression string
		want       string
	}{
		{"params.rol == 'x'", "1:1 params has no 'rol' [did you mean 'role'?]"},
		{"params.unlike == 'x'", "1:1 params has no 'unlike' [declare it under spec.params]"},
		{"variables.stat == ''", "1:1 variables has no 'stat' [did you mean 'state'?]"},
		{"has(params.role)", "1:5 params.role can only be used as it is, without has(), '?' or brackets [it always has a value]"},
		{"params.?role.orValue('') == ''", "1:1 params.role can only be used as it is, without has(), '?' or brackets [it always has a value]"},
		{"params['rol'] == ''", "1:1 params has no 'rol' [did you mean 'role'?]"},
		{"size(params) > 0", "1:6 params can't be used as a whole [name one of them: params.role]"},

		{"status.state == 'x'", "1:1 undeclared reference to 'status' [the root variable is object: object.status]"},
		{"has(status)", "1:5 has() needs a field [the root variable is object: has(object.status)]"}, // K39
		{"has(status.state)", "1:5 undeclared reference to 'status' [the root variable is object: object.status]"},
		{"has(object)", "1:5 has() needs a field, like has(object.status) [for a key use [?'key'].hasValue()]"},
		{"has(object.metadata.labels['a/b'])", "1:27 has() takes a field, not a key in brackets [write has(object.metadata.labels.`a/b`) with back-quotes, or object.metadata.labels[?'a/b'].hasValue()]"},
		{"has(object.spec.list[0])", "1:21 has() needs a field, like has(object.status) [for a key use [?'key'].hasValue()]"},
		{"condition(object, 'Ready').status == true", "1:35 '==' can't be applied to (string, bool) [a text isn't a bool: a condition's status is 'True' or 'False', in quotes]"},
		{"objct.status == 1", "1:1 undeclared reference to 'objct' [did you mean 'object'?]"},
		{"self.status == 1", "1:1 undeclared reference to 'self' [the root variable is object]"},
		{"oldObject.status == 1", "1:1 undeclared reference to 'oldObject' [a predicate sees one observation of one object only]"},
		{"now > 1", "1:1 undeclared reference to 'now' [a predicate has no clock; use 'for' on a rule, or stableFor]"},
		{"role == 'x'", "1:1 undeclared reference to 'role' [write params.role]"},
		{"state == 'x'", "1:1 undeclared reference to 'state' [write variables.state]"},
		{"namespace == 'x'", `1:1 "namespace" is a reserved word [the root variable is object: object.namespace]`},

		{"condition(object, 'Ready').statuz == 'True'", "1:27 no field 'statuz' [did you mean 'status'?]"},
		{"variables.ready.mesage == ''", "1:16 no field 'mesage' [did you mean 'message'?]"},
		{"conditoin(object, 'Ready').status == 'True'", "1:10 no function 'conditoin' [did you mean 'condition'?]"},
		{"now() > 1", "1:4 no function 'now' [a predicate has no clock; use 'for' on a rule, or stableFor]"},
		{"object.metadata.name.startWith('a')", "1:31 no function 'startWith' [did you mean 'startsWith'?]"},
		{"object.status.conditions.exist(c, true)", "1:31 no function 'exist' [did you mean 'exists'?] | 1:32 undeclared reference to 'c' [the root variable is object: object.c]"},
		{"object.status.conditions.exists(c.status == 'True')", "1:32 exists() needs a name for the element and an expression [for example object.spec.items.exists(x, x.name != '')] | 1:33 undeclared reference to 'c' [the root variable is object: object.c]"},

		{"params.role > 1", "1:13 '>' can't be applied to (string, int) [convert with int(…), double(…) or string(…)]"},
		{"'a' in 'abc'", "1:5 'in' can't be applied to (string, string)"},
		{"!params.role", "1:1 '!' can't be applied to (string)"},
		{"params.role.contains(1)", "1:21 contains() can't be applied to string.(int) [convert with int(…), double(…) or string(…)]"},
		{"(object.?a > 1)", "1:12 '>' can't be applied to (optional(dyn), int) [say what an absent value means with .orValue(…)]"},
		{"(params.force ? 1 : 'a') == 1", "1:15 '?:' can't be applied to (bool, int, string) [convert with int(…), double(…) or string(…)]"},
		{"condition(object, 'a') == 1", "1:24 '==' can't be applied to (condition, int)"},
		{"params.role.length == 1", "1:12 type 'string' does not support field selection"},

		{"params.role", "1:7 the expression's value is of type string, want bool [write a comparison]"},
		{"object.?status.?ready", "1:15 the expression's value is of type optional, want bool [say what an absent value means, for example .orValue(false)]"},
		{"condition(object, 'a')", "1:10 the expression's value is of type condition, want bool [write a comparison]"},
		{"null", "1:1 the expression's value is of type null, want bool [write a comparison]"},

		{"object.status.state = 'x'", "1:21 unexpected '=' [compare with '=='] | 1:23 unexpected \"'x'\""},
		{"object.a == ‘x’", "1:13 unexpected \"‘\" [write straight quotes: ' or \"] | 1:15 unexpected \"’\" [write straight quotes: ' or \"]"},
		{"object.a == 1 & object.b == 2", "1:15 unexpected '&' [write '&&'] | 1:17 unexpected \"object\""},
		{"object.a == 1 and object.b == 2", "1:15 unexpected \"and\" [write '&&']"},
		{"object.a == 1 or object.b == 2", "1:15 unexpected \"or\" [write '||']"},
		{"not object.a", "1:5 unexpected \"object\" [write '!' for not]"},
		{"# a comment\ntrue", "1:1 unexpected '#' [CEL comments start with //]"},
		{"object.a == 'x", "1:13 unterminated string [close the quote; outside a block scalar (|-) ' #' starts a YAML comment]"},
		{"object.a ==", "1:12 the expression ends too early"},
		{"(object.a || object.b", "1:22 \")\" is missing"},
		{"object.", "1:8 the expression ends too early"},
		{"  \n ", "1:1 the expression is empty"},
		{"a b", "1:3 unexpected \"b\""},
		{"object.name matches 'a'", "1:13 unexpected \"matches\""},

		// several at once, over lines, in characters rather than bytes
		{"object.a == 1 &&\n  '😀' + params.rol == foo &&\n\tbar", "2:9 params has no 'rol' [did you mean 'role'?] | 2:23 undeclared reference to 'foo' [the root variable is object: object.foo] | 3:2 undeclared reference to 'bar' [the root variable is object: object.bar]"},

		// constants are checked too, by validators and by planning
		{"object.name.matches('(')", "1:21 invalid matches argument"},
		{"duration('x') == params.after", "1:10 invalid duration argument"},
		{"timestamp('x') == timestamp('y')", "1:11 invalid timestamp argument | 1:29 invalid timestamp argument"},
		{"'%d'.format(['a']) == ''", "1:14 error during formatting: decimal clause can only be used on integers, was given string"},
		{"object.a == 1 &&\n int('abc') == 1", "2:5 type conversion error from 'string' to 'int'"},
		{"object.a == 1 && object.name.find('(') == ''", "1:35 error parsing regexp: missing closing ): `(`"},
		{"[1, 'a'] == []", "1:5 expected type 'int' but found 'string'"},

		{"object.a.all(a, a.all(b, b.all(c, c.all(d, d.all(e, e)))))", "1:49 more than 4 loops within one another [move an inner list into a variable]"},
		{strings.Repeat(" ", maxSource) + "x", "1:1 the expression has 16385 characters, more than 16384 [split it into variables]"},
	} {
		p, issues := env.Compile(c.expression, OutputBool)
		if got := render(issues); got != c.want || p != nil {
			t.Errorf("%s\n got: %s\nwant: %s", c.expression, got, c.want)
		}
	}
	if _, issues := env.Compile("object.?status.?message", OutputString); render(issues) != "1:15 the expression's value is of type optional, want string [say what an absent value means, for example .orValue('')]" {
		t.Error(render(issues))
	}
	if _, issues := env.Compile("object.metadata.generation + 1", OutputString); render(issues) != "1:28 the expression's value is of type int, want string [convert it with string(…)]" {
		t.Error(render(issues))
	}
	if _, issues := env.Compile("object.status.message", OutputString); issues != nil {
		t.Error("dyn is checked when it is evaluated:", render(issues))
	}
}

func render(issues []Issue) string {
	var out []string
	for _, i := range issues {
		s := fmt.Sprintf("%d:%d %s", i.Line, i.Column, i.Message)
		if i.Hint != "" {
			s += " [" + i.Hint + "]"
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

// TestVariableIssues: a variable that doesn't compile gives its own issues only.
func TestVariableIssues(t *testing.T) {
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := render(env.AddVariable("a", "nope + 1")); got != "1:1 undeclared reference to 'nope' [the root variable is object: object.nope]" {
		t.Error(got)
	}
	if got := render(env.AddVariable("b", "variables.a.x == 'y' && variables.c")); got != "1:25 variables has no 'c' [declare it under spec.variables]" {
		t.Error(got, "- a variable sees the ones before it only")
	}
	if issues := env.AddVariable("c", "variables.a.x"); issues != nil {
		t.Error("the issues of a are a's:", render(issues))
	}
	if got := render(env.AddVariable("c", "1")); got != "1:1 variables.c is declared twice" {
		t.Error(got)
	}
	if got := render(env.AddVariable("a-b", "1")); !strings.Contains(got, `"a-b" can't be used in expressions`) {
		t.Error(got)
	}
	if _, issues := env.Compile("variables.a == 1", OutputBool); issues != nil {
		t.Error(render(issues))
	}
}
