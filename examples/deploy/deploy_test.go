package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/provisioner"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// kustomization is what this directory uses of one.
type kustomization struct {
	metav1.TypeMeta    `json:",inline"`
	Namespace          string   `json:"namespace"`
	Resources          []string `json:"resources"`
	ConfigMapGenerator []struct {
		Name  string   `json:"name"`
		Files []string `json:"files"`
	} `json:"configMapGenerator"`
	GeneratorOptions struct {
		DisableNameSuffixHash bool `json:"disableNameSuffixHash"`
	} `json:"generatorOptions"`
}

// manifests are the objects that the directory stands for.
type manifests struct {
	account    *corev1.ServiceAccount
	role       *rbacv1.Role
	binding    *rbacv1.RoleBinding
	deployment *appsv1.Deployment
	service    *corev1.Service
	configMap  *corev1.ConfigMap
}

// objects returns all of them, as the API server creates them.
func (m *manifests) objects() []runtime.Object {
	return []runtime.Object{m.account, m.role, m.binding, m.configMap, m.deployment, m.service}
}

// read reads the directory as kubectl apply -k does, strictly.
func read(t *testing.T) *manifests {
	t.Helper()
	data, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var k kustomization
	if err := sigsyaml.UnmarshalStrict(data, &k); err != nil {
		t.Fatal(err)
	}
	if len(k.ConfigMapGenerator) != 1 || !k.GeneratorOptions.DisableNameSuffixHash {
		t.Fatalf("the ConfigMap's name isn't the one that the Role knows: %+v", k)
	}
	m := &manifests{configMap: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: k.ConfigMapGenerator[0].Name, Namespace: k.Namespace}, Data: map[string]string{},
	}}
	for _, file := range k.ConfigMapGenerator[0].Files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m.configMap.Data[filepath.Base(file)] = string(data)
	}
	for _, name := range k.Resources {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m.add(t, name, document)
		}
	}
	for _, object := range m.objects() {
		meta, ok := object.(metav1.Object)
		if !ok || meta.GetName() == "" || meta.GetNamespace() != v1beta2.DefaultNamespace {
			t.Fatalf("%T isn't there, or not in namespace %s", object, v1beta2.DefaultNamespace)
		}
	}
	return m
}

func (m *manifests) add(t *testing.T, file string, document []byte) {
	t.Helper()
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	// The decoder passes over fields that a kind doesn't have.
	if err := sigsyaml.UnmarshalStrict(document, object); err != nil {
		t.Fatalf("%s: %T: %v", file, object, err)
	}
	switch o := object.(type) {
	case *corev1.ServiceAccount:
		m.account = o
	case *rbacv1.Role:
		m.role = o
	case *rbacv1.RoleBinding:
		m.binding = o
	case *appsv1.Deployment:
		m.deployment = o
	case *corev1.Service:
		m.service = o
	default:
		t.Fatalf("%s: no test knows %T", file, object)
	}
}

// TestManifestsFitTogether: what names something else names what is there.
func TestManifestsFitTogether(t *testing.T) {
	m := read(t)
	pod := m.deployment.Spec.Template
	container := pod.Spec.Containers[0]
	subject := m.binding.Subjects[0]
	if m.binding.RoleRef.Name != m.role.Name || subject.Name != m.account.Name || subject.Namespace != m.account.Namespace || pod.Spec.ServiceAccountName != m.account.Name {
		t.Errorf("the Role reaches another account: %+v, %s", m.binding, pod.Spec.ServiceAccountName)
	}
	for key, value := range m.service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, pods have %v", key, value, pod.Labels)
		}
	}
	if port := m.service.Spec.Ports[0].TargetPort.StrVal; port != container.Ports[0].Name {
		t.Errorf("the Service leads to port %s", port)
	}
	for _, arg := range []string{"--predicates-configmap=" + m.configMap.Name, "--namespace=" + m.account.Namespace} {
		if !slices.Contains(container.Args, arg) {
			t.Errorf("the driver isn't given %s", arg)
		}
	}
	names := 0
	for _, rule := range m.role.Rules {
		if !slices.Contains(rule.Resources, "configmaps") || slices.Equal(rule.Verbs, []string{"create"}) {
			continue
		}
		names++
		if len(rule.ResourceNames) != 1 || !strings.HasPrefix(rule.ResourceNames[0], m.configMap.Name) {
			t.Errorf("configmaps without the name: %v", rule)
		}
	}
	if names != 2 {
		t.Errorf("%d rules for the ConfigMap and its report", names)
	}
}

// TestPredicatesLoad: the ConfigMap can be loaded on top of the driver's own set.
func TestPredicatesLoad(t *testing.T) {
	m := read(t)
	s := predicates.Source{Name: "configmap"}
	for key, text := range m.configMap.Data {
		s.Files = append(s.Files, predicates.File{Name: key, Data: []byte(text)})
	}
	set, err := predicates.NewSet(provisioner.Operations(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Predicate("volume-created"); err != nil {
		t.Error(err)
	}
}
