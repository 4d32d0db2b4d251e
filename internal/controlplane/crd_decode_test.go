package controlplane

import (
	"slices"
	"strings"
	"testing"
)

const twoCRDs = `# a comment first
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec:
  group: example.test
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true}, {name: v0, served: false}]
---
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.test}
spec:
  group: example.test
  names: {plural: gadgets, kind: Gadget}
  versions: [{name: v1, served: true}]
`

func TestDecodeCRDs(t *testing.T) {
	crds, err := decodeCRDs([][]byte{[]byte(twoCRDs)})
	if err != nil || len(crds) != 2 {
		t.Fatalf("got %d CRDs, %v, want 2", len(crds), err)
	}
	var got []string
	for _, s := range servedBy(crds) {
		got = append(got, s.resource+" "+s.gv.WithKind(s.kind).String())
	}
	want := []string{"widgets example.test/v1, Kind=Widget", "gadgets example.test/v1, Kind=Gadget"}
	if !slices.Equal(got, want) {
		t.Errorf("served: got %q, want %q", got, want)
	}
}

func TestDecodeCRDsRefuses(t *testing.T) {
	for _, test := range []struct{ name, yaml, want string }{
		{"nothing", "---\n# nothing\n", "no CustomResourceDefinition"},
		{"other kind", "apiVersion: v1\nkind: ConfigMap\n", "document 1: is /v1, Kind=ConfigMap"},
		{"old version", "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n", "document 1: is apiextensions.k8s.io/v1beta1"},
		{"no YAML", "a: b: c\n", "CRD file 1, document 1"},
	} {
		if _, err := decodeCRDs([][]byte{[]byte(test.yaml)}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
}
