package predicates

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/predicates/schemas"
)

const volumeCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: azvolumes.disk.csi.azure.com}
spec:
  group: disk.csi.azure.com
  names: {kind: AzVolume, plural: azvolumes}
  versions:
  - name: v1beta2
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties: {state: {type: string, enum: [Creating, Created]}, detail: {type: object, properties: {volume_id: {type: string}}}}
`

func volumeSchemas(t testing.TB) schemas.Known {
	t.Helper()
	known, err := schemas.Parse("crd.yaml", []byte(volumeCRD))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func mustLoader(t testing.TB, opts ...LoaderOption) *Loader {
	t.Helper()
	l, err := NewLoader(catalogue(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestK41_MisspeltFieldInADocument: every misspelt field of a file is reported at
// once, with its place in the file and the nearest name.
func TestK41_MisspeltFieldInADocument(t *testing.T) {
	misspelt := predicate("p", `  variables:
  - name: detail
    expression: object.status.?detial.orValue({})
  done: |-
    object.status.state == 'Created' &&
      object.status.detail.volumeId != ''
  failed:
  - expression: object.status.stat == 'Failed'
    messageExpression: object.metadata.nam
`)
	l := mustLoader(t, WithSchemas(volumeSchemas(t)))
	_, err := l.Load(source("s", misspelt))
	want := `s, a.yaml:8:32: Predicate p: spec.variables[0].expression: object.status has no field 'detial'; did you mean 'detail'?
        expression: object.status.?detial.orValue({})
                                   ^
s, a.yaml:11:28: Predicate p: spec.done[0].expression: object.status.detail has no field 'volumeId'; did you mean 'volume_id'?
          object.status.detail.volumeId != ''
                               ^
s, a.yaml:13:31: Predicate p: spec.failed[0].expression: object.status has no field 'stat'; did you mean 'state'?
      - expression: object.status.stat == 'Failed'
                                  ^
