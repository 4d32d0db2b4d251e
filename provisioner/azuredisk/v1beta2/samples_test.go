package v1beta2_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Objects as the existing driver writes them are valid by our schema, decode
// into our types without an unknown field, and come out as they went in.
func TestSamples(t *testing.T) {
	schemas := schemasByKind(t)
	files, err := filepath.Glob("testdata/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 10 {
		t.Fatalf("%d samples, want 10", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sample, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var in map[string]any
			if err := yaml.Unmarshal(sample, &in); err != nil {
				t.Fatal(err)
			}
			kind := fmt.Sprint(in["kind"])
			if err := validateObject(schemas[kind], in); err != nil {
				t.Errorf("not valid by the schema of %s: %v", kind, err)
			}

			object := newObject(t, kind)
			if err := yaml.UnmarshalStrict(sample, object); err != nil {
				t.Fatalf("decode: %v", err)
			}
			if diff := cmp.Diff(in, throughJSON(t, object)); diff != "" {
				t.Errorf("through JSON (- sample, + Go types):\n%s", diff)
			}
			if diff := cmp.Diff(in, throughUnstructured(t, object)); diff != "" {
				t.Errorf("through the unstructured converter (- sample, + Go types):\n%s", diff)
			}
		})
	}
}

// Objects with the least that Go code can put in them are valid too, and an
// unset status isn't written: predicates see what the API server shows.
func TestSmallestObjects(t *testing.T) {
	schemas := schemasByKind(t)
	for kind, object := range map[string]runtime.Object{
		v1beta2.KindAzVolume: &v1beta2.AzVolume{
			Spec: v1beta2.AzVolumeSpec{VolumeCapability: []v1beta2.VolumeCapability{}},
		},
		v1beta2.KindAzVolumeAttachment: &v1beta2.AzVolumeAttachment{
			Spec: v1beta2.AzVolumeAttachmentSpec{VolumeContext: map[string]string{}},
		},
		v1beta2.KindAzDriverNode: &v1beta2.AzDriverNode{},
	} {
		t.Run(kind, func(t *testing.T) {
			viaJSON := throughJSON(t, object)
			if err := validateObject(schemas[kind], viaJSON); err != nil {
				t.Errorf("not valid by the schema: %v", err)
			}
			for way, out := range map[string]map[string]any{
				"JSON":                       viaJSON,
				"the unstructured converter": throughUnstructured(t, object),
			} {
				if status, there := out["status"]; there {
					t.Errorf("through %s the unset status is written: %v", way, status)
				}
			}
		})
	}
}

// The schemas refuse what they should: without this a broken validator would
// let TestSamples pass.
func TestSchemasRefuse(t *testing.T) {
	schemas := schemasByKind(t)
	for name, document := range map[string]string{
		"no spec":                `{kind: AzVolume}`,
		"no volumeName":          `{kind: AzVolume, spec: {maxMountReplicaCount: 0, volumeCapability: []}}`,
		"volumeCapability null":  `{kind: AzVolume, spec: {maxMountReplicaCount: 0, volumeCapability: null, volumeName: a}}`,
		"status without a state": `{kind: AzVolume, spec: {maxMountReplicaCount: 0, volumeCapability: [], volumeName: a}, status: {}}`,
		"role is a number":       `{kind: AzVolumeAttachment, spec: {nodeName: n, role: 1, volumeName: a, volume_context: {}, volume_id: i}}`,
		"volume_context null":    `{kind: AzVolumeAttachment, spec: {nodeName: n, role: Primary, volumeName: a, volume_context: null, volume_id: i}}`,
		"heartbeat is no date":   `{kind: AzDriverNode, spec: {nodeName: n}, status: {lastHeartbeatTime: yesterday}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			if err := validateObject(schemas[fmt.Sprint(object["kind"])], object); err == nil {
				t.Error("valid, want it refused")
			}
		})
	}
}

func newObject(t *testing.T, kind string) runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := scheme.New(v1beta2.SchemeGroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// schemasByKind reads the validation schema of v1beta2 from each CRD.
func schemasByKind(t *testing.T) map[string]*spec.Schema {
	t.Helper()
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*spec.Schema{}
	for _, manifest := range manifests {
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema *spec.Schema }
				}
			}
		}
		if err := yaml.Unmarshal(manifest, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Name == v1beta2.Version {
				schemas[crd.Spec.Names.Kind] = version.Schema.OpenAPIV3Schema
			}
		}
	}
	return schemas
}

func validateObject(schema *spec.Schema, object map[string]any) error {
	return validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(object).AsError()
}

func throughJSON(t *testing.T, object any) map[string]any {
	t.Helper()
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(encoded, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// throughUnstructured goes by the API machinery's own converter, which reads
// the field tags by itself; the detour by JSON evens out the types of numbers.
func throughUnstructured(t *testing.T, object any) map[string]any {
	t.Helper()
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return throughJSON(t, out)
}
