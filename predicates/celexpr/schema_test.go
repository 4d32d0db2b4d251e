package celexpr

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/predicates/schemas"
)

const volumeCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: volumes.example.com}
spec:
  group: example.com
  names: {kind: Volume, plural: volumes}
  versions:
  - name: v1
    schema: &v1
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, format: int64}
              ratio: {type: number}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              partly: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
              attributes: {type: object, additionalProperties: {type: string}}
              empty: {type: object}
              paused: {type: boolean}
              namespace: {type: string}
              odd-name: {type: string}
          status:
            type: object
            nullable: true
            properties:
              state: {type: string, enum: [Creating, Created, Failed]}
              phase: {type: string, nullable: true}
              since: {type: string, format: date-time}
              replicas: {type: integer}
              detail:
                type: object
                nullable: true
                properties: {volume_id: {type: string}, lun: {type: integer}}
              names: {type: array, items: {type: string}}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}, message: {type: string}, observedGeneration: {type: integer}}
  - name: v2
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, bytes: {type: integer}}}
          status: {type: object, properties: {state: {type: string}, ready: {type: boolean}}}
`

// volumes returns the schemas of the versions of a kind.
func volumes(t testing.TB, versions ...string) []*schemas.Schema {
	t.Helper()
	known, err := schemas.Parse("volumes.yaml", []byte(strings.ReplaceAll(volumeCRD, "&v1", "")))
	if err != nil {
		t.Fatal(err)
	}
	var out []*schemas.Schema
	for _, version := range versions {
		out = append(out, known[schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Volume"}])
	}
	return out
}

// schemaEnvironment is that of most tests here, with schemas.
func schemaEnvironment(t testing.TB, versions ...string) *Environment {
	t.Helper()
	env, err := NewEnvironment([]Param{{"role", "string"}, {"bytes", "int"}, {"ratio", "double"}, {"names", "list(string)"}},
		WithSchemas(volumes(t, versions...)...))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{
		{"state", "object.?status.?state.orValue('')"},
		{"detail", "object.status.detail"},
		{"conditions", "object.status.conditions"},
		{"ready", "condition(object, 'Ready')"},
	} {
		if issues := env.AddVariable(v[0], v[1]); issues != nil && versions[0] == "v1" {
			t.Fatalf("variable %s: %s", v[0], render(issues))
		}
	}
	return env
}

// TestK41_MisspeltField: it is an error when the predicate is loaded, and the
// nearest field is named, wherever it stands.
func TestK41_MisspeltField(t *testing.T) {
	env := schemaEnvironment(t, "v1")
	for _, c := range []struct{ expression, want string }{
		{"object.status.stat == 'x'", "1:15 object.status has no field 'stat' [did you mean 'state'?]"},
		{"object.statuz.state == 'x'", "1:8 object has no field 'statuz' [did you mean 'status'?]"},
		{"has(object.status.stat)", "1:19 object.status has no field 'stat' [did you mean 'state'?]"},
		{"has(object.statuz)", "1:12 object has no field 'statuz' [did you mean 'status'?]"},
		{"object.?status.?stat.orValue('') == ''", "1:17 object.status has no field 'stat' [did you mean 'state'?]"},
		{"object.status[?'stat'].orValue('') == ''", "1:17 object.status has no field 'stat' [did you mean 'state'?]"},
		{"object.status['stat'] == ''", "1:16 object.status has no field 'stat' [did you mean 'state'?]"},
		{"object.metadata.deletionTimestmp == ''", "1:17 object.metadata has no field 'deletionTimestmp' [did you mean 'deletionTimestamp'?]"},
		{"object.metadata.ownerReferences[0].nam == ''", "1:36 object.metadata.ownerReferences[0] has no field 'nam' [did you mean 'name'?]"},
		{"object.status.conditions.exists(c, c.typ == 'Ready' && c.status == 'True')", "1:38 c has no field 'typ' [did you mean 'type'?]"},
		{"object.status.conditions.filter(c, c.status == 'True').map(c, c.mesage).size() > 0", "1:65 c has no field 'mesage' [did you mean 'message'?]"},
		{"object.status.conditions[0].?mesage.hasValue()", "1:30 object.status.conditions[0] has no field 'mesage' [did you mean 'message'?]"},
		{"object.?status.?conditions.orValue([]).exists(c, c.typ == '')", "1:52 c has no field 'typ' [did you mean 'type'?]"},
		{"variables.detail.volumeId == ''", "1:18 variables.detail has no field 'volumeId' [did you mean 'volume_id'?]"},
		{"variables.detail.?volumeId.orValue('') == ''", "1:19 variables.detail has no field 'volumeId' [did you mean 'volume_id'?]"},
		{"variables.conditions.all(c, c.statsu == 'True')", "1:31 c has no field 'statsu' [did you mean 'status'?]"},
		{"object.state == 'Created'", "1:8 object has no field 'state' [did you mean object.status.state?]"},
		{"object.status.zzzzzzzz == ''", "1:15 object.status has no field 'zzzzzzzz' [fields: conditions, detail, names, phase, replicas, since, state]"},
		{"object.spec.__namespace__ == ''", "1:13 object.spec has no field '__namespace__' [names aren't escaped here: write ['namespace']]"},
		{"object.spec.odd__dash__name == ''", "1:13 object.spec has no field 'odd__dash__name' [names aren't escaped here: write ['odd-name']]"},
		{
			"variables.detail.volume_id != '' &&\n  object.status.state == 'Created' &&\n  object.status.stat == 'x' && params.rol == 'y'",
			"3:17 object.status has no field 'stat' [did you mean 'state'?] | 3:32 params has no 'rol' [did you mean 'role'?]",
		},
		{"object.status.detail.volume_id.state == ''", "1:32 a string has no fields"},
		{"object.status.names.first == ''", "1:21 a list(string) has no fields [name an element, [0], or loop: .exists(x, x.name == '')]"},
	} {
		p, issues := env.Compile(c.expression, OutputBool)
		if got := render(issues); got != c.want || p != nil {
			t.Errorf("%s\n got: %s\nwant: %s", c.expression, got, c.want)
		}
	}
}

// TestSchemaTypes: operands and results of the wrong types are errors.
func TestSchemaTypes(t *testing.T) {
	env := schemaEnvironment(t, "v1")
	for _, c := range []struct{ expression, want string }{
		{"object.status.state == 1", "1:21 '==' can't be applied to (string, int) [convert with int(…), double(…) or string(…)]"},
		{"object.status.replicas == '1'", "1:24 '==' can't be applied to (int, string) [convert with int(…), double(…) or string(…)]"},
		{"object.spec.paused == 'True'", "1:20 '==' can't be applied to (bool, string) [a text isn't a bool: a condition's status is 'True' or 'False', in quotes]"},
		{"object.status == 'Ready'", "1:15 '==' can't be applied to (object, string)"},
		{"object.status.replicas > params.role", "1:24 '>' can't be applied to (int, string) [convert with int(…), double(…) or string(…)]"},
		{"object.status.state in [1, 2]", "1:21 'in' can't be applied to (string, list(int)) [convert with int(…), double(…) or string(…)]"},
		{"object.status.replicas.startsWith('a')", "1:34 startsWith() can't be applied to int.(string) [convert with int(…), double(…) or string(…)]"},
		{"object.status.since < timestamp('2026-01-01T00:00:00Z')", "1:21 '<' can't be applied to (string, timestamp) [dates are texts here: write timestamp(…)]"},
		{"object.status.state", "1:14 the expression's value is of type string, want bool [write a comparison]"},
		{"object.status.detail", "1:14 the expression's value is of type object, want bool [write a comparison]"},
		{"object.status.state && true", "1:14 want a condition, this is a string [write a comparison]"},
		{"object.status.state.exists(c, c == '')", "1:14 a string can't be looped over"},
		{"size(object.status.replicas) > 0", "1:5 size() can't be applied to (int)"},
		{"!object.status.replicas", "1:1 '!' can't be applied to (int)"},
		{"variables.state == 1", "1:17 '==' can't be applied to (string, int) [convert with int(…), double(…) or string(…)]"},
	} {
		p, issues := env.Compile(c.expression, OutputBool)
		if got := render(issues); got != c.want || p != nil {
			t.Errorf("%s\n got: %s\nwant: %s", c.expression, got, c.want)
		}
	}
	if _, issues := env.Compile("object.status.replicas", OutputString); render(issues) != "1:14 the expression's value is of type int, want string [convert it with string(…)]" {
		t.Error(render(issues))
	}
}

// TestSchemaRefusesNothingSound holds what is stricter in the check than when it
// runs: none of it may be refused.
func TestSchemaRefusesNothingSound(t *testing.T) {
	env := schemaEnvironment(t, "v1")
	for _, expression := range []string{
		"object.spec.size == 1.0 || object.spec.size != 1.5 || object.spec.size < 1.5 || object.spec.size >= params.ratio",
		"object.spec.size in [1.0, 2.0]",
		"object.spec.ratio == 1 || object.spec.ratio > 0.5 || object.spec.ratio + 1 > 2",
		"object.spec.port == 80 || object.spec.port == 'http' || string(object.spec.port) == '80'",
		"object.spec.free.a.b[0] == 1 && object.spec.partly.other.x == 'y' && object.spec.partly.known == 'z'",
		"object.spec.empty.x == 1 || object.spec.empty == {} || !has(object.spec.empty.y)",
		"object.status == null || object.status.detail == null || object.status.phase == null || null != object.status.replicas",
		"object.status.detail == {} || object.status.detail == {'lun': 1} || object.status.detail != object.spec.free",
		"'detail' in object.status || params.role in object.status || size(object.status) > 0 || object.status.size() == 2",
		"object.status[params.role] == 'x' || object.status[?params.role].hasValue()",
		"object.status.exists(k, k == 'state') && object.status.all(k, v, k != '' && v != null)",
		"object['status']['state'] == 'Created' && object.spec['odd-name'] == '' && object.spec.`odd-name` == ''",
		"object.spec.namespace == '' && object.spec.attributes.anything == '' && object.spec.attributes['a/b'] == ''",
		"object.spec.?attributes[?'a/b'].orValue('') == '' && has(object.spec.attributes.x) && 'x' in object.spec.attributes",
		"(has(object.status.replicas) ? object.status.replicas : 'none') == 'none'",
		"object.status.?replicas.orValue('?') == '?' || object.?spec.?paused.orValue('') == 'x'",
		"'%s %d %s'.format([object.status.state, object.status.replicas, object.status.conditions]) == ''",
		"object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True' && c.observedGeneration >= object.metadata.generation)",
		"object.status.conditions.map(c, c.type) == ['a'] || object.status.conditions == [] || object.status.names == []",
		"object.status.conditions.map(c, {'t': c.type, 'n': c.observedGeneration}).size() > 0",
		"variables.ready.status == 'True' && condition(object, 'Ready').current && isTrue(object, 'Ready')",
		"object.metadata.labels['a/b'] == 'c' && object.metadata.?annotations[?'x'].orValue('') == '' && object.metadata.finalizers.exists(f, f == 'x')",
		"timestamp(object.metadata.creationTimestamp) < timestamp(object.status.since) && has(object.metadata.deletionTimestamp)",
		"dyn(object.status).anything == 1 || dyn(object).x.y == 2",
		"[object.status.replicas, object.spec.size].max() > 0 && sets.contains(object.status.names, params.names)",
		"object.metadata.ownerReferences.filter(o, o.controller).map(o, o.name).join(',') == ''",
		"object.apiVersion == 'v1' && object.kind == 'Volume' && object.metadata.managedFields.size() > 0",
		"quantity(object.spec.attributes['q']).isLessThan(quantity('1Gi'))",
		"optional.of(object.status.state).orValue('') == '' && object.status.?detail.?lun.orValue(0) == 0",
		"object.?status.hasValue() && object.?status.?detail.optMap(d, d.lun).orValue(0) == 0",
	} {
		if _, issues := env.Compile(expression, OutputBool); issues != nil {
			t.Errorf("%s\n%s", expression, render(issues))
		}
	}
	without, err := NewEnvironment([]Param{{"role", "string"}, {"bytes", "int"}, {"ratio", "double"}, {"names", "list(string)"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, issues := without.Compile("object.status.stat == 1", OutputBool); issues != nil {
		t.Error("without a schema any field may be there:", render(issues))
	}
}

// TestForeignValues: a text that an enum doesn't have is warned of.
func TestForeignValues(t *testing.T) {
	env := schemaEnvironment(t, "v1")
	for _, c := range []struct{ expression, want string }{
		{"object.status.state == 'Creatd'", "1:24 object.status.state is never 'Creatd' [did you mean 'Created'?]"},
		{"'Gone' != object.status.state", "1:1 object.status.state is never 'Gone' [the schema allows: Creating, Created, Failed]"},
		{"object.status.state in ['Created', 'Faild']", "1:36 object.status.state is never 'Faild' [did you mean 'Failed'?]"},
		{"variables.state == 'created'", "1:20 variables.state is never 'created' [did you mean 'Created'?]"},
		{"object.?status.?state.orValue('x') == 'y'", "1:39 object.status.state is never 'y' [the schema allows: Creating, Created, Failed, x]"},
		{"variables.state == '' || object.?status.?state.orValue('x') == 'x' || object.status.phase == 'y' || object.status.state == params.role", ""},
	} {
		p, issues := env.Compile(c.expression, OutputBool)
		if p == nil {
			t.Errorf("%s: %s", c.expression, render(issues))
			continue
		}
		if got := render(p.Warnings()); got != c.want {
			t.Errorf("%s\n got: %s\nwant: %s", c.expression, got, c.want)
		}
	}
}

// TestSchemasOfSeveralVersions: what is wrong in all is an error; a field that
// only some have may be meant for those, asked for it certainly is.
func TestSchemasOfSeveralVersions(t *testing.T) {
	env := schemaEnvironment(t, "v1", "v2")
	for _, c := range []struct{ expression, want, warnings string }{
		{"object.status.stat == ''", "1:15 object.status has no field 'stat' [did you mean 'state'?]", ""},
		{"object.status.?ready.orValue(false) || has(object.spec.bytes)", "", ""},
		{"object.status.ready", "", "1:15 object.status has no field 'ready' in example.com/v1 [fields: conditions, detail, names, phase, replicas, since, state]"},
		{"object.spec.size == 1", "1:18 '==' can't be applied to (string, int) in example.com/v2 [convert with int(…), double(…) or string(…)]", ""},
	} {
		p, issues := env.Compile(c.expression, OutputBool)
		if got := render(issues); got != c.want {
			t.Errorf("%s\n got: %s\nwant: %s", c.expression, got, c.want)
		}
		if p != nil {
			if got := render(p.Warnings()); got != c.warnings {
				t.Errorf("%s: warnings\n got: %s\nwant: %s", c.expression, got, c.warnings)
			}
		}
	}
}

// TestK45_TypesOnly: the check has no made-up object, so an index beyond one is
// no error.
func TestK45_TypesOnly(t *testing.T) {
	env := schemaEnvironment(t, "v1")
	for _, expression := range []string{
		"object.status.conditions[7].status == 'True'",
		"object.status.names[0].startsWith('a') && int(object.status.names[1]) > 3",
		"1 / object.status.replicas > 0 && object.spec.attributes['none'] == 'x'",
	} {
		if _, issues := env.Compile(expression, OutputBool); issues != nil {
			t.Errorf("%s: %s", expression, render(issues))
		}
	}
}

// TestK39_BareStatus: a bare name is told apart from a field of the object, with a
// schema and without.
func TestK39_BareStatus(t *testing.T) {
	without, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range []*Environment{without, schemaEnvironment(t, "v1")} {
		for expression, want := range map[string]string{
			"has(status)":         "1:5 has() needs a field [the root variable is object: has(object.status)]",
			"status.state == 'x'": "1:1 undeclared reference to 'status' [the root variable is object: object.status]",
		} {
			if _, issues := env.Compile(expression, OutputBool); render(issues) != want {
				t.Errorf("%s\n got: %s\nwant: %s", expression, render(issues), want)
			}
		}
	}
}

// TestK48_NoBoundsInTheSchema: a loop over a list whose schema has no maxItems
// loads. It runs within the limits of cost and time instead.
func TestK48_NoBoundsInTheSchema(t *testing.T) {
	for _, schema := range volumes(t, "v1") {
		if n := schema.Root.Fields["status"].Fields["conditions"].MaxItems; n != 0 {
			t.Fatalf("the list is bound to %d elements", n)
		}
	}
	p, issues := schemaEnvironment(t, "v1").Compile("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", OutputBool)
	if issues != nil {
		t.Fatal(render(issues))
	}
	if !p.bounded {
		t.Error("what loops must run within limits")
	}
}