s, a.yaml:14:40: Predicate p: spec.failed[0].messageExpression: object.metadata has no field 'nam'; did you mean 'name'?
        messageExpression: object.metadata.nam
                                           ^`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	// Without the schema it loads, as before, with a warning.
	set, err := NewSet(catalogue(), source("s", misspelt))
	if err != nil {
		t.Fatal(err)
	}
	if got := summaries(set.Warnings()); !strings.HasPrefix(got, "s, a.yaml:5:57: warning: Predicate p: spec.match.kind: no schema of disk.csi.azure.com/v1beta2 AzVolume, so its fields' names aren't checked; name a file") {
		t.Errorf("warnings:\n%s", got)
	}
}

func summaries(problems []Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Summary()
	}
	return strings.Join(lines, "\n")
}

func TestStrict(t *testing.T) {
	good := source("s", predicate("p", "  done: object.status.state == 'Created'"))
	foreign := source("s", predicate("p", "  done: object.status.state == 'Creatd'"))
	if _, err := mustLoader(t, Strict(), WithSchemas(volumeSchemas(t))).Load(good); err != nil {
		t.Errorf("nothing to warn of: %v", err)
	}
	set, err := mustLoader(t, WithSchemas(volumeSchemas(t))).Load(foreign)
	if err != nil || summaries(set.Warnings()) != "s, a.yaml:6:32: warning: Predicate p: spec.done[0].expression: object.status.state is never 'Creatd'; did you mean 'Created'?" {
		t.Errorf("error %v, warnings: %s", err, summaries(set.Warnings()))
	}
	for want, load := range map[string]func() error{
		"no schema of disk.csi.azure.com/v1beta2 AzVolume": func() error { _, err := mustLoader(t, Strict()).Load(good); return err },
		"is never 'Creatd'": func() error {
			_, err := mustLoader(t, Strict(), WithSchemas(volumeSchemas(t))).Load(foreign)
			return err
		},
	} {
		var load2 *LoadError
		if err := load(); !errors.As(err, &load2) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "warning") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A document may bring the schema in a file of its source.
func TestSchemaFrom(t *testing.T) {
	crd := func(name string) File { return File{Name: name, Data: []byte(volumeCRD)} }
	from := func(file, state string) File {
		return File{Name: "dir/p.yaml", Data: []byte(strings.Replace(predicate("p", "  done: object.status."+state+" == 'Created'"),
			"kind: AzVolume}", "kind: AzVolume, schemaFrom: {file: "+file+"}}", 1))}
	}
	l := mustLoader(t)
	for _, c := range []struct {
		files []File
		want  string
	}{
		{[]File{from("crd.yaml", "state"), crd("dir/crd.yaml")}, ""},
		{[]File{crd("a/crd.yaml"), from("../a/crd.yaml", "state")}, ""},
		{[]File{from("crd.yaml", "state"), crd("crd.yaml")}, ""}, // a key of a ConfigMap
		{[]File{from("crd.yaml", "stat"), crd("dir/crd.yaml")}, "dir/p.yaml:6:23: Predicate p: spec.done[0].expression: object.status has no field 'stat'; did you mean 'state'?"},
		{[]File{from("crds.yaml", "state"), crd("crd.yaml")}, `dir/p.yaml:5:86: Predicate p: spec.match.schemaFrom: the source has no file "crds.yaml"; did you mean "crd.yaml"?`},
		{[]File{from("x.yaml", "state"), {Name: "x.yaml", Data: []byte("a: b")}}, "dir/p.yaml:5:86: Predicate p: spec.match.schemaFrom: read schemas from x.yaml: it has neither"},
		{
			[]File{from("x.yaml", "state"), {Name: "x.yaml", Data: []byte(strings.Replace(volumeCRD, "kind: AzVolume", "kind: Other", 1))}},
			"dir/p.yaml:5:86: Predicate p: spec.match.schemaFrom: the file has no schema of disk.csi.azure.com/v1beta2 AzVolume; it has disk.csi.azure.com/v1beta2 Other",
		},
		{[]File{{Name: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\n")}}, "v1 ConfigMap is no document of donewhen; save each key of its data as a file"},
		{[]File{crd("crd.yaml")}, "apiextensions.k8s.io/v1 CustomResourceDefinition is no document of donewhen"},
	} {
		set, err := l.Load(Source{Files: c.files})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.files[0].Name, err)
		case c.want == "" && len(set.Warnings()) > 0:
			t.Errorf("warnings: %s", summaries(set.Warnings()))
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("got:\n%v\nwant:\n%s", err, c.want)
		}
	}
}

// places is a place of schemas that can be changed.
type places struct {
	known schemas.Known
	err   error
}

func (p *places) Schema(kind schema.GroupVersionKind) (*schemas.Schema, error) {
	return p.known[kind], p.err
}

// A predicate that didn't change is checked again once its kind has another schema.
func TestSchemaChangesBetweenLoads(t *testing.T) {
	p := &places{err: errors.New("connection refused")}
	documents := source("s", predicate("p", "  done: object.status.stat == 'Created'"))
	store, err := mustLoader(t, WithSchemas(p)).NewStore(documents)
	if err != nil {
		t.Fatal(err)
	}
	if got := summaries(store.Set().Warnings()); !strings.Contains(got, "connection refused") {
		t.Errorf("warnings %q don't say why there is no schema", got)
	}
	p.known, p.err = volumeSchemas(t), nil
	if err := store.Update(source("more", predicate("q", "  done: object.status.state == 'Created'"))); err == nil ||
		!strings.Contains(err.Error(), "object.status has no field 'stat'") {
		t.Errorf("error %v", err)
	}
}

// TestSchemaChangesNoVerdict: what a predicate is, and says, doesn't depend on
// whether there was a schema.
func TestSchemaChangesNoVerdict(t *testing.T) {
	documents := source("s", predicate("p", `  variables:
  - name: detail
    expression: object.status.?detail.orValue({})
  done: object.status.state == 'Created'
  failed: "variables.detail.volume_id == 'x'"
  pending: {messageExpression: object.status.state}`))
	with, err := mustLoader(t, WithSchemas(volumeSchemas(t))).Load(documents)
	if err != nil {
		t.Fatal(err)
	}
	without := mustSet(t, documents)
	if with.Digest() != without.Digest() {
		t.Error("the digest depends on the schema")
	}
	a, b := with.Predicates()[0], without.Predicates()[0]
	for _, state := range []string{"Creating", "Created", "Updated", ""} {
		one, other := mustBind(t, a, nil).Judge(t.Context(), observe(state)), mustBind(t, b, nil).Judge(t.Context(), observe(state))
		if !cmp.Equal(one.Verdict, other.Verdict) {
			t.Errorf("%s: %+v with the schema, %+v without", state, one.Verdict, other.Verdict)
		}
	}
}
