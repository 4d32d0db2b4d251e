package predicates_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

const secret = "hunter2-hunter2-hunter2"

// loadOne loads a predicate about Secrets, of which the rest of spec is given.
func loadOne(t testing.TB, spec string, opts ...predicates.LoaderOption) *predicates.Predicate {
	t.Helper()
	loader, err := predicates.NewLoader(nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(predicates.Source{Name: "s", Files: []predicates.File{{Name: "f", Data: []byte(
		"apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: p}\nspec:\n  match: {apiVersion: v1, kind: Secret}\n" + spec)}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Predicate("p")
	if err != nil {
		t.Fatal(err)
	}
	return p.(*predicates.Predicate)
}

func observe(t testing.TB, text string) engine.Observation {
	t.Helper()
	var object map[string]any
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := utiljson.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	return engine.Observation{
		Ref: engine.Reference{
			Resource:  schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
			Namespace: "ns", Name: "x",
		},
		Presence: engine.Present, Object: u, UID: "u", ResourceVersion: "7",
	}
}

// TestSecretsAreNotSaid: no text of a verdict has a value that must not be shown,
// or anything that was computed from it; neither has the explanation.
func TestSecretsAreNotSaid(t *testing.T) {
	object := "{metadata: {name: x, labels: {a: b}}, data: {token: " + secret + "}, spec: {pin: " + secret + ", open: shown}, status: {}}"
	for _, c := range []struct{ name, spec, want string }{
		{"message", "  failed: {expression: 'true', messageExpression: object.data.token}\n  done: 'false'", "Failed: failed[0] holds"},
		{"message with a static one", "  failed: {expression: 'true', messageExpression: '''x'' + object.data.token', message: static}\n  done: 'false'", "Failed: static"},
		{"message of done", "  done: {expression: 'true', messageExpression: string(object.data.token.size())}", "Done: "},
		{"message that is shown", "  done: {expression: 'true', messageExpression: object.spec.open}", "Done: shown"},
		{"reason", "  failed: {expression: 'true', reasonExpression: 'object.data.token.replace(''-'', '''')'}\n  done: 'false'", "Failed: failed[0] holds"},
		{"pending message", "  pending: {messageExpression: '''it is '' + object.data.token'}\n  done: 'false'", "Pending: "},
		{"param", "  params: {key: {type: string, sensitive: true, default: " + secret + "}}\n  failed: {expression: 'true', messageExpression: params.key}\n  done: 'false'", "Failed: failed[0] holds"},
		{"redact path", "  failed: {expression: 'true', messageExpression: object.spec.pin}\n  done: 'false'", "Failed: failed[0] holds"},
		{"variable", "  variables: [{name: t, expression: object.data.token}]\n  failed: {expression: 'true', messageExpression: variables.t}\n  done: 'false'", "Failed: failed[0] holds"},
		{"missing key", "  done: object.metadata.labels[object.data.token] == 'x'", "Pending: missing data: object.metadata.labels[…] (why is hidden, as it was computed from values that must not be shown)"},
		{"missing key that is named", "  done: object.data.tokne == 'x'", "Pending: missing data: object.data.tokne (no such key: tokne)"},
		{"error", "  done: duration(object.data.token) > duration('1s')", "Failed: done[0]: the expression can't be evaluated: why is hidden, as it was computed from values that must not be shown"},
		{"error that shows nothing", "  done: object.spec.open > 5", "Failed: done[0]: no such overload"},
		{"error of a variable", "  variables: [{name: t, expression: int(object.data.token)}]\n  done: variables.t == 1", "Failed: done[0]: variables.t can't be evaluated: why is hidden, as it was computed from values that must not be shown"},
		{"pending", "  done: '''x'' + object.data.token == ''y'''", "Pending: "},
		{"list", "  done: '[object.data.token].exists(t, t == ''x'')'", "Pending: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := loadOne(t, c.spec, predicates.WithRedact("spec.pin"))
			judge, err := p.Bind(nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, o := context.Background(), observe(t, object)
			described := judge.Describe(ctx, o)
			if got := described.Verdict.Decision.String() + ": " + described.Verdict.Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			x, err := p.Explain(ctx, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			if err := json.NewEncoder(&all).Encode([]any{described, judge.Judge(ctx, o), x}); err != nil {
				t.Fatal(err)
			}
			if err := x.WriteText(&all); err != nil {
				t.Fatal(err)
			}
			all.WriteString(x.Line())
			said := strings.ReplaceAll(all.String(), p.ID().Digest, "")
			for _, leak := range []string{"hunter2", "23"} {
				if strings.Contains(said, leak) {
					t.Errorf("%s is shown:\n%s", leak, all.String())
				}
			}
		})
	}
}

func TestRedactPathsAreChecked(t *testing.T) {
	_, err := predicates.NewLoader(nil, predicates.WithRedact("spec[x]"))
	if err == nil || err.Error() != `redact path "spec[x]": [x] is neither an element nor a key; write a key in quotes, like ['a/b']` {
		t.Error(err)
	}
}

// A typed object is explained as an unstructured one is.
func TestExplainTyped(t *testing.T) {
	p := loadOne(t, "  done: object.metadata.labels.a == 'x' && object.kind == 'Secret' && object.data.token == 'x'")
	o := observe(t, "{metadata: {name: x}}")
	o.Object = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}},
		Data:       map[string][]byte{"token": []byte(secret)},
	}
	x, err := p.Explain(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := x.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `Secret ns/x: Pending
  by       p
· onTerminating: deletion was not requested
· observedGeneration: the object has none
✗ done[0]:
  ✗ all of
    ✗ object.metadata.labels.a == 'x'   a is "b"
    ✗ object.data.token == 'x'   token is •••
    ✓ object.kind == 'Secret'   kind is "Secret"
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}

// The explanation of a wait's end: what was still false, with values.
func TestDescribeExplains(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"  done: object.spec.open == 'x' && has(object.status)", `object.spec.open == 'x' (open is "shown")`},
		{"  done: [object.spec.open == 'x', object.spec.open == 'y']", `done[0]: object.spec.open == 'x' (open is "shown"); done[1]: object.spec.open == 'y' (open is "shown")`},
		{"  done: [{expression: object.spec.open == 'x'}, {expression: object.spec.open != '', for: 1m}]", `done[0]: object.spec.open == 'x' (open is "shown")`},
		{"  done: object.status.nope == 1", `object.status.nope == 1 (object.status has no 'nope')`},
		{"  done: object.spec.open == ''\n  pending: {message: words}", `object.spec.open == '' (open is "shown")`},
		{"  done: object.l.all(x, x < 2)", `object.l.all(x, x < 2) (false for 2 of 4 elements, [2] x < 2 (x is 2), [3] x < 2 (x is 3))`},
		{"  expect: Gone", ""},
	} {
		p := loadOne(t, c.spec)
		judge, err := p.Bind(nil)
		if err != nil {
			t.Fatal(err)
		}
		o := observe(t, "{metadata: {name: x}, spec: {open: shown}, status: {}, l: [0, 1, 2, 3]}")
		described := judge.Describe(context.Background(), o).Verdict
		if described.Explanation != c.want {
			t.Errorf("%s\n got: %s\nwant: %s", c.spec, described.Explanation, c.want)
		}
		if quick := judge.Judge(context.Background(), o).Verdict; quick.Explanation != "" {
			t.Errorf("%s: judging explained: %s", c.spec, quick.Explanation)
		}
	}
}

// TestK51_JudgingSaysItsCost: where it is counted, of texts too, and 0 where not.
func TestK51_JudgingSaysItsCost(t *testing.T) {
	o := observe(t, "{metadata: {name: x}, kind: Secret, l: [0, 1, 2, 3]}")
	for spec, counted := range map[string]bool{
		"  done: ['object.kind == \"x\"']":               false,
		"  done: ['object.l.exists(x, x == 7)']":         true,
		"  done: ['object.l.map(x, x + 1).size() == 9']": true,
		"  done: [{expression: 'object.kind == \"Secret\"', messageExpression: 'object.l.map(x, string(x)).join(\",\")'}]": true,
	} {
		judge, err := loadOne(t, spec).Bind(nil)
		if err != nil {
			t.Fatal(err)
		}
		j := judge.Judge(context.Background(), o)
		if j.Verdict.Cause != engine.CauseOperation || (j.Cost > 0) != counted {
			t.Errorf("%s: %+v", spec, j)
		}
	}
}

// TestK51_CostIsShown: of what is counted, an explanation says what it has cost,
// and of how much.
func TestK51_CostIsShown(t *testing.T) {
	p := loadOne(t, "  limits: {cost: 5000}\n  done: ['object.l.exists(x, x == 7)', object.kind == 'x']")
	x, err := p.Explain(context.Background(), observe(t, "{metadata: {name: x}, kind: Secret, l: [0, 1, 2, 3]}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if x.Cost == nil || x.Cost.Spent == 0 || x.Cost.Limit != 5000 || x.Rules[0].Cost != x.Cost.Spent || x.Rules[1].Cost != 0 {
		t.Errorf("%+v, %+v", x.Cost, x.Rules)
	}
}
