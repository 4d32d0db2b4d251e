package demo

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// The CRDs that the demo has made stay as long as others have objects of them:
// a CRD's deletion deletes them all.
func TestRemoveSparesCRDsInUse(t *testing.T) {
	const crd = "azvolumes.disk.csi.azure.com"
	object := func(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
		}}
	}
	for _, inUse := range []bool{false, true} {
		objects := []runtime.Object{object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", crd)}
		if inUse {
			objects = append(objects, object(v1beta2.SchemeGroupVersion.String(), "AzVolume", "theirs", "precious"))
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			crdResource():                 "CustomResourceDefinitionList",
			v1beta2.AzVolumes():           "AzVolumeList",
			v1beta2.AzVolumeAttachments(): "AzVolumeAttachmentList",
			v1beta2.AzDriverNodes():       "AzDriverNodeList",
		}, objects...)
		c := &cluster{dynamic: client, namespace: "ours", madeCRDs: []string{crd}}
		var said strings.Builder
		err := c.remove(t.Context(), nodeID, func(format string, args ...any) { fmt.Fprintf(&said, format, args...) })
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Resource(crdResource()).Get(t.Context(), crd, metav1.GetOptions{})
		if stays := err == nil; stays != inUse || strings.Contains(said.String(), "theirs/precious") != inUse {
			t.Errorf("in use %v: the CRD stays %v, said %q", inUse, stays, said.String())
		}
	}
}
