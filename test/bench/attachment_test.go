package bench

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// attachment is one as the driver sees it, of about 2.5 KB.
func attachment(state string, lun any) *unstructured.Unstructured {
	text := func(n int) string { return strings.Repeat("x", n) }
	status := map[string]any{
		"annotation": map[string]any{"disk.csi.azure.com/note": text(200)},
		"detail": map[string]any{
			"role": "Primary", "previous_role": "Replica",
			"publish_context": map[string]any{"LUN": lun, "devicePath": "/dev/disk/azure/scsi1/lun3", "other": text(300)},
		},
		"error": nil,
	}
	if state != "" {
		status["state"] = state
	}
	labels, annotations := map[string]any{}, map[string]any{}
	for i := range 5 {
		labels[fmt.Sprintf("disk.csi.azure.com/label-%d", i)] = text(40)
		annotations[fmt.Sprintf("disk.csi.azure.com/annotation-%d", i)] = text(120)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "disk.csi.azure.com/v1beta2", "kind": "AzVolumeAttachment",
		"metadata": map[string]any{
			"name": "pvc-1-node-1-attachment", "namespace": "azure-disk-csi", "uid": "11111111-2222-3333-4444-555555555555",
			"resourceVersion": "123456", "generation": int64(3), "labels": labels, "annotations": annotations,
		},
		"spec": map[string]any{
			"volumeName": "pvc-1", "nodeName": "node-1", "requestedRole": "Primary",
			"volumeID":      "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/pvc-1",
			"volumeContext": map[string]any{"cachingMode": "ReadOnly", "fsType": "ext4", "other": text(300)},
		},
		"status": status,
	}}
}

// TestAllSayTheSame holds that what is compared is the same predicate.
func TestAllSayTheSame(t *testing.T) {
	objects := []struct {
		state string
		lun   any
		want  bool
	}{
		{"Attached", "3", true},
		{"Attached", "63", true},
		{"Attached", "/dev/disk/azure/scsi1/lun3", true},
		{"Attached", "64", false},
		{"Attached", "03", false},
		{"Attached", "", false},
		{"Attached", nil, false},
		{"Attached", "/dev/disk/azure/lun3", false},
		{"Attaching", "3", false},
		{"", "3", false},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			judge := w.make(t)
			for range 2 {
				for _, o := range objects {
					if got, err := judge(attachment(o.state, o.lun)); err != nil || got != o.want {
						t.Errorf("state %q, LUN %v: %v, %v", o.state, o.lun, got, err)
					}
				}
			}
		})
	}
}
