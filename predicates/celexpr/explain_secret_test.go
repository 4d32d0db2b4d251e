package celexpr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates/explain"
	"github.com/donewhen/donewhen/predicates/internal/redact"
)

// TestSecretsAreNotExplained: whatever an expression does with a value that must
// not be shown, neither it nor anything computed from it is in the explanation.
func TestSecretsAreNotExplained(t *testing.T) {
	env, params, object := secretive(t)
	for _, expression := range hostile {
		p := compile(t, env, expression, OutputBool)
		ev := env.Evaluation(context.Background(), object, params, Limits{})
		explainer := ev.Explainer()
		n := explainer.Explain(p)
		agrees(t, p, ev, n)
		x := explain.Explanation{
			Rules:     []explain.Rule{{Name: "done[0]", Outcome: n.Outcome, Condition: n}},
			Variables: explainer.Variables(), Params: explainer.Params(),
		}
		if _, err := p.Bool(ev); err != nil {
			x.Rules[0].Note = err.Place(ev)
			if !err.Discloses(ev) {
				x.Rules[0].Note += err.Error() + err.Missing(ev)
			}
		}
		ev.Close()
		var text bytes.Buffer
		if err := x.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&text).Encode(x); err != nil {
			t.Fatal(err)
		}
		reasons, _ := n.Reasons(100)
		fmt.Fprint(&text, reasons)
		shown := strings.ReplaceAll(text.String(), expression, "")
		encoded, _ := json.Marshal(expression)
		shown = strings.ReplaceAll(shown, strings.Trim(string(encoded), `"`), "")
		for _, leak := range []string{"hunter2-", "hunter", "23", "46", "\"h\""} {
			if strings.Contains(shown, leak) && !strings.Contains(expression, leak) {
				t.Errorf("%s shows %s:\n%s", expression, leak, text.String())
				break
			}
		}
	}
}

// secretive is an environment with secrets in every place that one may have.
func secretive(t testing.TB) (*Environment, *Params, map[string]any) {
	t.Helper()
	policy, err := redact.New("spec.plain", "spec.list[*].pin")
	if err != nil {
		t.Fatal(err)
	}
	env, err := NewEnvironment([]Param{{"key", "string"}, {"open", "string"}}, WithRedaction(policy, "key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{
		{"token", "object.data.token"},
		{"prefixed", "'x' + variables.token"},
		{"size", "variables.token.size()"},
		{"all", "object"},
		{"spec", "object.spec"},
		{"where", "object.metadata.labels"},
		{"fromParam", "params.key + params.open"},
		{"broken", "int(variables.token)"},
	} {
		if issues := env.AddVariable(v[0], v[1]); issues != nil {
			t.Fatalf("variable %s: %v", v[0], issues)
		}
	}
	params, err := env.BindParams(map[string]any{"key": secret, "open": "shown"})
	if err != nil {
		t.Fatal(err)
	}
	object := parse(t, strings.ReplaceAll(`
data: {token: §}
stringData: {x: §}
binaryData: {x: §}
metadata:
  labels: {a: b}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data": "§"}'}
spec:
  env: [{name: DB_PASSWORD, value: §}, {name: LEVEL, value: debug}]
  secrets: {a: §}
  nested: {deep: {clientSecret: §}}
  plain: §
  list: [{pin: §}]
status:
  conditions: [{type: Ready, status: 'False', token: §, message: m}]
  wrapped: {secrets: §}
`, "§", secret))
	return env, params, object
}

// What isn't secret is shown beside it, and bools that were computed from secrets.
func TestWhatIsNotSecretIsExplained(t *testing.T) {
	env, params, object := secretive(t)
	for expression, want := range map[string]string{
		"object.metadata.labels.a == 'x'":                                 `object.metadata.labels.a == 'x' (a is "b")`,
		"object.spec.env[1].value == 'x'":                                 `object.spec.env[1].value == 'x' (value is "debug")`,
		"object.spec.env.map(e, e.name) == []":                            `object.spec.env.map(e, e.name) == [] (object.spec.env.map(e, e.name) is ["DB_PASSWORD", "LEVEL"])`,
		"object.spec.env.exists(e, e.name == 'x')":                        `object.spec.env.exists(e, e.name == 'x') (true for none of 2 elements, [0] e.name == 'x' (name is "DB_PASSWORD"), [1] e.name == 'x' (name is "LEVEL"))`,
		"object.spec == {}":                                               `object.spec == {} (spec is {env: [{name: "DB_PASSWORD", value: •••}, {name: "LEVEL", value: "debug"}], list: [{pin: •••}], nested: {deep: {clientSecret: •••}}, plain: •••, … 1 more})`,
		"!(object.data.token.startsWith('h'))":                            `!object.data.token.startsWith('h') (token is •••)`,
		"condition(object, 'Ready').message == 'x'":                       `condition(object, 'Ready').message == 'x' (message is "m")`,
		"has(object.data.tokne)":                                          `has(object.data.tokne) (object.data has no 'tokne')`,
		"object.data.tokne == 'x'":                                        `object.data.tokne == 'x' (object.data has no 'tokne')`,
		"params.open == 'x' && params.key == 'x'":                         `params.open == 'x' (open is "shown"); params.key == 'x' (key is •••)`,
		"variables.spec.env[1].name == 'x'":                               `variables.spec.env[1].name == 'x' (name is "LEVEL")`,
		"object.status.conditions.filter(c, c.type == 'X').size() == 1":   `object.status.conditions.filter(c, c.type == 'X').size() == 1 (object.status.conditions.filter(c, c.type == 'X').size() is •••)`,
		"object.metadata.labels.filter(k, k == 'zz').size() == 1":         `object.metadata.labels.filter(k, k == 'zz').size() == 1 (object.metadata.labels.filter(k, k == 'zz').size() is 0)`,
		"object.metadata.labels.exists(k, v, v == params.open || k == v)": `object.metadata.labels.exists(k, v, v == params.open || k == v) (true for none of 1 element)`,
	} {
		p := compile(t, env, expression, OutputBool)
		ev := env.Evaluation(context.Background(), object, params, Limits{})
		reasons, _ := ev.Explainer().Explain(p).Reasons(5)
		ev.Close()
		if got := strings.Join(reasons, "; "); got != want {
			t.Errorf("%s\n got: %s\nwant: %s", expression, got, want)
		}
	}
}
