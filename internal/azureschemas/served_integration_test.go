//go:build integration

package azureschemas

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/predicates/schemas"
	"github.com/donewhen/donewhen/predicates/schemas/cluster"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// What a real API server serves has the fields of the Go types and of the CRDs.
func TestRealServer(t *testing.T) {
	server := clustertest.Shared(t)
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	server.InstallCRDs(t, manifests...)
	core, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	live := cluster.New(t.Context(), openapi.NewClientWithContext(core.Discovery().RESTClient()), clock.RealClock{})
	builtIn := schemas.FromScheme(scheme.Scheme)
	for _, kind := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Version: "v1", Kind: "PersistentVolumeClaim"},
		{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"},
	} {
		served, err := live.Schema(kind)
		if err != nil || served == nil {
			t.Errorf("%v: schema %v, error %v", kind, served, err)
			continue
		}
		own, _ := builtIn.Schema(kind)
		same(t, kind.Kind, own.Root, served.Root, map[*schemas.Type]bool{})
	}
	known, err := Known()
	if err != nil {
		t.Fatal(err)
	}
	for kind, own := range known {
		served, err := live.Schema(kind)
		if err != nil || served == nil {
			t.Errorf("%v: schema %v, error %v", kind, served, err)
			continue
		}
		same(t, kind.Kind, own.Root, served.Root, map[*schemas.Type]bool{})
	}
	if s, err := live.Schema(schema.GroupVersionKind{Group: "none.example.com", Version: "v1", Kind: "X"}); s != nil || err != nil {
		t.Errorf("schema %v, error %v of a kind that isn't served", s, err)
	}
}

func same(t *testing.T, path string, own, served *schemas.Type, seen map[*schemas.Type]bool) {
	t.Helper()
	if own.Form != served.Form {
		if own.Form != schemas.Any && served.Form != schemas.Any {
			t.Errorf("%s: form %d, served is %d", path, own.Form, served.Form)
		}
		return
	}
	if seen[served] {
		return
	}
	seen[served] = true
	if served.Elem != nil {
		same(t, path+".[]", own.Elem, served.Elem, seen)
	}
	for name, field := range served.Fields {
		if own.Fields[name] == nil {
			t.Errorf("%s.%s is served, but not known", path, name)
			continue
		}
		same(t, path+"."+name, own.Fields[name], field, seen)
	}
	for name := range own.Fields {
		if served.Fields[name] == nil {
			t.Errorf("%s.%s isn't served", path, name)
		}
	}
}
