package provisioner_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/donewhen/donewhen/provisioner"
)

// Callers and bindings agree on names and types through this table alone.
func TestOperations(t *testing.T) {
	got := map[string]string{}
	for _, operation := range provisioner.Operations() {
		signature := operation.Kind + " " + operation.Resource.Resource + "("
		for _, param := range operation.Params {
			signature += " " + param.Name + " " + param.Type
		}
		got[operation.Name] = signature + " )"
	}
	want := map[string]string{
		"CreateVolume":              "AzVolume azvolumes( )",
		"DeleteVolume":              "AzVolume azvolumes( )",
		"VolumeSettled":             "AzVolume azvolumes( )",
		"ControllerExpandVolume":    "AzVolume azvolumes( requiredBytes int )",
		"ControllerPublishVolume":   "AzVolumeAttachment azvolumeattachments( volumeName string nodeName string )",
		"NodeStageVolume":           "AzVolumeAttachment azvolumeattachments( volumeName string nodeName string lun string )",
		"ControllerUnpublishVolume": "AzVolumeAttachment azvolumeattachments( )",
		"AttachSettled":             "AzVolumeAttachment azvolumeattachments( )",
		"ReplicaDetached":           "AzVolumeAttachment azvolumeattachments( )",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (- want, + got):\n%s", diff)
	}
}

// Without a ConfigMap the default set serves: no operation may be left unbound.
func TestDefaultsBindEveryOperation(t *testing.T) {
	name, data := provisioner.Defaults()
	if name == "" {
		t.Error("the default set has no name")
	}
	bound := map[string]int{}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document struct {
			Kind string
			Spec struct{ Operation string }
		}
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if document.Kind == "Binding" {
			bound[document.Spec.Operation]++
		}
	}
	want := map[string]int{}
	for _, operation := range provisioner.Operations() {
		want[operation.Name] = 1
	}
	if diff := cmp.Diff(want, bound); diff != "" {
		t.Errorf("bindings by operation (- want, + got):\n%s", diff)
	}
}
