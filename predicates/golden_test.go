package predicates

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// catalogue is what an embedding program declares: that of the disk driver.
func catalogue() []engine.Operation {
	group := schema.GroupVersion{Group: "disk.csi.azure.com", Version: "v1beta2"}
	operation := func(kind, resource, name string, params ...engine.OperationParam) engine.Operation {
		return engine.Operation{Name: name, Kind: kind, Resource: group.WithResource(resource), Params: params}
	}
	volume := func(name string, params ...engine.OperationParam) engine.Operation {
		return operation("AzVolume", "azvolumes", name, params...)
	}
	attachment := func(name string, params ...engine.OperationParam) engine.Operation {
		return operation("AzVolumeAttachment", "azvolumeattachments", name, params...)
	}
	volumeName := engine.OperationParam{Name: "volumeName", Type: "string"}
	nodeName := engine.OperationParam{Name: "nodeName", Type: "string"}
	return []engine.Operation{
		volume("CreateVolume"), volume("DeleteVolume"), volume("VolumeSettled"),
		volume("ControllerExpandVolume", engine.OperationParam{Name: "requiredBytes", Type: "int"}),
		attachment("ControllerPublishVolume", volumeName, nodeName),
		attachment("NodeStageVolume", volumeName, nodeName, engine.OperationParam{Name: "lun", Type: "string"}),
		attachment("ControllerUnpublishVolume"), attachment("AttachSettled"), attachment("ReplicaDetached"),
	}
}

// fileSource reads files below testdata as one source.
func fileSource(t testing.TB, name string, paths ...string) Source {
	t.Helper()
	s := Source{Name: name}
	for _, p := range paths {
		data, err := os.ReadFile(filepath.Join("testdata", p))
		if err != nil {
			t.Fatal(err)
		}
		s.Files = append(s.Files, File{Name: filepath.Base(p), Data: data})
	}
	return s
}

// TestErrors holds what is said of every kind of mistake.
func TestErrors(t *testing.T) {
	paths, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			_, err := NewSet(catalogue(), fileSource(t, "test", "errors/"+name+".yaml"))
			if err == nil {
				t.Fatal("the file was loaded")
			}
			golden, got := filepath.Join("testdata/errors", name+".txt"), err.Error()+"\n"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGoodDocuments(t *testing.T) {
	paths, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		if _, err := NewSet(catalogue(), fileSource(t, "test", "good/"+filepath.Base(path))); err != nil {
			t.Errorf("%s:\n%v", path, err)
		}
	}
}

func TestReferenceSets(t *testing.T) {
	set, err := NewSet(catalogue(),
		fileSource(t, "defaults", "reference/azure.yaml"),
		fileSource(t, "common", "reference/common.yaml", "reference/expand_shadow.yaml", "reference/pod_wrong.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(set.Predicates()); got != 19 {
		t.Errorf("%d predicates", got)
	}
	if got := len(set.Bindings()); got != 10 {
		t.Errorf("%d bindings", got)
	}
	for _, o := range catalogue() {
		b, err := set.Binding(o.Name)
		if err != nil {
			t.Error(err)
		} else if b.Resource != o.Resource || b.Action != engine.Enforce || b.InFlight != engine.Move || b.Timeout == 0 {
			t.Errorf("binding of %s: %+v", o.Name, b)
		}
	}
}
