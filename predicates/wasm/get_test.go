package wasm

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// deployment is an object with values of all types.
func deployment() *appsv1.Deployment {
	replicas := int32(3)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1 << 60, Labels: map[string]string{"a/b": "slash", "m~n": "tilde", "": "empty", "[x=y]": "bracket"}},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Paused: true},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: "Progressing", Status: corev1.ConditionTrue, Message: "a \"quoted\" <text>\n"},
			{Type: "Available/x", Status: corev1.ConditionFalse},
			{Type: "Available", Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable"},
		}},
	}
}

// TestGet asks for paths of a typed object and of the same one unstructured.
func TestGet(t *testing.T) {
	rt := newRuntime(t)
	g := guest(t, rt, "echo", Use{Settings: map[string]any{"factor": 1.5, "null": nil, "whole": 2.0}})
	typed := deployment()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	m["apiVersion"], m["kind"] = "apps/v1", "Deployment"
	for path, want := range map[string]string{
		"/object/kind":                                        "T5 Deployment",
		"/object/metadata/name":                               "T5 web",
		"/object/metadata/generation":                         "T3 1152921504606846976",
		"/object/metadata/namespace":                          "T0 ",
		"/object/metadata/name/x":                             "T0 ",
		"/object/metadata/labels/a~1b":                        "T5 slash",
		"/object/metadata/labels/m~0n":                        "T5 tilde",
		"/object/metadata/labels/":                            "T5 empty",
		"/object/metadata/labels/[x=y]":                       "T5 bracket",
		"/object/metadata/labels":                             `T7 {"":"empty","[x=y]":"bracket","a/b":"slash","m~n":"tilde"}`,
		"/object/spec/replicas":                               "T3 3",
		"/object/spec/paused":                                 "T2 true",
		"/object/spec/template/spec/containers":               "T1 ",
		"/object/status/conditions/0/message":                 "T5 a \"quoted\" <text>\n",
		"/object/status/conditions/3":                         "T0 ",
		"/object/status/conditions/-":                         "T0 ",
		"/object/status/conditions/00":                        "T0 ",
		"/object/status/conditions/[type=Available]/reason":   "T5 MinimumReplicasUnavailable",
		"/object/status/conditions/[type=Available/x]/status": "T5 False",
		"/object/status/conditions/[type=None]/status":        "T0 ",
		"/object/status/conditions/[type]/status":             "T0 ",
		"/object/status/conditions/[lastUpdateTime=]/status":  "T0 ",
		"/settings/factor":                                    "T4 1.5",
		"/settings/whole":                                     "T4 2",
		"/settings/null":                                      "T1 ",
		"/settings/none":                                      "T0 ",
		"/settings":                                           `T7 {"factor":1.5,"null":null,"whole":2}`,
		"/params/path":                                        "T5 /params/path",
		"/other":                                              "T0 ",
		"/":                                                   "T0 ",
	} {
		for name, object := range map[string]metav1.Object{"typed": typed, "unstructured": &unstructured.Unstructured{Object: m}} {
			d := &Document{Object: object, TypeMeta: &metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, Params: map[string]any{"path": path}}
			r, err := g.Evaluate(context.Background(), d, true)
			if err != nil {
				t.Errorf("%s of the %s object: %v", path, name, err)
			} else if got := r.Code + " " + r.Message; got != want {
				t.Errorf("%s of the %s object is %q, want %q", path, name, got, want)
			}
		}
	}
	whole, err := g.Evaluate(context.Background(), &Document{Object: &metav1.ObjectMeta{Name: "x"}, Params: map[string]any{"path": ""}}, true)
	if want := `T7 {"object":{"name":"x"},"params":{"path":""},"settings":{"factor":1.5,"null":null,"whole":2}}`; err != nil || whole.Code+" "+whole.Message != want {
		t.Errorf("the whole document is %s %s, %v; want %s", whole.Code, whole.Message, err, want)
	}
}

// TestMessageIsCut holds that a message that is too long ends at a character.
func TestMessageIsCut(t *testing.T) {
	g := guest(t, newRuntime(t), "echo", Use{})
	for n, want := range map[int]int{1023: 1023, 1024: 1024, 1025: 1023} {
		text := strings.Repeat("x", n%2) + strings.Repeat("é", n/2)
		if n == 1025 {
			text = "x" + strings.Repeat("é", 512)
		}
		o := &unstructured.Unstructured{Object: map[string]any{"text": text}}
		r, err := g.Evaluate(context.Background(), &Document{Object: o, Params: map[string]any{"path": "/object/text"}}, true)
		if err != nil || len(r.Message) != want {
			t.Errorf("%d bytes give %d, %v", n, len(r.Message), err)
		}
	}
}
