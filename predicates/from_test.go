package predicates

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// Go values and the same in YAML make one set.
func TestFromValuesAndFromFS(t *testing.T) {
	values, err := FromValues("values",
		v1alpha1.Predicate{Metadata: v1alpha1.Metadata{Name: "created"}, Spec: v1alpha1.PredicateSpec{
			Match: v1alpha1.Match{APIVersion: "disk.csi.azure.com/v1beta2", Kind: "AzVolume"},
			Done:  []v1alpha1.Rule{{Expression: "object.status.state == 'Created' &&\n  \"a\" < 'b'"}},
		}},
		v1alpha1.Binding{Metadata: v1alpha1.Metadata{Name: "create"}, Spec: v1alpha1.BindingSpec{
			Operation: "CreateVolume", Predicate: "created", Timeout: &metav1.Duration{Duration: time.Minute},
		}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := FromFS("files", fstest.MapFS{
		"sub/p.yaml": {Data: []byte("apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: created}\nspec:\n  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}\n  done: |-\n    object.status.state == 'Created' &&\n      \"a\" < 'b'\n---\napiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: create}\nspec: {operation: CreateVolume, predicate: created, timeout: 1m}\n")},
		"README.md":  {Data: []byte("# no document")},
		"m.wasm":     {Data: []byte("\x00asm")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Files) != 2 || !files.Files[0].Binary {
		t.Errorf("files %v", files.Files)
	}
	var digests []string
	for _, s := range []Source{values, files} {
		set, err := NewSet(catalogue(), s)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, set.Digest())
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
	if _, err := FromValues("x", &v1alpha1.Predicate{}); err == nil || !strings.Contains(err.Error(), "document 1 of x is a *v1alpha1.Predicate") {
		t.Errorf("a pointer: %v", err)
	}
}
