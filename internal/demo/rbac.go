package demo

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// rules are what the two users of a control plane of the demo's own may do.
func rules() map[string][]rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	write := append([]string{"create", "update", "delete"}, read...)
	disk := func(verbs []string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{v1beta2.GroupName}, Resources: resources, Verbs: verbs}
	}
	subresource := []string{"update"}
	return map[string][]rbacv1.PolicyRule{
		controlplane.Driver: {
			disk(write, "azvolumes", "azvolumeattachments", "azdrivernodes"),
			disk(subresource, "azvolumes/status", "azvolumeattachments/status", "azdrivernodes/status"),
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{configMapName}, Verbs: read},
			// The report of what became of it. Who may create can't be told a name.
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{reportName}, Verbs: append([]string{"update"}, read...)},
			{APIGroups: []string{""}, Resources: []string{"configmaps", "events"}, Verbs: []string{"create"}},
		},
		controlplane.Simulator: {
			disk(append([]string{"update"}, read...), "azvolumes"),
			disk(append([]string{"update", "delete"}, read...), "azvolumeattachments"),
			disk(subresource, "azvolumes/status", "azvolumeattachments/status"),
		},
	}
}

// allow gives the driver's and the simulator's users their rules.
func (c *cluster) allow(ctx context.Context) error {
	rbac := c.core.RbacV1()
	for user, rules := range rules() {
		meta := metav1.ObjectMeta{Name: user}
		_, err := rbac.Roles(c.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create the role of the %s: %w", user, err)
		}
		_, err = rbac.RoleBindings(c.namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("bind the role of the %s: %w", user, err)
		}
	}
	return nil
}
