package schemas

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi/openapitest"
)

func builtIn(t *testing.T, group, version, kind string) *Schema {
	t.Helper()
	s, err := FromScheme(scheme.Scheme).Schema(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if err != nil || s == nil {
		t.Fatalf("%s %s: schema %v, error %v", version, kind, s, err)
	}
	return s
}

func TestFromScheme(t *testing.T) {
	pod, deployment := builtIn(t, "", "v1", "Pod"), builtIn(t, "apps", "v1", "Deployment")
	for path, want := range map[string]Form{
		"kind": String, "metadata.labels.[]": String, "status.phase": String, "status.startTime": String,
		"status.conditions.[].status": String, "status.containerStatuses.[].state.waiting.reason": String,
		"spec.containers.[].resources.limits.[]": Any, "spec.containers.[].livenessProbe.httpGet.port": Any,
		"spec.volumes.[].configMap.name": String, "spec.hostNetwork": Bool, "spec.terminationGracePeriodSeconds": Int,
	} {
		if got := at(t, pod, path).Form; got != want {
			t.Errorf("Pod: %s has form %d, want %d", path, got, want)
		}
	}
	if got := at(t, deployment, "spec.template.metadata.name").Form; got != String {
		t.Errorf("form %d", got)
	}
	if got := at(t, builtIn(t, "", "v1", "Secret"), "data.[]").Form; got != String {
		t.Errorf("bytes are texts, not form %d", got)
	}
	for _, none := range []schema.GroupVersionKind{
		{Group: "", Version: "v1", Kind: "PodList"},
		{Group: "", Version: "v1", Kind: "DeleteOptions"},
		{Group: "", Version: "__internal", Kind: "WatchEvent"},
		{Group: "x", Version: "v1", Kind: "Pod"},
	} {
		if s, _ := FromScheme(scheme.Scheme).Schema(none); s != nil {
			t.Errorf("%v has a schema", none)
		}
	}
}

// The fields of Go types are those that the API server's own documents have.
func TestFromSchemeAgreesWithOpenAPI(t *testing.T) {
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for path, gv := range paths {
		data, err := gv.Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		known, err := Parse(path, data)
		if err != nil {
			continue // a group without kinds
		}
		for kind, served := range known {
			own, _ := FromScheme(scheme.Scheme).Schema(kind)
			if own == nil {
				continue
			}
			compared++
			differ(t, kind.String(), own.Root, served.Root, map[*Type]bool{})
		}
	}
	if compared < 20 {
		t.Errorf("%d kinds compared", compared)
	}
}

// dropped are fields of the documents that were alpha, and are no more.
var dropped = []string{"source", "claims", "resizeStatus"}

// differ reports what a document has and the Go types have not, or have of another
// form. The documents are older than the types, so these may have more.
func differ(t *testing.T, path string, own, served *Type, seen map[*Type]bool) {
	t.Helper()
	switch {
	case seen[served]:
		return
	case own.Form != served.Form && own.Form != Any && served.Form != Any:
		t.Errorf("%s: form %d, served is %d", path, own.Form, served.Form)
		return
	case own.Form != served.Form:
		return
	}
	seen[served] = true
	if served.Elem != nil {
		differ(t, path+".[]", own.Elem, served.Elem, seen)
	}
	for name, field := range served.Fields {
		if own.Fields[name] == nil && !slices.Contains(dropped, name) {
			t.Errorf("%s.%s is missing", path, name)
		}
		if own.Fields[name] == nil {
			continue
		}
		differ(t, path+"."+name, own.Fields[name], field, seen)
	}
}
