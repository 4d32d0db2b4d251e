package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// remove takes away what the demo has made in somebody else's cluster. nodeID
// names the AzDriverNode that the driver has made. CRDs that others use by now
// stay, and say is told: their objects would go with them.
func (c *cluster) remove(ctx context.Context, nodeID string, say func(string, ...any)) error {
	var errs []error
	gone := func(what string, err error) {
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove the %s: %w", what, err))
		}
	}
	if c.madeConfigMap {
		errs = append(errs, c.forceObjects(ctx))
		gone("ConfigMap "+configMapName, c.core.CoreV1().ConfigMaps(c.namespace).Delete(ctx, configMapName, metav1.DeleteOptions{}))
		gone("ConfigMap "+reportName, c.core.CoreV1().ConfigMaps(c.namespace).Delete(ctx, reportName, metav1.DeleteOptions{}))
		gone("AzDriverNode "+nodeID, c.disks.AzureDiskV1beta2().AzDriverNodes(c.namespace).Delete(ctx, nodeID, metav1.DeleteOptions{}))
	}
	if c.madeNamespace {
		gone("namespace "+c.namespace, c.core.CoreV1().Namespaces().Delete(ctx, c.namespace, metav1.DeleteOptions{}))
	}
	if len(c.madeCRDs) == 0 {
		return errors.Join(errs...)
	}
	switch user, err := c.crdUser(ctx); {
	case err != nil:
		return errors.Join(append(errs, fmt.Errorf("the CRDs stay (%s): %w", strings.Join(c.madeCRDs, ", "), err))...)
	case user != "":
		say("the CRDs stay (%s): others use them, for %s", strings.Join(c.madeCRDs, ", "), user)
		return errors.Join(errs...)
	}
	for _, crd := range c.madeCRDs {
		gone("CRD "+crd, c.dynamic.Resource(crdResource()).Delete(ctx, crd, metav1.DeleteOptions{}))
	}
	return errors.Join(errs...)
}

// crdUser returns some object of the CRDs' kinds, wherever it is; empty if there
// is none.
func (c *cluster) crdUser(ctx context.Context) (string, error) {
	for _, resource := range []schema.GroupVersionResource{v1beta2.AzDriverNodes(), v1beta2.AzVolumes(), v1beta2.AzVolumeAttachments()} {
		list, err := c.dynamic.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case apierrors.IsNotFound(err): // the CRD isn't there
		case err != nil:
			return "", fmt.Errorf("see whether others use them: %w", err)
		case len(list.Items) > 0:
			return resource.Resource + " " + list.Items[0].GetNamespace() + "/" + list.Items[0].GetName(), nil
		}
	}
	return "", nil
}

// forceObjects removes volumes and attachments that were left half-way: nobody
// is there any more who would take their finalizers off. They are the demo's,
// since it begins in a namespace without any.
func (c *cluster) forceObjects(ctx context.Context) error {
	disks := c.disks.AzureDiskV1beta2()
	var errs []error
	attachments, err := disks.AzVolumeAttachments(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the AzVolumeAttachments to remove: %w", err)
	}
	for i := range attachments.Items {
		attachment := &attachments.Items[i]
		errs = append(errs, force(ctx, disks.AzVolumeAttachments(c.namespace), attachment))
	}
	volumes, err := disks.AzVolumes(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("list the AzVolumes to remove: %w", err))...)
	}
	for i := range volumes.Items {
		errs = append(errs, force(ctx, disks.AzVolumes(c.namespace), &volumes.Items[i]))
	}
	return errors.Join(errs...)
}

// objectClient is what force needs of a typed client.
type objectClient[T metav1.Object] interface {
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// force deletes an object without its finalizers.
func force[T metav1.Object](ctx context.Context, client objectClient[T], object T) error {
	if len(object.GetFinalizers()) > 0 {
		object.SetFinalizers(nil)
		if _, err := client.Update(ctx, object, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("take the finalizers off %s: %w", object.GetName(), err)
		}
	}
	if err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return nil
}
