//go:build integration

package deploy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// TestTheDriverMayDoWhatItNeeds creates the manifests on a real API server, which
// says what the driver's account may do: that, and nothing beside it.
func TestTheDriverMayDoWhatItNeeds(t *testing.T) {
	cluster := clustertest.Shared(t)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	m, namespace := read(t), cluster.Namespace(t)
	for _, object := range m.objects() {
		object.(metav1.Object).SetNamespace(namespace)
	}
	m.binding.Subjects[0].Namespace = namespace
	ctx := t.Context()
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx, m.account, metav1.CreateOptions{})
	must(t, err)
	_, err = client.RbacV1().Roles(namespace).Create(ctx, m.role, metav1.CreateOptions{})
	must(t, err)
	_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, m.binding, metav1.CreateOptions{})
	must(t, err)
	_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, m.configMap, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	must(t, err)
	_, err = client.AppsV1().Deployments(namespace).Create(ctx, m.deployment, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	must(t, err)
	_, err = client.CoreV1().Services(namespace).Create(ctx, m.service, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	must(t, err)

	user := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, m.account.Name)
	may := func(namespace, verb, group, resource, name string) bool {
		t.Helper()
		resource, subresource, _ := strings.Cut(resource, "/")
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	const report = "donewhen-predicates-status"
	for _, c := range []struct{ group, resource, name, want string }{
		{v1beta2.GroupName, "azvolumes", "", "get list watch create update delete"},
		{v1beta2.GroupName, "azvolumeattachments", "", "get list watch create update"},
		{v1beta2.GroupName, "azdrivernodes", "", "get list watch create"},
		{v1beta2.GroupName, "azvolumes/status", "", "update"},
		{v1beta2.GroupName, "azvolumeattachments/status", "", "update"},
		{v1beta2.GroupName, "azdrivernodes/status", "", "update"},
		{"", "configmaps", m.configMap.Name, "list watch create"},
		{"", "configmaps", report, "get list watch create update"},
		{"", "configmaps", "another", "create"},
		{"", "configmaps", "", "create"},
		{"", "events", "", "create"},
		{"", "secrets", "", ""},
		{"", "pods", "", ""},
		{"coordination.k8s.io", "leases", "", ""},
		{"rbac.authorization.k8s.io", "roles", "", ""},
	} {
		wanted := map[string]bool{}
		for _, verb := range strings.Fields(c.want) {
			wanted[verb] = true
		}
		// The authorizer learns of a new Role by a watch of its own.
		deadline := time.Now().Add(30 * time.Second)
		for _, verb := range verbs {
			for may(namespace, verb, c.group, c.resource, c.name) != wanted[verb] {
				if time.Now().After(deadline) {
					t.Errorf("may %s %s.%s %q: %v, want %v", verb, c.resource, c.group, c.name, !wanted[verb], wanted[verb])
					break
				}
			}
			if may("default", verb, c.group, c.resource, c.name) {
				t.Errorf("may %s %s.%s %q in another namespace", verb, c.resource, c.group, c.name)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
