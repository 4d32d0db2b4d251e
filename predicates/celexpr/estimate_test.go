package celexpr

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/predicates/schemas"
)

const boundedCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.com}
spec:
  group: example.com
  names: {kind: Fleet, plural: fleets}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              few: {type: array, maxItems: 20, items: {type: string, maxLength: 100}}
              many:
                type: array
                maxItems: 5000
                items:
                  type: object
                  properties:
                    name: {type: string, maxLength: 64}
                    free: {type: string}
                    parts: {type: array, maxItems: 100, items: {type: string, maxLength: 10}}
              team:
                type: array
                maxItems: 100
                items: {type: object, properties: {name: {type: string, maxLength: 64}, parts: {type: array, maxItems: 20, items: {type: string, maxLength: 10}}}}
              open: {type: array, items: {type: object, properties: {name: {type: string}, parts: {type: array, items: {type: string}}}}}
              labels: {type: object, maxProperties: 3000, additionalProperties: {type: string, maxLength: 2000}}
              text: {type: string, maxLength: 20000000}
`

func fleets(t testing.TB) *Environment {
	t.Helper()
	known, err := schemas.Parse("fleets.yaml", []byte(boundedCRD))
	if err != nil {
		t.Fatal(err)
	}
	env, err := NewEnvironment([]Param{{"names", "list(string)"}},
		WithSchemas(known[schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Fleet"}]))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{{"many", "object.spec.many"}, {"named", "object.?spec.?team.orValue([]).filter(m, m.name != '')"}, {"some", "object.?spec.?many.orValue([]).filter(m, m.name != '')"}} {
		if issues := env.AddVariable(v[0], v[1]); issues != nil {
			t.Fatal(render(issues))
		}
	}
	return env
}

// TestEstimate: what a schema bounds is said to cost too much before it runs, with
// the list that makes it so.
func TestEstimate(t *testing.T) {
	env := fleets(t)
	for _, c := range []struct{ expression, want string }{
		{"object.spec.many.exists(a, object.spec.many.exists(b, a.name == b.name))", "object.spec.many may have 5,000 elements"},
		{"object.spec.many.all(a, a.parts.all(p, p != a.name))", "object.spec.many may have 5,000 elements"},
		{"object.?spec.?many.orValue([]).exists(a, a.?parts.orValue([]).exists(p, p.matches('^a+$')))", "object.spec.many may have 5,000 elements"},
		{"variables.many.exists(a, variables.many.exists(b, a.name == b.name))", "variables.many may have 5,000 elements"},
		{"object.spec['many'].filter(a, a.name != '').exists(a, a.parts.exists(p, p.contains('abcdefghijklm')))", "object.spec.many may have 5,000 elements"},
		{"object.spec.many.exists(a, object.spec.open.exists(b, object.spec.many.exists(c, b.name == c.name)))", "object.spec.many may have 5,000 elements"},
		{"object.spec.labels.exists(k, object.spec.labels[k].matches('^(a|b|c)+$'))", "object.spec.labels may have 3,000 elements"},
		{"object.spec.labels.all(k, v, v.matches('^(a|b|c)+$'))", "object.spec.labels may have 3,000 elements"},
		{"object.spec.text.matches('^a$')", "object.spec.text may have 20,000,000 characters"},
	} {
		p, issues := env.Compile(c.expression, OutputBool)
		if issues != nil {
			t.Errorf("%s: %s", c.expression, render(issues))
			continue
		}
		issue := p.Estimate(1_000_000)
		if issue == nil {
			t.Errorf("%s: estimated at %d", c.expression, p.estimate.cost)
			continue
		}
		t.Logf("%s\n  %+v", c.expression, *issue)
		if issue.Hint != c.want+" by its schema: look at fewer, or raise spec.limits.cost" {
			t.Errorf("%s: %+v, want %s", c.expression, *issue, c.want)
		}
		if !strings.HasSuffix(issue.Message, ", more than the predicate's limit of 1,000,000") {
			t.Errorf("%s: %s", c.expression, issue.Message)
		}
		if p.Estimate(1_000_000_000_000) != nil {
			t.Errorf("%s: a trillion is too little", c.expression)
		}
	}
}

// TestK48_BoundsThatAreNotThere: lists, maps and texts without a bound give no
// warning, however they are looped over; nor do bounds that are low.
func TestK48_BoundsThatAreNotThere(t *testing.T) {
	env := fleets(t)
	for _, expression := range []string{
		"object.spec.open.exists(a, object.spec.open.exists(b, a.parts.exists(p, b.parts.exists(q, p == q))))",
		"object.spec.many.exists(a, a.free.matches('^a+$'))",
		"object.spec.many.exists(a, object.spec.open.exists(b, a.name == b.name))",
		"object.spec.many.exists(a, a.name == 'x' && a.free == 'y')",
		"object.spec.few.all(a, object.spec.few.all(b, a == b || a.startsWith('x')))",
		"object.spec.many.exists(a, a.name in params.names)",
		"variables.some.all(a, a.name != 'x')",
		"object.metadata.labels.all(k, k.matches('^a+$'))",
		"object.spec.text == 'x'",
		"condition(object, 'Ready').status == 'True'",
	} {
		p, issues := env.Compile(expression, OutputBool)
		if issues != nil {
			t.Errorf("%s: %s", expression, render(issues))
			continue
		}
		if issue := p.Estimate(1_000_000); issue != nil {
			t.Errorf("%s: %+v", expression, *issue)
		}
	}
}

// TestEstimateIsNoLessThanTheCost: an object that is as large as the schema allows
// costs no more than was estimated.
func TestEstimateIsNoLessThanTheCost(t *testing.T) {
	env := fleets(t)
	env.compiler.unfused = true // what is fused is counted by its size
	var team []any
	for i := range 100 {
		var parts []any
		for j := range 20 {
			parts = append(parts, fmt.Sprintf("%010d", j))
		}
		team = append(team, map[string]any{"name": fmt.Sprintf("%064d", i), "parts": parts})
	}
	object := map[string]any{"spec": map[string]any{"team": team}}
	params, err := env.BindParams(map[string]any{"names": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, expression := range []string{
		"object.spec.team.map(a, a.name).exists(n, n == 'x')",
		"object.spec.team.all(a, a.parts.all(p, p != a.name))",
		"object.spec.team.filter(a, a.name.matches('^0+$')).size() == 0",
		"variables.named.filter(m, m.name == 'x').size() > 0",
	} {
		p, issues := env.Compile(expression, OutputBool)
		if issues != nil {
			t.Fatal(render(issues))
		}
		ev := env.Evaluation(context.Background(), object, params, Limits{Cost: 1 << 40})
		if _, err := p.Bool(ev); err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		estimated := p.estimate.cost
		if strings.Contains(expression, "variables.") {
			estimated += env.Variable("named").estimate.cost
		}
		t.Logf("%s: %d of %d", expression, ev.Spent(), estimated)
		if ev.Spent() > estimated || estimated > 10*max(ev.Spent(), 1) {
			t.Errorf("%s: cost %d, estimated at %d", expression, ev.Spent(), estimated)
		}
		ev.Close()
	}
}
