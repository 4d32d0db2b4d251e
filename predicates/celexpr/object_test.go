package celexpr

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestJSONForm(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"kind": "X"}}
	m, err := JSONForm(u, schema.GroupVersionKind{})
	if err != nil {
		t.Fatal(err)
	}
	m["same"] = true
	if u.Object["same"] != true {
		t.Error("an unstructured object's own map is expected, without a copy")
	}
	if _, err := JSONForm(nil, schema.GroupVersionKind{}); err == nil {
		t.Error("no object gives no error")
	}
	if _, err := JSONForm((*unstructured.Unstructured)(nil), schema.GroupVersionKind{}); err == nil {
		t.Error("a nil object gives no error")
	}
}

// TestTypedObject: a typed object looks as the API server would send it.
func TestTypedObject(t *testing.T) {
	replicas := int32(3)
	at := metav1.NewTime(time.Date(2026, 3, 2, 9, 22, 48, 0, time.UTC))
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 1 << 60, DeletionTimestamp: &at},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
		Status: appsv1.DeploymentStatus{
			UpdatedReplicas: 0,
			Conditions:      []appsv1.DeploymentCondition{{Type: "Available", Status: corev1.ConditionTrue}},
		},
	}
	m, err := JSONForm(d, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if err != nil {
		t.Fatal(err)
	}
	env, err := NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	params, _ := env.BindParams(nil)
	ev := env.Evaluation(context.Background(), m, params, Limits{})
	defer ev.Close()
	for _, expression := range []string{
		"object.apiVersion == 'apps/v1' && object.kind == 'Deployment'",
		"object.metadata.generation == 1152921504606846976 && object.spec.replicas == 3",
		"object.metadata.deletionTimestamp == '2026-03-02T09:22:48Z'",
		"!has(object.status.updatedReplicas) && !has(object.metadata.labels)",
		"isTrue(object, 'Available')",
	} {
		if ok, err := compile(t, env, expression, OutputBool).Bool(ev); err != nil || !ok {
			t.Errorf("%s: %v, %v", expression, ok, err)
		}
	}
	d.TypeMeta = metav1.TypeMeta{APIVersion: "other/v2", Kind: "Other"}
	if m, err := JSONForm(d, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}); err != nil || m["kind"] != "Other" || m["apiVersion"] != "other/v2" {
		t.Error("the object's own kind is overwritten", m["kind"], err)
	}
}
